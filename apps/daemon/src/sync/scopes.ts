import { collect } from '@keywarden/core/client';
import type { WireKey } from '@keywarden/core/wire';
import { readNow, reconcileIntents, type SavedListing, saveKeyListing } from '@keywarden/db/daemon';
import { assertSaneClock, type Connection, datedAt, whyStale } from '../connect.ts';
import type { Context } from '../context.ts';
import { keepRejected } from './rejected.ts';

/** A scope whose keys a connection can list: its own user's, or an organization's. */
export type Scope = { kind: 'user'; userId: string } | { kind: 'organization'; organizationId: string };

export function scopeName(scope: Scope): string {
  return scope.kind === 'user' ? `user:${scope.userId}` : `organization:${scope.organizationId}`;
}

/** The inverse of `scopeName`. */
export function parseScope(name: string): Scope {
  const id = name.slice(name.indexOf(':') + 1);
  return name.startsWith('user:') ? { kind: 'user', userId: id } : { kind: 'organization', organizationId: id };
}

/** The lock under which a scope's keys are listed and revoked, through whatever connection. */
export function scopeLock(controlPlane: string, scope: Scope): string {
  return `keys of ${scopeName(scope)} at control plane ${controlPlane}`;
}

/**
 * Lists a scope's keys, stores the listing, and ends the intents that it decides. The caller holds the scope's lock, so that
 * no call is under way meanwhile; the context is the one that it was given with that.
 */
export async function listScope(
  context: Pick<Context, 'store' | 'signal' | 'lease' | 'log'>,
  connection: Connection,
  { scope, run }: { scope: Scope; run: string | null },
): Promise<SavedListing & { keys: WireKey[] }> {
  const {
    store: { sql },
    signal,
    lease,
  } = context;
  const { client, controlPlane } = connection;
  // A listing of a time that is still to come would outlive every later one.
  assertSaneClock(connection);
  const begunAt = await readNow(sql);
  const pages =
    scope.kind === 'user' ? client.personalKeys({ signal }) : client.organizationKeys(scope.organizationId, { signal });
  const begunMs = connection.time.now();
  const answer = await collect(pages);
  const { items, rejected, dateMs } = answer;
  const name = scopeName(scope);
  await keepRejected(context, connection, { list: 'keys', place: name, rejected });
  const saved = await saveKeyListing(sql, {
    controlPlane,
    scope: name,
    organizationId: scope.kind === 'organization' ? scope.organizationId : null,
    connection: connection.name,
    run,
    listedAt: datedAt(connection, dateMs),
    begunAt,
    stale: whyStale(connection, { ...answer, begunMs, list: `keys of ${name}` }),
    keys: items,
    unreadable: rejected.length,
    lease,
  });
  await reconcileIntents(sql, { controlPlane, scope: name });
  return { ...saved, keys: items };
}
