import type { Facts, Judgement } from '@keywarden/core/policy';
import type { Connection } from '../connect.ts';

/** One pass over rotations. */
export interface Run {
  connections: Connection[];
  /** Our own clock, in ms. */
  now: () => number;
  /** What the policy says of the keys, as they were listed for this pass. */
  facts: Facts;
  judgements: Judgement[];
  /** Names of connections whose credential was refused in this run. */
  refused: Set<string>;
  /** Sinks that did not take a secret in this run, with why: no other is minted for them. */
  failedSinks: Map<string, string>;
  /** A person has asked for it: what goes by itself does not stop it. */
  isAsked: boolean;
  /** Why the run goes no further: a key was used while it was revoked (R5), or somebody has paused. */
  stopped: string | null;
}

/** The control plane's present, as the pass knows it; null where that is not known well enough. */
export function nowMsOf({ facts }: Run, scope: string): number | null {
  return facts.scopes.find((each) => each.scope === scope)?.nowMs ?? null;
}
