import { createHash } from 'node:crypto';
import { and, eq, isNull, sql } from 'drizzle-orm';
import { reportToken } from '../schema/tables.ts';
import type { Db } from '../store.ts';

/** Who a request of the report acts as; `organizations` null means all. */
export interface Principal {
  token: string;
  name: string;
  role: 'viewer' | 'auditor' | 'operator';
  organizations: string[] | null;
}

/** The holder of a live token. Found by the hash of a long random secret, so that nothing is told by how long a miss takes. */
export async function authenticateToken(db: Db, secret: string): Promise<Principal | undefined> {
  const tokenHash = createHash('sha256').update(secret).digest('hex');
  const [found] = await db
    .select({
      token: reportToken.number,
      name: reportToken.name,
      role: reportToken.role,
      organizations: reportToken.organizationIds,
    })
    .from(reportToken)
    .where(
      and(
        eq(reportToken.tokenHash, tokenHash),
        isNull(reportToken.revokedAt),
        sql`coalesce(${reportToken.expiresAt} > now(), true)`,
      ),
    );
  return found;
}
