import { sha256 } from '@keywarden/core/values';
import { sql as fragment } from 'drizzle-orm';
import { z } from 'zod';
import { jsonOf } from '../item.ts';
import { reportTokenRoles } from '../schema/tokens.ts';
import type { Sql } from '../sql.ts';

export type Role = (typeof reportTokenRoles)[number];

/** A token in items: enough to recognize it. */
export const tokenReference = z.strictObject({ id: z.string(), name: z.string(), role: z.enum(reportTokenRoles) });

/** The reference to the token `t`. */
export const referenceToToken = jsonOf(tokenReference, 't', { id: fragment`t.number::text` });

/** The identity that a request of the report has; `organizations` null means all. */
export interface Principal {
  /** The token's number. */
  token: string;
  name: string;
  role: Role;
  organizations: string[] | null;
  /** The number of the session that the request belongs to; null for a request with the token itself. */
  session: string | null;
  /** The SHA-256 of the presented token or session id. The store's functions find out by it who acts. */
  credential: string;
}

/** Returns the name of a token in records of what was done with it, as keywarden.holder_of writes it. */
export function nameInRecords({ name, token }: Pick<Principal, 'name' | 'token'>): string {
  return `${name} (report token ${token})`;
}

/** Returns what the store keeps of a token or of a session's id: its SHA-256 in hex. */
export function hashCredential(secret: string): string {
  return sha256(secret);
}

/**
 * Returns the holder of a live token or session. It is found by the hash of a long random secret, so the duration of a miss reveals nothing. Each
 * request runs this query, so the driver's prepared statement saves a round trip.
 */
export async function authenticate(sql: Sql, secret: string): Promise<Principal | undefined> {
  return await findHolder(sql, hashCredential(secret));
}

/** Returns whether the token or session of a principal is still live, with the same role. */
export async function isStillLive(sql: Sql, { credential, role }: Principal): Promise<boolean> {
  return (await findHolder(sql, credential))?.role === role;
}

async function findHolder(sql: Sql, credential: string): Promise<Principal | undefined> {
  // A constraint of the table guarantees the role.
  const [holder] = await sql<Omit<Principal, 'credential'>[]>`
    select token_number as token, name, role, organization_ids as organizations, session_number as session
    from keywarden.authenticate(${credential})`;
  return holder && { ...holder, credential };
}
