import { createHash } from 'node:crypto';
import type { Sql } from '../sql.ts';

/** Who a request of the report acts as; `organizations` null means all. */
export interface Principal {
  token: string;
  name: string;
  role: 'viewer' | 'auditor' | 'operator';
  organizations: string[] | null;
}

/**
 * The holder of a live token. Found by the hash of a long random secret, so that nothing is told by how long a miss takes. It is asked with
 * each request: a statement that the driver has prepared spares a round trip.
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
    // A constraint of the table says so.
    role: row.role as Principal['role'],
    organizations: Array.isArray(row.organization_ids) ? row.organization_ids.map(String) : null,
  };
}
