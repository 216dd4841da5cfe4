import type { MintIntent, RotationState } from '@keywarden/core/rotation';
import type postgres from 'postgres';
import { factScope } from '../keys/key-listing.ts';
import { toInstant } from '../schema/columns.ts';
import type { Sql } from '../sql.ts';
import type { RotatedKey, StoredMint, StoredRotation } from './rotations.ts';

/** Open rotations, the oldest first. */
export async function listOpenRotations(sql: Sql): Promise<StoredRotation[]> {
  return await readRotations(sql, sql`r.ended_at is null order by r.number`);
}

/** All rotations, the open ones first, then the newest; `limit` at most. */
export async function listRotations(sql: Sql, limit: number): Promise<StoredRotation[]> {
  return await readRotations(
    sql,
    sql`true order by r.ended_at is not null, case when r.ended_at is null then r.number else -r.number end limit ${limit}`,
  );
}

/** One rotation by its number. */
export async function readRotation(sql: Sql, number: string): Promise<StoredRotation | undefined> {
  const [rotation] = await readRotations(sql, sql`r.number = ${number}`);
  return rotation;
}

async function readRotations(sql: Sql, which: postgres.PendingQuery<postgres.Row[]>): Promise<StoredRotation[]> {
  const rows = await sql`
    select r.number, r.id, r.rule, r.sink, r.via, r.requested_by, r.policy_sha256, r.opened_at, r.line_number,
      (extract(epoch from r.quiet_for) * 1000)::float8 as quiet_ms, (extract(epoch from r.adopt_within) * 1000)::float8 as adopt_ms,
      e.state, e.at as since, e.why, k.number as key_number, k.id as key_id, k.name, k.kind, k.control_plane_number, k.scope,
      k.organization_id, k.project_id
    from keywarden.rotation r join keywarden.key k on k.number = r.key_number
      cross join lateral (select state, at, why from keywarden.rotation_event where rotation_number = r.number
        order by sequence desc limit 1) e
    where ${which}`;
  const mints = await readMints(
    sql,
    rows.map((row) => String(row.number)),
  );
  // States, kinds and ways are what the columns' checks allow.
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

/** How the last rotation of each key ended that failed, by the key's number. */
export async function readFailures(sql: Sql): Promise<Map<string, { at: string; givenUpBy: string | null }>> {
  const rows = await sql`
    select distinct on (r.key_number) r.key_number, e.at, r.given_up_by, e.state
    from keywarden.rotation r cross join lateral (
      select at, state from keywarden.rotation_event where rotation_number = r.number order by sequence desc limit 1) e
    where r.ended_at is not null order by r.key_number, r.number desc`;
  return new Map(
    rows
      .filter((row) => row.state === 'failed')
      .map((row) => [
        String(row.key_number),
        { at: toInstant(String(row.at)), givenUpBy: row.given_up_by === null ? null : String(row.given_up_by) },
      ]),
  );
}

/** The id and the name of a line's first key. */
export async function readLineKey(sql: Sql, line: string): Promise<{ id: string; name: string }> {
  const [row] = await sql`select id, name from keywarden.key where number = ${line}`;
  return { id: String(row?.id), name: String(row?.name) };
}

/** Whether another line's key was delivered to a file: two in one place would lose the first. */
export async function isPlaceTaken(sql: Sql, { place, line }: { place: string; line: string }): Promise<boolean> {
  const [row] = await sql`
    select 1 from keywarden.rotation_mint m join keywarden.rotation r on r.number = m.rotation_number
      left join keywarden.minted_key n on n.rotation_number = m.rotation_number and n.attempt = m.attempt
      left join keywarden.key k on k.number = n.key_number
    where m.place = ${place} and m.fate is distinct from 'lost' and r.line_number <> ${line} and k.gone_at is null limit 1`;
  return row !== undefined;
}

/** How many open rotations wait for somebody to tell whether a sink has their secret. */
export async function countUnclear(sql: Sql, sink: string): Promise<number> {
  const [row] = await sql`
    select count(*)::int as n from keywarden.rotation r join keywarden.rotation_mint m on m.rotation_number = r.number
    where r.sink = ${sink} and r.ended_at is null and m.fate = 'unclear'`;
  return Number(row?.n);
}

/** Of each scope, as plans name it, when a rule's first rotation by itself into its sink was delivered; null where one has begun and was not yet. */
export async function readCanaries(
  sql: Sql,
  { rule, sink }: { rule: string; sink: string },
): Promise<Map<string, string | null>> {
  const rows = await sql`
    select k.control_plane_number, k.scope, min(m.delivered_at) as at
    from keywarden.rotation r join keywarden.key k on k.number = r.key_number
      left join keywarden.rotation_mint m on m.rotation_number = r.number and m.fate = 'delivered'
    where r.rule = ${rule} and r.sink = ${sink} and r.via = 'policy' and (r.ended_at is null or m.delivered_at is not null)
    group by 1, 2`;
  return new Map(
    rows.map((row) => [
      factScope(String(row.control_plane_number), String(row.scope)),
      row.at === null ? null : toInstant(String(row.at)),
    ]),
  );
}
