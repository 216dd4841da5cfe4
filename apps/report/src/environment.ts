import type { Principal } from '@keywarden/db/report';
import type { Db, Sql } from '@keywarden/db/store';
import type { Logger } from '@keywarden/runtime';
import type { Context } from 'hono';
import type { AccessLog } from './access/access-log.ts';
import type { FailureLimit } from './access/failures.ts';
import type { Transport } from './access/transport.ts';
import type { Marks } from './actions/marks.ts';
import type { Streams } from './export/stream.ts';

/** What the app needs from outside; it never listens and never opens a database itself. */
export interface Dependencies {
  db: Db;
  sql: Sql;
  /** Sessions beside those, for tokens, the access log and probes: slow questions must not hold those up. The same where it is left out. */
  accessSql?: Sql;
  log: Logger;
  transport: Transport;
  marks: Pick<Marks, 'move'>;
  /** The address of whoever is connected. */
  peerOf: (c: Context) => string;
}

/** What the app makes of that once, for all its routes. */
export interface Services extends Dependencies {
  accessLog: AccessLog;
  failures: FailureLimit;
  streams: Streams;
  accessSql: Sql;
}

export type Env = {
  Variables: {
    requestId: string;
    /** The client's address, and whether it speaks https, as a declared proxy says. */
    address: string;
    isHttps: boolean;
    /** The name and port by which this is asked. */
    host: string;
    principal: Principal;
    /** The answer is a stream, whose end is recorded by itself. */
    isStream: boolean;
  };
};
