import type { Principal, Snapshot } from '@keywarden/db/report';
import type { Db, Sql } from '@keywarden/db/store';
import type { Logger } from '@keywarden/runtime';
import type { Context } from 'hono';
import type { AccessLog } from './access/access-log.ts';
import type { FailureLimit } from './access/failures.ts';
import type { Marks } from './actions/marks.ts';

/** How a streamed answer ends: its last bytes, and what the access log keeps of it. */
export interface Ending {
  last: Uint8Array;
  records: number;
  sha256: string;
}

/** A file that is written while it is sent. */
export interface Streamed {
  fileName: string;
  contentType: string;
  /** Writes all but the last bytes, from one snapshot of the store. */
  write: (snapshot: Snapshot) => AsyncGenerator<Uint8Array, Ending>;
}

export interface Streams {
  /** Answers with a file. What fails before its first bytes is an error; what fails later cuts it. */
  answer(c: Context<Env>, streamed: Streamed): Promise<Response>;
}

/** How requests come in. */
export interface Transport {
  /** This process speaks https itself. */
  isTls: boolean;
  /** Addresses and ranges of proxies that speak https before it, and are believed about who asks. */
  proxies: string[];
}

/** What the app needs from outside; it never listens and never opens a database itself. */
export interface Dependencies {
  db: Db;
  sql: Sql;
  /** Sessions beside those, for tokens, the access log and probes: slow questions must not hold those up. The same where it is left out. */
  accessSql?: Sql;
  log: Logger;
  transport: Transport;
  marks: Pick<Marks, 'move'>;
  /** Our own clock, in ms since 1970. */
  now: () => number;
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
