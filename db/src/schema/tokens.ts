import { sql } from 'drizzle-orm';
import { bigint, index, integer, text, uuid } from 'drizzle-orm/pg-core';
import { instant, int64, keywarden, oneOf, reference } from './columns.ts';

export const reportTokenRoles = ['viewer', 'auditor', 'operator'] as const;

/** token_hash is the SHA-256 of a token of 256 random bits; organization_ids null means all. */
export const reportToken = keywarden.table(
  'report_token',
  {
    number: int64('number').primaryKey().generatedAlwaysAsIdentity(),
    name: text('name').notNull(),
    tokenHash: text('token_hash').notNull().unique('report_token_token_hash_key'),
    role: text('role', { enum: reportTokenRoles }).notNull(),
    organizationIds: text('organization_ids').array(),
    createdAt: instant('created_at').notNull().default(sql`now()`),
    expiresAt: instant('expires_at'),
    revokedAt: instant('revoked_at'),
  },
  (t) => [oneOf(t.role, reportTokenRoles)],
);

export const accessLogStreams = ['begun', 'complete', 'cut'] as const;

/** Reads, exports and changes through the report. A streamed answer has two rows: its beginning and its end. */
export const accessLog = keywarden.table(
  'access_log',
  {
    number: int64('number').primaryKey().generatedAlwaysAsIdentity(),
    at: instant('at').notNull().default(sql`now()`),
    requestId: uuid('request_id').notNull(),
    tokenNumber: int64('token_number').notNull(),
    address: text('address').notNull(),
    method: text('method').notNull(),
    path: text('path').notNull(),
    query: text('query').notNull().default(''),
    status: integer('status').notNull(),
    stream: text('stream', { enum: accessLogStreams }),
    records: bigint('records', { mode: 'number' }),
    sha256: text('sha256'),
  },
  (t) => [
    reference(t.tokenNumber, reportToken.number),
    oneOf(t.stream, accessLogStreams),
    index('access_log_by_token').on(t.tokenNumber, t.number.desc().nullsFirst()),
  ],
);
