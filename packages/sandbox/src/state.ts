import type { Principal } from './authenticate.ts';
import type { Clock } from './clock.ts';
import type { Database } from './database.ts';
import type { Faults } from './faults.ts';
import type { Limits } from './limits.ts';
import type { Stats } from './stats.ts';

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
