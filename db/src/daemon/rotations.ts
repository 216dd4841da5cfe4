import type { MintIntent, Rotation, RotationState } from '@keywarden/core/rotation';
import { mayFollow } from '@keywarden/core/rotation';
import type { KeyKind } from '@keywarden/core/wire';
import type postgres from 'postgres';
import { holdFence } from '../fence.ts';
import type { Lease } from '../locks.ts';
import type { Sql } from '../store.ts';
import { closeIncidentsOfKey, openIncidentOfKey } from './incidents.ts';

/** A rotation with the key that it is of. Times are RFC 3339 by the control plane's clock, but for `openedAt`. */
export interface StoredRotation extends Rotation {
  number: string;
  /** The short id that successors bear in their names. */
  id: string;
  /** When it came to its state, and why. */
  since: string;
  why: string | null;
  rule: string | null;
  sink: string;
  via: 'policy' | 'command line' | 'report';
  requestedBy: string;
  policySha256: string;
  openedAt: string;
  key: RotatedKey;
  /** The store's number of the line's first key. */
  line: string;
  mints: StoredMint[];
}

export interface RotatedKey {
  number: string;
  id: string;
  name: string;
  kind: KeyKind;
  controlPlane: string;
  /** `user:ID` or `organization:ID`. */
  scope: string;
  /** The same with its control plane, as plans name it. */
  factScope: string;
  organizationId: string | null;
  projectId: string | null;
}

export interface StoredMint extends MintIntent {
  connection: string;
  /** The complete listing right before, by its number. */
  listing: string;
}

export interface NewRotation {
  id: string;
  key: string;
  rule: string | null;
  sink: string;
  quietForMs: number;
  adoptWithinMs: number;
  via: StoredRotation['via'];
  requestedBy: string;
  policySha256: string;
  /** The control plane's present. */
  at: string;
}

/** Opens a rotation as planned; answers with its number, undefined while another of the key's line is open (T4). */
export async function openRotation(sql: Sql, rotation: NewRotation): Promise<string | undefined> {
  return await sql.begin(async (tx) => {
    const [row] = await tx`
      insert into keywarden.rotation (id, key_number, line_number, rule, sink, quiet_for, adopt_within, via, requested_by, policy_sha256)
      select ${rotation.id}, ${rotation.key}, coalesce((select line_number from keywarden.key_line where key_number = ${rotation.key}
          order by rotation_number desc limit 1), ${rotation.key}), ${rotation.rule}, ${rotation.sink},
        ${rotation.quietForMs} * interval '1 ms', ${rotation.adoptWithinMs} * interval '1 ms', ${rotation.via}, ${rotation.requestedBy},
        ${rotation.policySha256}
      on conflict (line_number) where ended_at is null do nothing
      returning number`;
    if (row === undefined) return undefined;
    await insertEvent(tx, { number: String(row.number), sequence: 1, to: 'planned', why: null, at: rotation.at });
    const note = 'another rotation has begun';
    await closeIncidentsOfKey(tx, { kind: 'rotation_stalled', key: rotation.key, note });
    return String(row.number);
  });
}

type Tx = postgres.TransactionSql;

/** What a transition says of the mint that it is about. */
export interface MintChange {
  attempt: number;
  keyId?: string;
  fate?: NonNullable<MintIntent['fate']>;
  deliveredAt?: string;
  place?: string;
}

export interface Transition {
  to: RotationState;
  why?: string | null;
  at: string;
  mint?: MintChange;
  /** A person must look: an incident of the old key, with the transition or not at all. */
  isIncident?: boolean;
  /** The person who ends it. */
  givenUpBy?: string;
}

/**
 * Records a transition with what it says of the successor, in one transaction. False when the rotation is in another state than the one that
 * was read. Throws for a transition that there is not.
 */
export async function moveRotation(
  sql: Sql,
  { number, state, id, key }: Pick<StoredRotation, 'number' | 'state' | 'id' | 'key'>,
  { to, why = null, at, mint, isIncident = false, givenUpBy }: Transition,
): Promise<boolean> {
  return await sql.begin(async (tx) => {
    const sequence = await nextSequence(tx, { number, state, to });
    if (sequence === undefined || !(await insertEvent(tx, { number, sequence, to, why, at }))) return false;
    if (mint !== undefined) await updateMint(tx, number, mint);
    if (to === 'retired' || to === 'failed')
      await tx`update keywarden.rotation set ended_at = now(), given_up_by = ${givenUpBy ?? null} where number = ${number}`;
    if (isIncident)
      await openIncidentOfKey(tx, {
        kind: 'rotation_stalled',
        key: key.number,
        scope: key.factScope,
        detail: { rotation: id, state: to, why },
      });
    else if (to === 'retired' || to === 'failed' || (state === 'stalled' && to !== 'adopted'))
      await closeIncidentsOfKey(tx, {
        kind: 'rotation_stalled',
        key: key.number,
        note: givenUpBy === undefined ? 'the rotation went on' : `given up by ${givenUpBy}`,
      });
    return true;
  });
}

export interface NewMint {
  attempt: number;
  name: string;
  connection: string;
  creatorId: string;
  listing: string;
  at: string;
  /** Of the key's scope: there is no intent if another process has taken its lock since. */
  lease: Lease | undefined;
}

/** Commits the intent to mint a successor, before the call. False when the rotation has moved on meanwhile. */
export async function beginMint(
  sql: Sql,
  { number, state }: Pick<StoredRotation, 'number' | 'state'>,
  mint: NewMint,
): Promise<boolean> {
  return await sql.begin(async (tx) => {
    await holdFence(tx, mint.lease);
    const sequence = await nextSequence(tx, { number, state, to: 'minting' });
    const event = { number, sequence: sequence ?? 0, to: 'minting', why: null, at: mint.at } as const;
    if (sequence === undefined || !(await insertEvent(tx, event))) return false;
    await tx`
      insert into keywarden.rotation_mint (rotation_number, attempt, name, connection, creator_id, last_listing_number)
      values (${number}, ${mint.attempt}, ${mint.name}, ${mint.connection}, ${mint.creatorId}, ${mint.listing})`;
    return true;
  });
}

/** The number of the next event, if the rotation is still in the state that was read. */
async function nextSequence(
  tx: Tx,
  { number, state, to }: { number: string; state: RotationState; to: RotationState },
): Promise<number | undefined> {
  if (!mayFollow(state, to)) throw new Error(`a rotation does not go from ${state} to ${to}`);
  const [last] = await tx`
    select sequence, state from keywarden.rotation_event where rotation_number = ${number} order by sequence desc limit 1`;
  return last?.state === state ? Number(last.sequence) + 1 : undefined;
}

async function insertEvent(
  tx: Tx,
  { number, sequence, to, why, at }: { number: string; sequence: number; to: string; why: string | null; at: string },
): Promise<boolean> {
  const rows = await tx`
    insert into keywarden.rotation_event (rotation_number, sequence, state, at, why)
    values (${number}, ${sequence}, ${to}, ${at}::timestamptz, ${why}) on conflict do nothing returning sequence`;
  return rows.length > 0;
}

async function updateMint(
  tx: Tx,
  number: string,
  { attempt, keyId, fate, deliveredAt, place }: MintChange,
): Promise<void> {
  await tx`
    update keywarden.rotation_mint set key_id = coalesce(key_id, ${keyId ?? null}::text), fate = coalesce(${fate ?? null}, fate),
      delivered_at = coalesce(delivered_at, ${deliveredAt ?? null}::timestamptz), place = coalesce(${place ?? null}, place)
    where rotation_number = ${number} and attempt = ${attempt}`;
}
