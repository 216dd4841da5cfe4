import {
  advance,
  type Effects,
  firstState,
  isOver,
  type MintIntent,
  type Rotation,
  type RotationEvent,
} from '@keywarden/core/rotation';
import { eq, sql as raw } from 'drizzle-orm';
import { addMark } from '../high-water-mark.ts';
import { closeIncidents, openIncidentOfKey } from '../incidents/incidents.ts';
import { holdFence, type Lease } from '../locks.ts';
import type { key } from '../schema/keys.ts';
import { rotationEvent, rotationMint, rotationRequestAnswer, rotation as rotationTable } from '../schema/rotations.ts';
import { builderOf, type Db, hasValues, type Sql } from '../sql.ts';
import { holdRequest, isRequestWithdrawn, withdrawnInWords } from './requests.ts';

/** How a rotation was opened. `id` is the short one in the names of successors. */
type Opened = Pick<typeof rotationTable.$inferSelect, 'id' | 'rule' | 'sink' | 'via' | 'requestedBy' | 'policySha256'>;

/** A rotation with its key. Times are RFC 3339 by the control plane's clock, except `openedAt`. */
export interface StoredRotation extends Rotation<StoredMint>, Opened {
  number: string;
  openedAt: string;
  key: RotatedKey;
  /** The number of the lineage's first key in the store. */
  lineage: string;
  /** The number of its last event. */
  sequence: number;
}

/** `scopeKey` is the scope with its control plane, as plans name it. */
export type RotatedKey = Pick<
  typeof key.$inferSelect,
  'number' | 'id' | 'name' | 'kind' | 'scope' | 'organizationId' | 'projectId'
> & { controlPlane: string; scopeKey: string };

export interface StoredMint extends MintIntent {
  connection: string;
  /** The number of the complete listing right before. */
  listing: string;
  /** The file for its secret, without symbolic links; null for a sink that is none. */
  sinkPath: string | null;
}

export interface NewRotation extends Opened, Pick<Rotation, 'quietForMs' | 'adoptWithinMs'> {
  key: string;
  /** The control plane's current time. */
  at: string;
  /** The request of the report that it answers, if there is one. */
  request?: string | undefined;
}

/**
 * Opens a rotation as planned, and answers its request in the same transaction. Returns its number, or why there is none: another rotation of the key's
 * lineage is open (T4), or the request has an answer, or its token was revoked.
 */
export async function openRotation(
  sql: Sql,
  rotation: NewRotation,
): Promise<{ number: string } | { number: null; whyNot: string }> {
  return await sql.begin(async (tx) => {
    const db = builderOf(tx);
    if (rotation.request !== undefined) {
      await holdRequest(tx, rotation.request);
      if (await isRequestWithdrawn(db, rotation.request)) return { number: null, whyNot: withdrawnInWords };
    }
    const [row] = await tx`
      insert into keywarden.rotation (id, key_number, lineage_number, rule, sink, quiet_for, adopt_within, via, requested_by, policy_sha256)
      select ${rotation.id}, w.key_number, w.lineage_number, ${rotation.rule}, ${rotation.sink}, ${rotation.quietForMs} * interval '1 ms',
        ${rotation.adoptWithinMs} * interval '1 ms', ${rotation.via}, ${rotation.requestedBy}, ${rotation.policySha256}
      from keywarden.key_owner_now w
      where w.key_number = ${rotation.key}
        and not exists (select from keywarden.rotation_request_answer where request_number = ${rotation.request ?? null}::bigint)
      on conflict (lineage_number) where ended_at is null do nothing
      returning number`;
    if (row === undefined) return { number: null, whyNot: 'another key of its lineage is in rotation' };
    const number = String(row.number);
    await insertEvent(db, { rotationNumber: number, sequence: 1, state: firstState, at: rotation.at });
    if (rotation.request !== undefined)
      await db.insert(rotationRequestAnswer).values({ requestNumber: rotation.request, rotationNumber: number });
    const note = 'another rotation has begun';
    await closeIncidents(db, { kind: 'rotation_stalled', key: rotation.key }, { note });
    return { number };
  });
}

/**
 * Records a rotation's event at a time (RFC 3339) and all its effects in one transaction, with the daemon's next `mark` (R10) if there is one. Returns
 * the rotation as it is from then on. Returns undefined and records nothing if the rotation has moved since it was read. Under a `lease` nothing is
 * recorded once another process has taken the lock.
 */
export async function advanceRotation(
  sql: Sql,
  rotation: StoredRotation,
  {
    at,
    lease,
    mark,
    ...event
  }: RotationEvent<StoredMint> & { at: string; lease?: Lease | undefined; mark?: string | undefined },
): Promise<StoredRotation | undefined> {
  const { rotation: moved, effects } = advance(rotation, event, at);
  return await sql.begin(async (tx) => {
    await holdFence(tx, lease);
    const db = builderOf(tx);
    const { number, state, why } = moved;
    const sequence = rotation.sequence + 1;
    if (!(await insertEvent(db, { rotationNumber: number, sequence, state, why, at }))) return undefined;
    if (mark !== undefined) await addMark(db, 'daemon', mark);
    await recordMint(db, moved, effects);
    if (isOver(state))
      await db
        .update(rotationTable)
        .set({ endedAt: raw`now()`, givenUpBy: effects.givenUpBy })
        .where(eq(rotationTable.number, number));
    await recordIncident(db, moved, effects);
    return { ...moved, sequence };
  });
}

async function recordIncident(db: Db, { id, state, why, key }: StoredRotation, { incident }: Effects): Promise<void> {
  const kind = 'rotation_stalled';
  if (incident === null) return;
  const detail = { rotation: id, state, why };
  if (incident.opens) await openIncidentOfKey(db, { kind, key: key.number, scope: key.scopeKey, detail });
  else await closeIncidents(db, { kind, key: key.number }, { note: incident.note });
}

async function recordMint(db: Db, { number, mints }: StoredRotation, { mint: what, sinkPath }: Effects): Promise<void> {
  const mint = mints.at(-1);
  if (what === null || mint === undefined) return;
  const { attempt, name, connection, creatorId, listing, keyId, outcome, deliveredAt } = mint;
  if (what === 'begun') {
    const begun = { rotationNumber: number, attempt, name, connection, creatorId, lastListingNumber: listing };
    await db.insert(rotationMint).values(begun);
    return;
  }
  await db
    .update(rotationMint)
    .set({ keyId, outcome, deliveredAt, ...(sinkPath === null ? {} : { sinkPath }) })
    .where(hasValues(rotationMint, { rotationNumber: number, attempt }));
}

/** Adds an event. Returns false if the rotation has one of this number already. */
async function insertEvent(db: Db, event: typeof rotationEvent.$inferInsert): Promise<boolean> {
  const { count } = await db.insert(rotationEvent).values(event).onConflictDoNothing();
  return count > 0;
}
