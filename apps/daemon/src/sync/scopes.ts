import { collect } from '@keywarden/core/client';
import type { WireKey } from '@keywarden/core/wire';
import { reconcileIntents, type SavedListing, saveKeyListing } from '@keywarden/db/daemon';
import type { Sql } from '@keywarden/db/store';
import type { Connection } from '../connect.ts';

/** A scope whose keys a connection can list: its own user's, or an organization's. */
export type Scope = { kind: 'user'; userId: string } | { kind: 'organization'; organizationId: string };

function scopeName(scope: Scope): string {
  return scope.kind === 'user' ? `user:${scope.userId}` : `organization:${scope.organizationId}`;
}

/** The inverse of `scopeName`. */
export function parseScope(name: string): Scope {
  const id = name.slice(name.indexOf(':') + 1);
  return name.startsWith('user:') ? { kind: 'user', userId: id } : { kind: 'organization', organizationId: id };
}

/** Lists a scope's keys, stores the listing, and ends the intents that it decides. */
export async function listScope(
  sql: Sql,
  connection: Connection,
  { scope, run, signal }: { scope: Scope; run: string | null; signal: AbortSignal },
): Promise<SavedListing & { keys: WireKey[] }> {
  const { client, controlPlane } = connection;
  const pages =
    scope.kind === 'user' ? client.personalKeys({ signal }) : client.organizationKeys(scope.organizationId, { signal });
  const { items, dateMs } = await collect(pages);
  const name = scopeName(scope);
  const saved = await saveKeyListing(sql, {
    controlPlane,
    scope: name,
    organizationId: scope.kind === 'organization' ? scope.organizationId : null,
    connection: connection.name,
    run,
    listedAt: new Date(dateMs ?? Date.now() + connection.skewMs).toISOString(),
    keys: items,
  });
  await reconcileIntents(sql, { controlPlane, scope: name });
  return { ...saved, keys: items };
}
