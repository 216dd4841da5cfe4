import type { Facts, Judgement } from '@keywarden/core/policy';
import type { Context } from '../context.ts';
import { whyPaused } from '../enforce/guarded-revocation.ts';
import type { RevocationRun } from '../enforce/revocation-task.ts';
import { whyStopAutomatic } from '../enforce/standing.ts';

/** One pass over rotations. */
export interface Run extends RevocationRun {
  /** The policy's facts on the keys, as they were listed for this pass. */
  facts: Facts;
  judgements: Judgement[];
  /** Sinks that failed to take a secret in this run, with the reason. No other secret is minted for them. */
  failedSinks: Map<string, string>;
  /** Whether a person requested the pass. Then the conditions for automatic actions do not stop it. */
  isRequested: boolean;
  /** Since when the store has lost nothing (R10): a sink has no secret of a key that was minted later, and whose id the store lacks. Null if that is not known. */
  wholeSince: string | null;
  /** Why the run stops: a key was used during its revocation (R5), a person has paused or disarmed, or another machine has found that the store is older. */
  stopped: string | null;
}

/** Returns why other machines, or the store, stop a pass that no person requested; null if nothing does. */
export async function whyStop(context: Context, { isRequested }: Run): Promise<string | null> {
  return await whyStopAutomatic(context, isRequested ? 'command line' : 'enforcement');
}

/** Returns whether a pass takes no further step: what persons and other machines decide meanwhile holds for the rest of it, too. */
export async function isStopped(context: Context, run: Run): Promise<boolean> {
  run.stopped ??= await whyStop(context, run);
  run.stopped ??= await whyPaused(context);
  return context.signal.aborted || run.stopped !== null;
}

/** Returns the control plane's current time as of the pass; null if it is not known well enough. */
export function nowMsOf({ facts }: Run, scope: string): number | null {
  return facts.scopes.find((each) => each.scope === scope)?.nowMs ?? null;
}
