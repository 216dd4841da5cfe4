import type { Principal } from './access/authenticate.ts';
import type { Limits } from './access/limits.ts';
import type { Faults } from './controls/faults.ts';
import type { Stats } from './controls/stats.ts';
import type { Clock } from './store/clock.ts';
import type { Database } from './store/database.ts';

/** All that the routes of one sandbox share. */
export interface State {
  db: Database;
  clock: Clock;
  faults: Faults;
  stats: Stats;
  limits: Limits;
  newToken: () => string;
}

export type Env = { Variables: { principal: Principal; partialProjects: boolean } };
