import type { Logger } from '@keywarden/core/process';
import type { Principal } from '@keywarden/db/read';
import type { Db } from '@keywarden/db/store';

/** What the app needs from outside; it never listens and never opens a database itself. */
export interface Dependencies {
  db: Db;
  log: Logger;
}

export type Env = { Variables: { principal: Principal; requestId: string } };
