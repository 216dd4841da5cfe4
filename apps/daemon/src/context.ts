import type { Limiter, LimiterStore } from '@keywarden/core/client';
import type { Lease, Store } from '@keywarden/db/store';
import { type Environment, type Logger, linkSignals } from '@keywarden/runtime';
import type { Config } from '@keywarden/runtime/config';
import type { Observer } from './observe/observer.ts';
import type { Progress } from './progress.ts';

/** Everything that the jobs of one process share. */
export interface Context {
  store: Store;
  config: Config;
  environment: Environment;
  log: Logger;
  progress: Progress;
  signal: AbortSignal;
  /** The local clock, in ms since 1970. A connection has the control plane's clock (control-plane-clock.ts). */
  now: () => number;
  /** One limiter an account (L1), for the lifetime of the process. */
  limiters: Map<string, Limiter>;
  /** The ids of the answers of control planes, for the lifetime of the process. */
  answerIds: Set<string>;
  /** Reads the configuration file again. Absent for commands, which read it once. Throws a UserError. */
  rereadConfig?: () => Config;
  /** Counts requests across all processes of the store. */
  budgets: LimiterStore;
  /** Observes requests and jobs; by default, there is no observer. */
  observer?: Observer;
  /** The process environment, for the commands that get part of it. */
  variables: NodeJS.ProcessEnv;
  /** This process's id among the long-running ones that share the store; null for a command. */
  replica: string | null;
  /** The lease of the innermost lock that this work holds. Writes are refused once another process has taken that lock. */
  lease?: Lease;
}

/** What the work on the ledger needs. */
export type LedgerContext = Pick<Context, 'store' | 'environment' | 'now' | 'signal'>;

/** Runs work that only one process may do at a time; `what` names it. The work's context is aborted when the lock is lost. */
export async function withProcessLock<T>(
  context: Context,
  what: string,
  work: (leased: Context) => Promise<T>,
): Promise<T> {
  const { store, progress, signal } = context;
  const onWait = () => progress.note(`Another process is busy with the ${what}; waiting for it.`);
  return await store.locks.hold(what, { signal, onWait }, async (lease) => {
    const linked = linkSignals(signal, lease.signal);
    try {
      return await work({ ...context, lease: { ...lease, outer: context.lease }, signal: linked.signal });
    } finally {
      linked.release();
    }
  });
}
