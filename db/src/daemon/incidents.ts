import { toInstant } from '../schema/columns.ts';
import type { Sql } from '../store.ts';

/** What a person has to look at. Times are RFC 3339. */
export interface Incident {
  number: string;
  kind: string;
  openedAt: string;
  keyId: string;
  keyName: string;
  scope: string;
  planId: string | null;
  /** The use that was not known before. */
  lastUsedAt: string | null;
  lastUsedFrom: string | null;
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
    select c.number, c.kind, c.opened_at, k.id, k.name, k.scope, i.plan_id, c.detail->>'last_used_at' as last_used_at,
      c.detail->>'last_used_from_addr' as last_used_from,
      c.closed_at, c.closed_by, c.note
    from keywarden.incident c join keywarden.key k on k.number = c.key_number
      left join keywarden.revocation_intent i on i.number = c.intent_number
    where not ${isOpen} or c.closed_at is null
    order by c.closed_at is not null, c.number desc limit ${limit}`;
  return rows.map((row) => ({
    number: String(row.number),
    kind: String(row.kind),
    openedAt: toInstant(String(row.opened_at)),
    keyId: String(row.id),
    keyName: String(row.name),
    scope: String(row.scope),
    planId: row.plan_id === null ? null : String(row.plan_id),
    lastUsedAt: row.last_used_at === null ? null : String(row.last_used_at),
    lastUsedFrom: row.last_used_from === null ? null : String(row.last_used_from),
    closedAt: row.closed_at === null ? null : toInstant(String(row.closed_at)),
    closedBy: row.closed_by === null ? null : String(row.closed_by),
    note: row.note === null ? null : String(row.note),
  }));
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
