import type { LimiterStore } from '@keywarden/core/client';
import type { Lease, Store } from '@keywarden/db/store';
import type { Environment, Logger } from '@keywarden/runtime';
import type { Config } from '@keywarden/runtime/config';
import type { Limiters } from './connect.ts';
import type { Observer } from './observe/observer.ts';
import type { Progress } from './progress.ts';

/** What every job of one process works with. */
export interface Context {
  store: Store;
  config: Config;
  environment: Environment;
  log: Logger;
  progress: Progress;
  signal: AbortSignal;
  /** Our own clock, in ms since 1970; the control plane's is a connection's (control-plane-clock.ts). */
  now: () => number;
  limiters: Limiters;
  /** The configuration as its file is now; absent for what reads it once, as commands do. Throws a UserError. */
  rereadConfig?: () => Config;
  /** Where requests are counted; in the store where it is left out. */
  budgets?: LimiterStore;
  /** Hears of requests and jobs; nobody does where it is left out. */
  observer?: Observer;
  /** The environment as it is, for the commands that are given some of it. */
  variables: NodeJS.ProcessEnv;
  /** This process among those that stay and share the store; null for a command. */
  replica: string | null;
  /** Of the innermost lock that this work is under: what it writes is refused once another has taken that. */
  lease?: Lease;
}
