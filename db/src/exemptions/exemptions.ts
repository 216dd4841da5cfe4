import type postgres from 'postgres';
import { toInstant } from '../schema/columns.ts';
import type { Sql } from '../sql.ts';

// The daemon's command line and the report both grant and end them.

export interface NewExemption {
  /** The store's numbers of the keys that it covers: those that exist now. */
  keys: string[];
  rules: string[] | null;
  /** How the keys were chosen, in words; null where they were named. */
  pattern: string | null;
  reason: string;
  grantedBy: string;
  grantedAt: string;
  until: string;
}

/** Grants an exemption; answers with its number. */
export async function grantExemption(sql: Sql, exemption: NewExemption): Promise<string> {
  return await sql.begin(async (tx) => await insertExemption(tx, exemption));
}

/** Grants an exemption within a transaction. */
export async function insertExemption(tx: postgres.TransactionSql, exemption: NewExemption): Promise<string> {
  const { keys, rules, pattern, reason, grantedBy, grantedAt, until } = exemption;
  const [row] = await tx`
    insert into keywarden.exemption (rules, pattern, reason, granted_by, granted_at, until)
    values (${rules}::text[], ${pattern}, ${reason}, ${grantedBy}, ${grantedAt}::timestamptz, ${until}::timestamptz) returning number`;
  const number = String(row?.number);
  await tx`
    insert into keywarden.exemption_key (exemption_number, key_number) select ${number}::bigint, unnest(${keys}::bigint[])`;
  return number;
}

export interface StoredExemption extends Omit<NewExemption, 'keys'> {
  number: string;
  keys: { id: string; name: string }[];
  endedAt: string | null;
  endedBy: string | null;
}

/** Exemptions, newest first; without `all` those that nobody has ended and that have not lapsed by `now`. */
export async function listExemptions(
  sql: Sql,
  { all, now }: { all: boolean; now: string },
): Promise<StoredExemption[]> {
  const rows = await sql`
    select e.*, (select json_agg(json_build_object('id', k.id::text, 'name', k.name) order by k.number)
      from keywarden.exemption_key x join keywarden.credential k on k.number = x.key_number where x.exemption_number = e.number) as keys
    from keywarden.exemption e where ${all} or e.ended_at is null and e.until > ${now}::timestamptz order by e.number desc`;
  return rows.map((row) => ({
    number: String(row.number),
    keys: row.keys as { id: string; name: string }[],
    rules: Array.isArray(row.rules) ? row.rules.map(String) : null,
    pattern: row.pattern === null ? null : String(row.pattern),
    reason: String(row.reason),
    grantedBy: String(row.granted_by),
    grantedAt: toInstant(String(row.granted_at)),
    until: toInstant(String(row.until)),
    endedAt: row.ended_at === null ? null : toInstant(String(row.ended_at)),
    endedBy: row.ended_by === null ? null : String(row.ended_by),
  }));
}

/** Ends an exemption before its time. False when there is none that is open. */
export async function endExemption(sql: Sql, { number, by }: { number: string; by: string }): Promise<boolean> {
  const ended = await sql`
    update keywarden.exemption e set ended_by = ${by}, ended_at = greatest(e.granted_at, coalesce((
      select max(p.at) from keywarden.exemption_key x join keywarden.credential k on k.number = x.key_number
        join keywarden.control_plane_present p on p.control_plane_number = k.control_plane_number
      where x.exemption_number = e.number), now()))
    where number = ${number} and ended_at is null returning number`;
  return ended.length > 0;
}
