import { rotationStates } from '@keywarden/core/rotation';
import { sql } from 'drizzle-orm';
import { check, index, integer, interval, text, uniqueIndex } from 'drizzle-orm/pg-core';
import { inKey, instant, int64, notEmpty, refers, table } from './columns.ts';
import { controlPlane } from './connections.ts';
import { credential, keyListing } from './keys.ts';

export const rotationVias = ['policy', 'command line', 'report'] as const;

/**
 * A rotation of a key. lineage_number: the first key of its lineage, whose owner and exemptions the successors keep. The settings are those it began
 * with. T4: at most one open rotation for a lineage.
 */
export const rotation = table(
  'rotation',
  {
    number: int64('number').primaryKey().generatedAlwaysAsIdentity(),
    id: text('id').notNull().unique('rotation_id_key'),
    keyNumber: refers(int64('key_number'), () => credential.number).notNull(),
    lineageNumber: refers(int64('lineage_number'), () => credential.number).notNull(),
    rule: text('rule'),
    sink: text('sink').notNull(),
    quietFor: interval('quiet_for').notNull(),
    adoptWithin: interval('adopt_within').notNull(),
    via: text('via', { enum: rotationVias }).notNull(),
    requestedBy: text('requested_by').notNull(),
    policySha256: text('policy_sha256').notNull(),
    openedAt: instant('opened_at').notNull().default(sql`now()`),
    endedAt: instant('ended_at'),
    givenUpBy: text('given_up_by'),
  },
  (t) => [
    check('rotation_id_check', sql`id ~ '^[a-z0-9]{8}$'`),
    index('rotation_by_key').on(t.keyNumber),
    index('rotation_by_lineage').on(t.lineageNumber),
    uniqueIndex('rotation_open').on(t.lineageNumber).where(sql`ended_at is null`),
  ],
);

/** Each transition. at: the control plane's time. One statement counts and takes the number, so that only one of two callers gets it. */
export const rotationEvent = table('rotation_event', {
  rotationNumber: inKey(refers(int64('rotation_number'), () => rotation.number)).notNull(),
  sequence: inKey(integer('sequence')).notNull(),
  state: text('state', { enum: rotationStates }).notNull(),
  at: instant('at').notNull(),
  why: text('why'),
  recordedAt: instant('recorded_at').notNull().default(sql`now()`),
});

export const rotationMintOutcomes = ['delivered', 'unclear', 'lost'] as const;

/**
 * The intent to mint a successor, and its outcome: its id once the response has it, and whether its sink has it. unclear: whether the sink
 * has it cannot be determined. lost: its secret is lost, and it is an orphan.
 */
export const rotationMint = table(
  'rotation_mint',
  {
    rotationNumber: inKey(refers(int64('rotation_number'), () => rotation.number)).notNull(),
    attempt: inKey(integer('attempt')).notNull(),
    name: text('name').notNull().unique('rotation_mint_name_key'),
    connection: text('connection').notNull(),
    creatorId: text('creator_id').notNull(),
    lastListingNumber: refers(int64('last_listing_number'), () => keyListing.number).notNull(),
    createdAt: instant('created_at').notNull().default(sql`now()`),
    keyId: text('key_id'),
    outcome: text('outcome', { enum: rotationMintOutcomes }),
    deliveredAt: instant('delivered_at'),
    sinkPath: text('place'),
  },
  (t) => [
    index('rotation_mint_by_key').on(t.keyId).where(sql`key_id is not null`),
    index('rotation_mint_by_place').on(t.sinkPath).where(sql`place is not null`),
  ],
);

/** The times of a rule's own schedule that have come, by the control plane's clock, and whether everything due has been begun. */
export const rotationSlot = table('rotation_slot', {
  controlPlaneNumber: inKey(refers(int64('control_plane_number'), () => controlPlane.number)).notNull(),
  rule: inKey(text('rule')).notNull(),
  slot: inKey(instant('slot')).notNull(),
  begunAt: instant('begun_at').notNull().default(sql`now()`),
  doneAt: instant('done_at'),
});

/** An operator's request in the report. The daemon answers it with a row of its own. */
export const rotationRequest = table('rotation_request', {
  number: int64('number').primaryKey().generatedAlwaysAsIdentity(),
  keyNumber: refers(int64('key_number'), () => credential.number).notNull(),
  requestedBy: notEmpty(text('requested_by')).notNull(),
  reason: notEmpty(text('reason')).notNull(),
  requestedAt: instant('requested_at').notNull().default(sql`clock_timestamp()`),
});

export const rotationRequestAnswer = table(
  'rotation_request_answer',
  {
    requestNumber: refers(int64('request_number'), () => rotationRequest.number).primaryKey(),
    rotationNumber: refers(int64('rotation_number'), () => rotation.number),
    whyNot: text('why_not'),
    answeredAt: instant('answered_at').notNull().default(sql`now()`),
  },
  () => [check('rotation_request_answer_check', sql`(rotation_number is null) = (why_not is not null)`)],
);
