import { createHash, randomBytes } from 'node:crypto';
import { asc, sql } from 'drizzle-orm';
import { reportToken } from '../schema/tokens.ts';
import type { Db, Sql } from '../sql.ts';

export type Role = (typeof reportToken.$inferSelect)['role'];
export const roles: readonly Role[] = ['viewer', 'auditor', 'operator'];

export interface NewToken {
  name: string;
  role: Role;
  /** The organizations that it may see; null means all. */
  organizationIds: string[] | null;
  /** Later it is no token any more; null means never. */
  expiresAt?: string | null;
}

/** Makes a report token of 256 random bits. Only its hash is stored: the answer is the one time that it is seen. */
export async function createToken(sql: Sql, token: NewToken): Promise<{ number: string; secret: string }> {
  const secret = `kwr_${randomBytes(32).toString('base64url')}`;
  return { number: await insertToken(sql, token, secret), secret };
}

/** Makes a given secret a token of this role, also if it was one of another. False if it was revoked, which it stays. */
export async function ensureToken(sql: Sql, token: NewToken, secret: string): Promise<boolean> {
  const number = await insertToken(sql, token, secret);
  const [row] = await sql`select revoked_at from keywarden.report_token where number = ${number}`;
  return row?.revoked_at === null;
}

async function insertToken(
  sql: Sql,
  { name, role, organizationIds, expiresAt = null }: NewToken,
  secret: string,
): Promise<string> {
  const [row] = await sql`
    insert into keywarden.report_token (name, token_hash, role, organization_ids, expires_at)
    values (${name}, ${createHash('sha256').update(secret).digest('hex')}, ${role}, ${organizationIds}::text[], ${expiresAt}::timestamptz)
    on conflict (token_hash) do update set role = excluded.role returning number`;
  return String(row?.number);
}

export interface StoredToken extends Omit<typeof reportToken.$inferSelect, 'tokenHash'> {
  /** Its last request that the access log has. */
  lastUsedAt: string | null;
}

export async function listTokens(db: Db): Promise<StoredToken[]> {
  const lastUsedAt = sql<
    string | null
  >`(select a.at from keywarden.access_log a where a.token_number = keywarden.report_token.number
    order by a.number desc limit 1)`.mapWith(reportToken.createdAt);
  const { number, name, role, organizationIds, createdAt, expiresAt, revokedAt } = reportToken;
  return await db
    .select({ number, name, role, organizationIds, createdAt, expiresAt, revokedAt, lastUsedAt })
    .from(reportToken)
    .orderBy(asc(reportToken.number));
}

/** Ends a token for good; false when there is none of this number that is live. */
export async function revokeToken(sql: Sql, number: string): Promise<boolean> {
  const rows = await sql`
    update keywarden.report_token set revoked_at = now() where number = ${number} and revoked_at is null returning number`;
  return rows.length > 0;
}
