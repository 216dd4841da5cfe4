import type { Principal } from './access/authenticate.ts';
import type { Limits } from './access/limits.ts';
import type { Faults } from './controls/faults.ts';
import type { Stats } from './controls/stats.ts';
import type { Settings, Work } from './settings.ts';
import type { Clock } from './store/clock.ts';
import type { Database } from './store/database.ts';
import type { Random } from './store/random.ts';
import type { Micros } from './store/time.ts';

/** The state that the routes of one sandbox share. */
export interface State {
  db: Database;
  clock: Clock;
  faults: Faults;
  stats: Stats;
  limits: Limits;
  work: Work;
  settings: Settings;
  /** The source of ids and passwords, which must differ between two starts. */
  random: Random;
  newToken: () => string;
  /** Aborted when the sandbox closes: requests that wait continue at once. */
  closing: AbortSignal;
}

/** What a request carries from one handler to the next. */
export type Env = {
  Variables: {
    state: State;
    principal: Principal;
    /** When the request's handler began: the data of its response is from then or later. */
    answeredAt: Micros;
    /** Whether the handler has rendered the times as the settings require. Searching a long list for its times takes a quarter of the request. */
    timesAreRendered?: boolean;
    /** What the active faults require of the handler. */
    partialProjects?: boolean;
    lateCommitBy?: Micros;
    lateLastUsedBy?: Micros;
  };
};
