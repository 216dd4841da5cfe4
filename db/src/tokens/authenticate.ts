import { createHash } from 'node:crypto';
import type { Sql } from '../sql.ts';

/** The identity that a request of the report has; `organizations` null means all. */
export interface Principal {
  token: string;
  name: string;
  role: 'viewer' | 'auditor' | 'operator';
  organizations: string[] | null;
}

/**
 * Returns the holder of a live token. It is found by the hash of a long random secret, so the duration of a miss reveals nothing. Each
 * request runs this query, so the driver's prepared statement saves a round trip.
 */
export async function authenticateToken(sql: Sql, secret: string): Promise<Principal | undefined> {
  const [row] = await sql`
    select number, name, role, organization_ids from keywarden.report_token
    where token_hash = ${createHash('sha256').update(secret).digest('hex')} and revoked_at is null
      and coalesce(expires_at > now(), true)`;
  if (row === undefined) return undefined;
  return {
    token: String(row.number),
    name: String(row.name),
    // A constraint of the table guarantees this.
    role: row.role as Principal['role'],
    organizations: Array.isArray(row.organization_ids) ? row.organization_ids.map(String) : null,
  };
}
