import type { Context } from 'hono';
import { unauthenticated } from '../http/errors.ts';
import { hashToken, recordUse } from '../resources/keys.ts';
import type { Clock } from '../store/clock.ts';
import type { Database } from '../store/database.ts';

/** The identity that a request acts as. `userId` is the key's creator, also for keys that act for an organization. */
export type Principal =
  | { kind: 'personal'; keyId: string; userId: string }
  | { kind: 'organization'; keyId: string; userId: string; organizationId: string }
  | { kind: 'project'; keyId: string; userId: string; organizationId: string; projectId: string };

/** Returns the account that limits are counted for: a user or an organization. */
export function accountOf(principal: Principal): string {
  return principal.kind === 'personal' ? principal.userId : principal.organizationId;
}

/**
 * Finds the key behind `Authorization: Bearer` and records its use, with the first hop's address and any proxies before it.
 * A project-scoped key ends when its project leaves the organization or is deleted.
 */
export function authenticate(c: Context, { db, clock }: { db: Database; clock: Clock }): Principal {
  const token = /^Bearer (\S+)$/i.exec(c.req.header('authorization') ?? '')?.[1];
  if (token === undefined) throw unauthenticated();
  const row = db.get(
    `select cast(k.id as text) as id, k.kind, k.user_id, k.organization_id, k.project_id from api_key k
     left join project p on p.id = k.project_id
     where k.token_hash = ? and k.revoked_at is null
       and (k.project_id is null or (p.organization_id = k.organization_id and p.deleted_at is null))`,
    hashToken(token),
  );
  if (row === undefined) throw unauthenticated();
  const keyId = String(row.id);
  const userId = String(row.user_id);
  const organizationId = String(row.organization_id);
  const address = c.req.header('x-forwarded-for') ?? c.env?.incoming?.socket?.remoteAddress ?? '127.0.0.1';
  recordUse(db, { keyId, at: clock.now(), address });
  if (row.kind === 'personal') return { kind: 'personal', keyId, userId };
  if (row.kind === 'organization') return { kind: 'organization', keyId, userId, organizationId };
  return { kind: 'project', keyId, userId, organizationId, projectId: String(row.project_id) };
}
