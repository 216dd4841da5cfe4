import { isTrue, readText, type Sql } from '../sql.ts';
import type { Principal } from '../tokens/authenticate.ts';

// Functions of the store write exemptions. The command line names the person at the terminal; the report passes on who presents a token.

export interface NewExemption {
  /** The numbers of the keys that it covers in the store. Only keys that exist now are covered. */
  keys: string[];
  rules: string[] | null;
  reason: string;
  until: string;
}

interface Granted extends NewExemption {
  /** The description of how the keys were chosen; null if they were named. */
  pattern: string | null;
  grantedBy: string;
  grantedAt: string;
}

/** Grants an exemption by a person at the command line. Returns its number. */
export async function grantExemption(sql: Sql, granted: Granted): Promise<string> {
  const { keys, rules, pattern, reason, grantedBy, grantedAt, until } = granted;
  return await readText(sql`
    select keywarden.insert_exemption(${grantedBy}, ${keys}::bigint[], ${rules}::text[], ${pattern}, ${reason}, ${grantedAt}::timestamptz,
      ${until}::timestamptz)`);
}

/** Grants an exemption as the principal, from now on by the control plane's clock. Returns its number. Fails for a key that they cannot see (KW004). */
export async function grantExemptionAs(sql: Sql, principal: Principal, granted: NewExemption): Promise<string> {
  const { keys, rules, reason, until } = granted;
  return await readText(sql`
    select keywarden.grant_exemption(${principal.credential}, ${keys}::bigint[], ${rules}::text[], ${reason}, ${until}::timestamptz)`);
}

/** Ends an exemption before its time by a person at the command line. Returns false if no such exemption is open. */
export async function endExemption(sql: Sql, { number, by }: { number: string; by: string }): Promise<boolean> {
  return await isTrue(sql`select keywarden.end_exemption_by(${by}, ${number})`);
}

/** Ends an exemption before its time as the principal. Returns false if no such exemption is open. */
export async function endExemptionAs(sql: Sql, principal: Principal, number: string): Promise<boolean> {
  return await isTrue(sql`select keywarden.end_exemption(${principal.credential}, ${number})`);
}
