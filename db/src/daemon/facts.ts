import type { Facts, KeyFacts } from '@keywarden/core/policy';
import { toMs } from '@keywarden/core/wire';
import { and, asc, count, eq, gt, inArray, isNull, or, sql as raw } from 'drizzle-orm';
import {
  connection,
  connectionScope,
  key,
  keyListing,
  member,
  revocationIntent,
  revocationOutcome,
} from '../schema/tables.ts';
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
  const creatorOf = await readCreators(db);
  return {
    keys: keys.map((row) => toKeyFacts(row, creatorOf(row))),
    ...(await readScopes(db, nowMs)),
    revokedLastDay: await countRevokedLastDay(db),
  };
}

/** An attempt whose outcome is not known yet counts: it may have revoked. */
async function countRevokedLastDay(db: Db): Promise<number> {
  const [row] = await db
    .select({ n: count() })
    .from(revocationIntent)
    .leftJoin(revocationOutcome, eq(revocationOutcome.intentNumber, revocationIntent.number))
    .where(
      and(
        gt(revocationIntent.createdAt, raw`now() - interval '24 hours'`),
        or(isNull(revocationOutcome.outcome), eq(revocationOutcome.outcome, 'revoked')),
      ),
    );
  return row?.n ?? 0;
}

async function readScopes(
  db: Db,
  nowMs: (controlPlane: string) => number | null,
): Promise<Pick<Facts, 'scopes' | 'ownKeys'>> {
  const listings = await db
    .selectDistinctOn([keyListing.controlPlaneNumber, keyListing.scope])
    .from(keyListing)
    .where(isNull(keyListing.doubt))
    .orderBy(asc(keyListing.controlPlaneNumber), asc(keyListing.scope), raw`${keyListing.number} desc`);
  const connections = await db.select().from(connection).orderBy(asc(connection.name));
  const seen = await db
    .select()
    .from(connectionScope)
    .orderBy(asc(connectionScope.connection), asc(connectionScope.scope));
  const ownIds = connections.flatMap(({ ownKeyId }) => ownKeyId ?? []);
  const listed = await db
    .select({ controlPlane: key.controlPlaneNumber, id: key.id })
    .from(key)
    .where(inArray(key.id, ownIds));
  // An id that no listing has ever shown is a mistake, and the true one is not known.
  const isKnown = ({ controlPlaneNumber, ownKeyId }: typeof connection.$inferSelect) =>
    listed.some(({ controlPlane, id }) => controlPlane === controlPlaneNumber && id === ownKeyId);
  const scopes = listings.map((listing) => ({
    scope: factScope(listing.controlPlaneNumber, listing.scope),
    listedAt: listing.listedAt,
    nowMs: nowMs(listing.controlPlaneNumber),
    unknownOwnKey: connections
      .filter((each) => each.removedAt === null && !isKnown(each))
      .filter((each) =>
        maySee(
          each,
          listing,
          seen.filter((row) => row.connection === each.name),
        ),
      )
      .map(({ name }) => name),
  }));
  // One that was removed from the configuration still protects its key: something else may use it.
  const ownKeys = connections.flatMap(({ name, ownKeyId }) =>
    ownKeyId === null ? [] : [{ connection: name, keyId: ownKeyId }],
  );
  return { scopes, ownKeys };
}

/** It has listed the scope, or the scope is its own account's, or it acts for a user and has not said yet what it sees. */
function maySee(
  { controlPlaneNumber, accountId }: typeof connection.$inferSelect,
  listing: typeof keyListing.$inferSelect,
  seen: (typeof connectionScope.$inferSelect)[],
): boolean {
  if (controlPlaneNumber !== listing.controlPlaneNumber) return false;
  const isAccount = [`user:${accountId}`, `organization:${accountId}`].includes(listing.scope);
  return isAccount || seen.length === 0 || seen.some((row) => row.scope === listing.scope);
}

/**
 * Who of the creators is a member still. One who was absent from two complete listings in a row has left; one whom no listing has ever
 * shown has left too, if two are known to be younger than the key: where members can be listed no more, a new creator is unknown.
 */
async function readCreators(db: Db): Promise<(row: typeof key.$inferSelect) => KeyFacts['creator']> {
  const members = await db.select().from(member);
  const placeOf = (controlPlane: string, organization: string | null) => `${controlPlane}/${organization}`;
  const states = new Map<string, KeyFacts['creator']>();
  const seen = new Map<string, Set<string>>();
  for (const { controlPlaneNumber, organizationId, userId, leftAt, missingSince, firstSeenAt, lastSeenAt } of members) {
    const place = placeOf(controlPlaneNumber, organizationId);
    const present = missingSince === null ? 'member' : 'unknown';
    states.set(`${place}/${userId}`, leftAt === null ? present : 'left');
    const times = seen.get(place) ?? new Set();
    seen.set(place, times.add(firstSeenAt).add(lastSeenAt));
  }
  return ({ controlPlaneNumber, organizationId, creatorId, createdAt }) => {
    const place = placeOf(controlPlaneNumber, organizationId);
    const since = [...(seen.get(place) ?? [])].filter((at) => toMs(at) > toMs(createdAt));
    return states.get(`${place}/${creatorId}`) ?? (since.length > 1 ? 'left' : 'unknown');
  };
}

function toKeyFacts(row: typeof key.$inferSelect, creator: KeyFacts['creator']): KeyFacts {
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
    creator,
    createdAt,
    use: useOf(row),
  };
}

/** A last use that went backwards, or lies before the key's creation (by more than a rounded second), says nothing. */
function useOf({ createdAt, lastUsedAt, lastUsedFrom, useWentBack }: typeof key.$inferSelect): KeyFacts['use'] {
  if (lastUsedAt === null) return useWentBack ? { state: 'unknown' } : { state: 'never' };
  if (useWentBack || !(toMs(lastUsedAt) >= toMs(createdAt) - 1000)) return { state: 'unknown' };
  return { state: 'used', at: lastUsedAt, from: lastUsedFrom };
}
