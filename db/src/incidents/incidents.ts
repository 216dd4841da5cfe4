import type postgres from 'postgres';
import { toInstant } from '../schema/columns.ts';
import type { Sql } from '../sql.ts';
import type { IncidentKind } from './list.ts';

/** What a person has to look at. Times are RFC 3339. */
export interface Incident {
  number: string;
  kind: IncidentKind;
  openedAt: string;
  /** Null for what is of a scope, or of everything, and of no key. */
  keyId: string | null;
  keyName: string | null;
  /** Control plane and scope, as plans name them; empty for what is of none. */
  scope: string;
  detail: Record<string, unknown>;
  planId: string | null;
  closedAt: string | null;
  closedBy: string | null;
  note: string | null;
}

/** Open ones first, then the newest; `limit` at most. */
export async function listIncidents(
  sql: Sql,
  { isOpen, limit }: { isOpen: boolean; limit: number },
): Promise<Incident[]> {
  const rows = await sql`
    select c.number, c.kind, c.opened_at, k.id, k.name, c.scope, i.plan_id, c.detail,
      c.closed_at, c.closed_by, c.note
    from keywarden.incident c left join keywarden.credential k on k.number = c.key_number
      left join keywarden.revocation_intent i on i.number = c.intent_number
    where not ${isOpen} or c.closed_at is null
    order by c.closed_at is not null, c.number desc limit ${limit}`;
  return rows.map((row) => ({
    number: String(row.number),
    kind: row.kind as Incident['kind'],
    openedAt: toInstant(String(row.opened_at)),
    keyId: row.id === null ? null : String(row.id),
    keyName: row.name === null ? null : String(row.name),
    scope: String(row.scope),
    planId: row.plan_id === null ? null : String(row.plan_id),
    detail: row.detail as Record<string, unknown>,
    closedAt: row.closed_at === null ? null : toInstant(String(row.closed_at)),
    closedBy: row.closed_by === null ? null : String(row.closed_by),
    note: row.note === null ? null : String(row.note),
  }));
}

/** Within a transaction or by itself. */
type AnySql = Sql | postgres.TransactionSql;

/** What stops enforcement in a scope, or everywhere where it is empty. One is opened while none of its kind is open there. */
export async function openIncident(
  sql: AnySql,
  {
    kind,
    scope,
    detail,
  }: { kind: 'breaker' | 'high_water_mark' | 'configuration' | 'listing_doubted'; scope: string; detail: object },
): Promise<void> {
  await sql`
    insert into keywarden.incident (kind, scope, detail) values (${kind}, ${scope}, ${JSON.stringify(detail)}::jsonb)
    on conflict (kind, scope) where closed_at is null and key_number is null do nothing`;
}

type KeyIncident = { key: string; scope: string } & (
  | { kind: 'rotation_stalled' | 'orphan'; detail: { rotation: string; why: string | null; state?: string } }
  | { kind: 'key_changed'; detail: { was: string; is: string; listed_at: string } }
);

/** What a person must look at of one key. While one of its kind is open, that tells the newest. */
export async function openIncidentOfKey(sql: AnySql, { kind, key, scope, detail }: KeyIncident): Promise<void> {
  await sql`
    insert into keywarden.incident (kind, key_number, scope, detail) values (${kind}, ${key}, ${scope}, ${JSON.stringify(detail)}::jsonb)
    on conflict (kind, key_number) where closed_at is null and kind in ('rotation_stalled', 'orphan', 'key_changed')
    do update set detail = excluded.detail where incident.detail is distinct from excluded.detail`;
}

/** What a person was told of a key last: whether that is open, and whether the person has closed it. */
export async function readIncidentOfKey(
  sql: Sql,
  { kind, key }: Pick<KeyIncident, 'kind' | 'key'>,
): Promise<{ isOpen: boolean; why: string | null } | undefined> {
  const [row] = await sql`
    select closed_at is null as is_open, detail ->> 'why' as why from keywarden.incident
    where kind = ${kind} and key_number = ${key} and closed_by is distinct from 'keywarden' order by number desc limit 1`;
  return row && { isOpen: row.is_open === true, why: row.why === null ? null : String(row.why) };
}

/** Ends the incidents of a key that were settled. */
export async function closeIncidentsOfKey(
  sql: AnySql,
  { kind, key, note }: { kind: KeyIncident['kind']; key: string; note: string },
): Promise<void> {
  await sql`
    update keywarden.incident set closed_at = now(), closed_by = 'keywarden', note = ${note}
    where kind = ${kind} and key_number = ${key} and closed_at is null`;
}

/** A person has looked. False when there is no such open incident. */
export async function closeIncident(
  sql: Sql,
  { number, by, note }: { number: string; by: string; note: string | null },
): Promise<boolean> {
  const closed = await sql`
    update keywarden.incident set closed_at = now(), closed_by = ${by}, note = ${note}
    where number = ${number} and closed_at is null returning number`;
  return closed.length > 0;
}

/** Whether an incident of a kind is open anywhere. */
export async function hasOpenIncident(sql: Sql, kind: Incident['kind']): Promise<boolean> {
  const [row] = await sql`select 1 from keywarden.incident where kind = ${kind} and closed_at is null limit 1`;
  return row !== undefined;
}

/** A person has seen all of a kind. */
export async function closeIncidentsOf(sql: Sql, { kind, by }: { kind: Incident['kind']; by: string }): Promise<void> {
  await sql`update keywarden.incident set closed_at = now(), closed_by = ${by} where kind = ${kind} and closed_at is null`;
}

/** Ends what was open of a kind in a scope, and has passed. */
export async function closeIncidentsOfScope(
  sql: AnySql,
  { kind, scope, note }: { kind: Incident['kind']; scope: string; note: string },
): Promise<void> {
  await sql`
    update keywarden.incident set closed_at = now(), closed_by = 'keywarden', note = ${note}
    where kind = ${kind} and scope = ${scope} and closed_at is null`;
}

/** Ends the incidents of breakers that were found shut in these scopes: another flood there is another incident. */
export async function closeSettledBreakers(sql: Sql, shutScopes: string[]): Promise<void> {
  await sql`
    update keywarden.incident set closed_at = now(), closed_by = 'keywarden', note = 'the breaker is shut'
    where kind = 'breaker' and closed_at is null and scope = any(${shutScopes})`;
}
