import type { MintIntent, Rotation, RotationState } from '@keywarden/core/rotation';
import { mayFollow } from '@keywarden/core/rotation';
import type postgres from 'postgres';
import { toInstant } from '../schema/columns.ts';
import type { Sql } from '../store.ts';
import { factScope } from './names.ts';

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
  kind: 'personal' | 'organization' | 'project';
  controlPlane: string;
  /** `user:ID` or `organization:ID`. */
  scope: string;
  /** The same with its control plane, as plans name it. */
  factScope: string;
  organizationId: string | null;
  projectId: string | null;
}

interface StoredMint extends MintIntent {
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
}

/**
 * Records a transition with what it says of the successor, in one transaction. False when the rotation is in another state than the one that
 * was read. Throws for a transition that there is not.
 */
export async function moveRotation(
  sql: Sql,
  { number, state }: Pick<StoredRotation, 'number' | 'state'>,
  { to, why = null, at, mint }: Transition,
): Promise<boolean> {
  return await sql.begin(async (tx) => {
    const sequence = await nextSequence(tx, { number, state, to });
    if (sequence === undefined || !(await insertEvent(tx, { number, sequence, to, why, at }))) return false;
    if (mint !== undefined) await updateMint(tx, number, mint);
    if (to === 'retired' || to === 'failed')
      await tx`update keywarden.rotation set ended_at = now() where number = ${number}`;
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
}

/** Commits the intent to mint a successor, before the call. False when the rotation has moved on meanwhile. */
export async function beginMint(
  sql: Sql,
  { number, state }: Pick<StoredRotation, 'number' | 'state'>,
  mint: NewMint,
): Promise<boolean> {
  return await sql.begin(async (tx) => {
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
    update keywarden.rotation_mint set key_id = coalesce(key_id, ${keyId ?? null}::bigint), fate = coalesce(${fate ?? null}, fate),
      delivered_at = coalesce(${deliveredAt ?? null}::timestamptz, delivered_at), place = coalesce(${place ?? null}, place)
    where rotation_number = ${number} and attempt = ${attempt}`;
}

/** Rotations by when they were opened, the open ones first; all of them or only the open. `limit` at most. */
export async function listRotations(
  sql: Sql,
  { isOpen, numbers = null, limit }: { isOpen: boolean; numbers?: string[] | null; limit: number },
): Promise<StoredRotation[]> {
  const rows = await sql`
    select r.number, r.id, r.rule, r.sink, r.via, r.requested_by, r.policy_sha256, r.opened_at, r.line_number,
      (extract(epoch from r.quiet_for) * 1000)::float8 as quiet_ms, (extract(epoch from r.adopt_within) * 1000)::float8 as adopt_ms,
      e.state, e.at as since, e.why, k.number as key_number, k.id as key_id, k.name, k.kind, k.control_plane_number, k.scope,
      k.organization_id, k.project_id
    from keywarden.rotation r join keywarden.key k on k.number = r.key_number
      cross join lateral (select state, at, why from keywarden.rotation_event where rotation_number = r.number
        order by sequence desc limit 1) e
    where (not ${isOpen} or r.ended_at is null) and (${numbers}::bigint[] is null or r.number = any(${numbers}::bigint[]))
    order by r.ended_at is not null, case when r.ended_at is null then r.number else -r.number end limit ${limit}`;
  const mints = await readMints(
    sql,
    rows.map((row) => String(row.number)),
  );
  return rows.map((row) => ({
    number: String(row.number),
    id: String(row.id),
    state: row.state as RotationState,
    since: toInstant(String(row.since)),
    why: row.why === null ? null : String(row.why),
    rule: row.rule === null ? null : String(row.rule),
    sink: String(row.sink),
    via: row.via as StoredRotation['via'],
    requestedBy: String(row.requested_by),
    policySha256: String(row.policy_sha256),
    openedAt: toInstant(String(row.opened_at)),
    line: String(row.line_number),
    quietForMs: Number(row.quiet_ms),
    adoptWithinMs: Number(row.adopt_ms),
    mints: mints.get(String(row.number)) ?? [],
    key: {
      number: String(row.key_number),
      id: String(row.key_id),
      name: String(row.name),
      kind: row.kind as RotatedKey['kind'],
      controlPlane: String(row.control_plane_number),
      scope: String(row.scope),
      factScope: factScope(String(row.control_plane_number), String(row.scope)),
      organizationId: row.organization_id === null ? null : String(row.organization_id),
      projectId: row.project_id === null ? null : String(row.project_id),
    },
  }));
}

async function readMints(sql: Sql, numbers: string[]): Promise<Map<string, StoredMint[]>> {
  const rows = await sql`
    select m.rotation_number, m.attempt, m.name, m.connection, m.creator_id, m.last_listing_number, l.listed_at, m.key_id, m.fate,
      m.delivered_at
    from keywarden.rotation_mint m join keywarden.key_listing l on l.number = m.last_listing_number
    where m.rotation_number = any(${numbers}::bigint[]) order by m.rotation_number, m.attempt`;
  const groups = Map.groupBy(rows, (row) => String(row.rotation_number));
  const toMint = (row: (typeof rows)[number]): StoredMint => ({
    attempt: Number(row.attempt),
    name: String(row.name),
    connection: String(row.connection),
    creatorId: String(row.creator_id),
    listing: String(row.last_listing_number),
    listedAt: toInstant(String(row.listed_at)),
    keyId: row.key_id === null ? null : String(row.key_id),
    fate: row.fate as MintIntent['fate'],
    deliveredAt: row.delivered_at === null ? null : toInstant(String(row.delivered_at)),
  });
  return new Map([...groups].map(([number, group]) => [number, group.map(toMint)]));
}

/** Whether an orphan of a key's line waits for a person. */
export async function hasOpenOrphan(sql: Sql, key: string): Promise<boolean> {
  const [row] = await sql`
    select 1 from keywarden.incident c join keywarden.rotation r on r.id = c.detail ->> 'rotation'
    where c.kind = 'orphan' and c.closed_at is null and r.line_number = coalesce((
      select line_number from keywarden.key_line where key_number = ${key} limit 1), ${key}) limit 1`;
  return row !== undefined;
}

/** When the last rotation of a key failed, by the control plane's clock; null if none did. */
export async function lastFailedAt(sql: Sql, key: string): Promise<string | null> {
  const [row] = await sql`
    select max(e.at) as at from keywarden.rotation r join keywarden.rotation_event e on e.rotation_number = r.number
    where r.key_number = ${key} and e.state = 'failed'`;
  return typeof row?.at === 'string' ? toInstant(row.at) : null;
}

/** A key's id, by the store's number. */
export async function readKeyId(sql: Sql, number: string): Promise<string> {
  const [row] = await sql`select id from keywarden.key where number = ${number}`;
  return String(row?.id);
}

/** Whether another line's key was delivered to a place of a sink: two in one place would lose the first. */
export async function isPlaceTaken(
  sql: Sql,
  { sink, place, line }: { sink: string; place: string; line: string },
): Promise<boolean> {
  const [row] = await sql`
    select 1 from keywarden.rotation_mint m join keywarden.rotation r on r.number = m.rotation_number
      join keywarden.key o on o.number = r.key_number
      left join keywarden.key k on k.control_plane_number = o.control_plane_number and k.scope = o.scope and k.id = m.key_id
    where r.sink = ${sink} and m.place = ${place} and m.fate <> 'lost' and r.line_number <> ${line} and k.gone_at is null limit 1`;
  return row !== undefined;
}
