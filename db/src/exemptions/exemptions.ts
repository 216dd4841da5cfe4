import { exemption } from '../schema/exemptions.ts';
import { builderOf, type Sql, type Tx } from '../sql.ts';

// The daemon's command line and the report both grant and end exemptions.

export interface NewExemption {
  /** The numbers of the keys that it covers in the store. Only keys that exist now are covered. */
  keys: string[];
  rules: string[] | null;
  /** The description of how the keys were chosen; null if they were named. */
  pattern: string | null;
  reason: string;
  grantedBy: string;
  grantedAt: string;
  until: string;
}

/** Grants an exemption. Returns its number. */
export async function grantExemption(sql: Sql, granted: NewExemption): Promise<string> {
  return await sql.begin(async (tx) => await insertExemption(tx, granted));
}

/** Grants an exemption within a transaction. Returns its number. */
export async function insertExemption(tx: Tx, granted: NewExemption): Promise<string> {
  const { keys, rules, pattern, reason, grantedBy, grantedAt, until } = granted;
  const db = builderOf(tx);
  const [row] = await db
    .insert(exemption)
    .values({ rules, pattern, reason, grantedBy, grantedAt, until })
    .returning({ number: exemption.number });
  const number = String(row?.number);
  await tx`
    insert into keywarden.exemption_key (exemption_number, key_number) select ${number}::bigint, unnest(${keys}::bigint[])`;
  return number;
}

/** Ends an exemption before its time. Returns false if no such exemption is open. */
export async function endExemption(sql: Sql, { number, by }: { number: string; by: string }): Promise<boolean> {
  const ended = await sql`
    update keywarden.exemption e set ended_by = ${by}, ended_at = greatest(e.granted_at, coalesce((
      select max(p.at) from keywarden.exemption_key x join keywarden.credential k on k.number = x.key_number
        join keywarden.control_plane_now p on p.control_plane_number = k.control_plane_number
      where x.exemption_number = e.number), now()))
    where number = ${number} and ended_at is null returning number`;
  return ended.length > 0;
}
