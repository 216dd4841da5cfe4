import type { Principal, Reader, Snapshot } from '@keywarden/db/report';
import type { Sql } from '@keywarden/db/store';
import type { Logger } from '@keywarden/runtime';
import type { Context } from 'hono';
import type { AccessLog } from './access/access-log.ts';
import type { Marks } from './actions/marks.ts';
import type { Suggestions } from './dashboard/suggestions.ts';
import type { FailureLimit, Limits } from './limits/limits.ts';

/** The end of a streamed answer: its last bytes, and the figures that the access log records. */
export interface Ending {
  last: Uint8Array;
  records: number;
  sha256: string;
}

/** A file that is generated while it is sent. */
export interface Streamed {
  fileName: string;
  contentType: string;
  /** Writes all but the last bytes, from one snapshot of the store. */
  write: (snapshot: Snapshot) => AsyncGenerator<Uint8Array, Ending>;
}

export interface Streams {
  /** Answers with a file. A failure before the first bytes is an error; a later failure cuts the file. */
  answer(c: Context<Env>, streamed: Streamed): Promise<Response>;
}

/** How clients reach the report. */
export interface Transport {
  /** Whether this process serves HTTPS. */
  isTls: boolean;
  /** Addresses and ranges of trusted HTTPS proxies. Their headers give the client's address. */
  proxies: string[];
}

/** What the app receives from its caller; it never listens and never opens a database. */
export interface Dependencies {
  /** Light reads, and all writes. */
  sql: Sql;
  /** Reads that may take long. Default: `sql`. */
  heavySql?: Sql;
  /** Exports. Default: `sql`. */
  exportSql?: Sql;
  /** The most requests of one token in a minute. */
  requestsPerMinute: number;
  /** Separate sessions for tokens, the access log and probes, so that slow queries do not delay them. Default: `sql`. */
  accessSql?: Sql;
  log: Logger;
  transport: Transport;
  /** Whether the ledger's checkpoint is served without a token. */
  opensCheckpoint?: boolean;
  marks: Pick<Marks, 'around'>;
  /** The local clock, in ms since 1970. */
  now: () => number;
  /** Returns the address of the connected peer. */
  peerOf: (c: Context) => string;
}

/** The dependencies, and what the app creates from them once for all routes. */
export interface Services extends Dependencies {
  /** Reads for the current request. */
  db: Reader;
  limits: Limits;
  accessLog: AccessLog;
  failures: FailureLimit;
  streams: Streams;
  accessSql: Sql;
  /** Values for filters that a caller may choose from, at most a minute old. */
  suggestions: Suggestions;
}

export type Env = {
  Variables: {
    requestId: string;
    /** The client's address, and whether it uses HTTPS; taken from the headers of a configured proxy. */
    address: string;
    isHttps: boolean;
    /** The host of the request, with its port; behind a chain of proxies, what each of them was asked for. No page of another site can set it. */
    hosts: string[];
    principal: Principal;
    /** Whether the answer is a stream, which records its own end. */
    isStream: boolean;
  };
};
