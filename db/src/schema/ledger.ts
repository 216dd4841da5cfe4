import { sql } from 'drizzle-orm';
import { bigint, customType, date, index, integer, text } from 'drizzle-orm/pg-core';
import { inKey, instant, int64, refers, table } from './columns.ts';
import { policyVersion } from './plans.ts';

const bytea = customType<{ data: Uint8Array }>({ dataType: () => 'bytea' });

/** The policy that plans are judged by, whenever it changes. */
export const policyInForce = table('policy_in_force', {
  number: int64('number').primaryKey().generatedAlwaysAsIdentity(),
  policySha256: refers(text('policy_sha256'), () => policyVersion.sha256).notNull(),
  since: instant('since').notNull().default(sql`now()`),
});

/**
 * An event of the ledger, written in the transaction of the row that it is about (db/functions/75-record_event.sql). leaf: the entry of the log, as
 * canonical JSON. content: the canonical JSON whose hash the leaf has. leaf_index: its place in the tree; null until the sequencer has integrated it.
 */
export const ledgerEvent = table(
  'ledger_event',
  {
    number: int64('number').primaryKey().generatedAlwaysAsIdentity(),
    type: text('type').notNull(),
    subject: text('subject').notNull(),
    leaf: text('leaf').notNull(),
    content: text('content').notNull(),
    recordedAt: instant('recorded_at').notNull(),
    leafIndex: int64('leaf_index').unique('ledger_event_leaf_index_key'),
  },
  (t) => [
    index('ledger_event_waiting').on(t.number).where(sql`leaf_index is null`),
    index('ledger_event_by_subject').on(t.subject, t.type, t.number),
    index('ledger_event_by_type').on(t.type, t.number),
    index('ledger_event_by_time').on(t.recordedAt, t.number),
  ],
);

/** The salt of an event's hashes of personal data. Once it is deleted, the data can be erased, and the event still proves everything else. */
export const ledgerSalt = table('ledger_salt', {
  eventNumber: refers(int64('event_number'), () => ledgerEvent.number).primaryKey(),
  salt: text('salt').notNull(),
});

/**
 * A seal: what the archive had of a project's operations of one day of UTC. project: the control plane's address and the project's id. root: the Merkle root
 * over the operations, oldest first. covered, gaps: the times of the day for which the archive claims to have every operation, and the others, as JSON.
 * replaces: the day's seal before, if it changed since.
 */
export const operationSeal = table(
  'operation_seal',
  {
    number: int64('number').primaryKey().generatedAlwaysAsIdentity(),
    projectNumber: int64('project_number').notNull(),
    project: text('project').notNull(),
    day: date('day', { mode: 'string' }).notNull(),
    operations: bigint('operations', { mode: 'number' }).notNull(),
    root: text('root').notNull(),
    covered: text('covered').notNull(),
    gaps: text('gaps').notNull(),
    replaces: int64('replaces'),
    sealedAt: instant('sealed_at').notNull().default(sql`clock_timestamp()`),
  },
  (t) => [
    index('operation_seal_by_day').on(t.projectNumber, t.day, t.number),
    index('operation_seal_with_gaps').on(t.day).where(sql`gaps <> '[]'`),
  ],
);

/** The hashes of the tree (c2sp.org/tlog-tiles). The last tile of a level grows until it is full. */
export const ledgerTile = table('ledger_tile', {
  level: inKey(integer('level')).notNull(),
  index: inKey(int64('index')).notNull(),
  hashes: bytea('hashes').notNull(),
});

/** Each size of the tree that was signed. note: the signed checkpoint (c2sp.org/tlog-checkpoint), without the cosignatures of witnesses. */
export const ledgerCheckpoint = table(
  'ledger_checkpoint',
  {
    size: int64('size').primaryKey(),
    note: text('note').notNull(),
    madeAt: instant('made_at').notNull().default(sql`clock_timestamp()`),
  },
  (t) => [index('ledger_checkpoint_by_time').on(t.madeAt)],
);

/** The public keys that sign or signed the ledger, as they were first used. They are recorded in it; a machine trusts only those in its own files. */
export const ledgerKey = table('ledger_key', {
  number: int64('number').primaryKey().generatedAlwaysAsIdentity(),
  publicKey: text('public_key').notNull().unique('ledger_key_public_key_key'),
  addedAt: instant('added_at').notNull().default(sql`clock_timestamp()`),
  endedAt: instant('ended_at'),
  /** A note by which an earlier key names this one as a key of the ledger; null for the first. */
  endorsement: text('endorsement'),
});

/**
 * A ledger that a person began anew, after a restore or without its key, with the newest checkpoint in the store and the last one that the machine had seen of
 * the former ledger.
 */
export const ledgerBeginning = table('ledger_beginning', {
  number: int64('number').primaryKey().generatedAlwaysAsIdentity(),
  formerCheckpoint: text('former_checkpoint'),
  seenCheckpoint: text('seen_checkpoint'),
  reason: text('reason').notNull(),
  begunBy: text('begun_by').notNull(),
  begunAt: instant('begun_at').notNull().default(sql`clock_timestamp()`),
});

/** A witness's signature lines on a checkpoint. */
export const ledgerCosignature = table('ledger_cosignature', {
  size: inKey(refers(int64('size'), () => ledgerCheckpoint.size)).notNull(),
  witness: inKey(text('witness')).notNull(),
  lines: text('lines').notNull(),
  at: instant('at').notNull().default(sql`clock_timestamp()`),
});
