import { sql } from 'drizzle-orm';
import { bigint, check, index, integer, text, uniqueIndex, uuid } from 'drizzle-orm/pg-core';
import { instant, int64, refers, table } from './columns.ts';

/** Each role includes the roles before it. */
export const reportTokenRoles = ['viewer', 'auditor', 'operator'] as const;

/**
 * token_hash is the SHA-256 of a token of 256 random bits; organization_ids null means all. created_by and revoked_by: the user of the command line; null for
 * the first token, and before they were recorded.
 */
export const reportToken = table('report_token', {
  number: int64('number').primaryKey().generatedAlwaysAsIdentity(),
  name: text('name').notNull(),
  tokenHash: text('token_hash').notNull().unique('report_token_token_hash_key'),
  role: text('role', { enum: reportTokenRoles }).notNull(),
  organizationIds: text('organization_ids').array(),
  createdAt: instant('created_at').notNull().default(sql`now()`),
  expiresAt: instant('expires_at'),
  revokedAt: instant('revoked_at'),
  createdBy: text('created_by'),
  revokedBy: text('revoked_by'),
});

/**
 * A browser's sign-in with a token. session_hash is the SHA-256 of a random id of 256 bits. A session ends with its token, on sign-out, when a
 * person ends it, at expires_at, and after an hour without a request (keywarden.holder_of).
 */
export const reportSession = table(
  'report_session',
  {
    number: int64('number').primaryKey().generatedAlwaysAsIdentity(),
    sessionHash: text('session_hash').notNull().unique('report_session_session_hash_key'),
    tokenNumber: refers(int64('token_number'), () => reportToken.number).notNull(),
    createdAt: instant('created_at').notNull().default(sql`clock_timestamp()`),
    lastSeenAt: instant('last_seen_at').notNull().default(sql`clock_timestamp()`),
    expiresAt: instant('expires_at').notNull(),
    address: text('address').notNull(),
    agent: text('agent').notNull(),
    endedAt: instant('ended_at'),
    endedBy: text('ended_by'),
  },
  (t) => [index('report_session_by_token').on(t.tokenNumber)],
);

export const accessLogEvents = ['request', 'sign_in', 'sign_in_failed', 'sign_out', 'token_refused'] as const;

export const accessLogStreams = ['begun', 'complete', 'cut'] as const;

/**
 * Reads, exports, changes, sign-ins and refusals of the report. A streamed answer has two rows: its beginning and its end. Refusals (status 4xx)
 * of one token, or of none, from one network within one `minute` are one row: that of the first, with how many `times`. Only
 * keywarden.record_accesses writes here.
 */
export const accessLog = table(
  'access_log',
  {
    number: int64('number').primaryKey().generatedAlwaysAsIdentity(),
    at: instant('at').notNull().default(sql`clock_timestamp()`),
    requestId: uuid('request_id').notNull(),
    tokenNumber: refers(int64('token_number'), () => reportToken.number),
    address: text('address').notNull(),
    method: text('method').notNull(),
    path: text('path').notNull(),
    query: text('query').notNull().default(''),
    status: integer('status').notNull(),
    stream: text('stream', { enum: accessLogStreams }),
    records: bigint('records', { mode: 'number' }),
    sha256: text('sha256'),
    event: text('event', { enum: accessLogEvents }).notNull().default('request'),
    minute: instant('minute'),
    times: integer('times').notNull().default(1),
  },
  (t) => [
    check('access_log_size', sql`octet_length(path) <= 8192 and octet_length(query) <= 8192`),
    uniqueIndex('access_log_refusal')
      .on(t.minute, t.address, t.event, t.status, sql`coalesce(token_number, 0)`)
      .where(sql`minute is not null`),
    index('access_log_by_time').on(t.at),
    index('access_log_by_token').on(t.tokenNumber, t.number.desc().nullsFirst()),
  ],
);

/** The files that the report has given out completely, each once, by the SHA-256 of its bytes. Only keywarden.record_accesses writes here. */
export const reportExport = table('report_export', {
  sha256: text('sha256').primaryKey(),
  path: text('path').notNull(),
  records: bigint('records', { mode: 'number' }).notNull(),
  completedAt: instant('completed_at').notNull().default(sql`clock_timestamp()`),
  exportedBy: text('exported_by'),
});
