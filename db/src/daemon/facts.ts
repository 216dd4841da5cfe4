import type { Facts, KeyFacts, ScopeFacts } from '@keywarden/core/policy';
import { and, asc, eq, isNull, sql as raw } from 'drizzle-orm';
import { connection, connectionScope, key, keyListing } from '../schema/tables.ts';
import type { Db } from '../store.ts';

/** The name of a scope in facts: its control plane's number and its own name. */
export function factScope(controlPlane: string, scope: string): string {
  return `${controlPlane}/${scope}`;
}

/**
 * Reads what keys are judged on: those that are there, and of each scope its last listing that is believed and who sees it.
 * `nowMs` gives the present of a control plane by its own Date, null where it is not known well enough to judge.
 */
export async function readFacts(db: Db, nowMs: (controlPlane: string) => number | null): Promise<Facts> {
  const keys = await db
    .select()
    .from(key)
    .where(and(isNull(key.goneAt), isNull(key.missingSince)))
    .orderBy(asc(key.number));
  return { keys: keys.map(toKeyFacts), scopes: await readScopes(db, nowMs) };
}

async function readScopes(db: Db, nowMs: (controlPlane: string) => number | null): Promise<ScopeFacts[]> {
  const listings = await db
    .selectDistinctOn([keyListing.controlPlaneNumber, keyListing.scope])
    .from(keyListing)
    .where(isNull(keyListing.doubt))
    .orderBy(asc(keyListing.controlPlaneNumber), asc(keyListing.scope), raw`${keyListing.number} desc`);
  const seen = await db
    .select({ ...columnsOfSeen })
    .from(connectionScope)
    .innerJoin(connection, eq(connection.name, connectionScope.connection))
    .orderBy(asc(connection.name));
  return listings.map((listing) => ({
    scope: factScope(listing.controlPlaneNumber, listing.scope),
    listedAt: listing.listedAt,
    nowMs: nowMs(listing.controlPlaneNumber),
    connections: seen
      .filter((each) => each.controlPlane === listing.controlPlaneNumber && each.scope === listing.scope)
      // A connection that was removed from the configuration protects its key where that is known, and holds nothing else.
      .filter((each) => each.removedAt === null || each.ownKeyId !== null)
      .map(({ name, ownKeyId }) => ({ name, ownKeyId })),
  }));
}

const columnsOfSeen = {
  name: connection.name,
  ownKeyId: connection.ownKeyId,
  removedAt: connection.removedAt,
  controlPlane: connectionScope.controlPlaneNumber,
  scope: connectionScope.scope,
};

function toKeyFacts(row: typeof key.$inferSelect): KeyFacts {
  const { number, id, kind, name, organizationId, projectId, creatorId, creatorName, createdAt } = row;
  const scope = factScope(row.controlPlaneNumber, row.scope);
  return {
    number,
    scope,
    id,
    kind,
    name,
    organizationId,
    projectId,
    creatorId,
    creatorName,
    createdAt,
    use: useOf(row),
  };
}

function useOf({ lastUsedAt, lastUsedFrom, useWentBack }: typeof key.$inferSelect): KeyFacts['use'] {
  if (useWentBack) return { state: 'unknown' };
  return lastUsedAt === null ? { state: 'never' } : { state: 'used', at: lastUsedAt, from: lastUsedFrom };
}
