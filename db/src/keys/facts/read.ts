import type { Facts, KeyFacts } from '@keywarden/core/policy';
import { toMs } from '@keywarden/core/values';
import { keyKinds, showsUse, unknownCreator } from '@keywarden/core/wire';
import { and, asc, count, eq, getTableColumns, ne, or, sql as raw } from 'drizzle-orm';
import { mayHaveRevoked } from '../../revocations/revocations.ts';
import { controlPlane } from '../../schema/connections.ts';
import { incident } from '../../schema/incidents.ts';
import { credential } from '../../schema/keys.ts';
import { revocationIntent, revocationOutcome } from '../../schema/revocations.ts';
import { anyOf, type Db, hasValues, type Sql } from '../../sql.ts';
import type { Store } from '../../store.ts';
import { scopeKeyOf } from '../listings/listing.ts';
import { isCreationKnown } from '../source.ts';
import { readCreators } from './creators.ts';
import {
  readAcknowledged,
  readAddresses,
  readAnnouncements,
  readExemptions,
  readFailedLately,
  readLineages,
  readOwners,
  readReviewedOut,
} from './of-keys.ts';
import { type FactsRequest, readScopes, type ScopeReference } from './of-scopes.ts';

/** Reads the facts that keys are judged on: the existing keys, the last trusted listings of each scope, and the connections that see it. */
export async function readFacts(store: Pick<Store, 'db' | 'sql'>, request: FactsRequest): Promise<Facts> {
  const { db, sql } = store;
  const { scope: one } = request;
  const reviewedOut = await readReviewedOut(db);
  const rows = await db
    .select({ ...getTableColumns(credential), isCreationKnown: isCreationKnown(raw`keywarden.credential`) })
    .from(credential)
    .where(
      and(
        hasValues(credential, { goneAt: null, missingSince: null }),
        or(
          anyOf(credential.kind, [...keyKinds, ...request.otherKinds]),
          anyOf(credential.number, [...reviewedOut.keys()]),
        ),
        one && hasValues(credential, { controlPlaneNumber: one.controlPlane, scope: one.scope }),
      ),
    )
    .orderBy(asc(credential.number));
  const changedKeys = await readChanged(db);
  const otherScopeOf = await readOtherScopes(sql, one);
  const creatorOf = await readCreators(store, request);
  const lineageOf = await readLineages(sql, one);
  const ownerOf = await readOwners(db, lineageOf);
  const nowOrOurs = (controlPlane: string) => request.nowMs(controlPlane) ?? request.ourNowMs;
  const exemptionsOf = await readExemptions(db, nowOrOurs, lineageOf);
  const announcementsOf = await readAnnouncements(sql, request.channels);
  const acknowledged = await readAcknowledged(db, request.policySha256);
  const failed = await readFailedLately(db);
  const addressesOf = request.addressesSinceMs === null ? null : await readAddresses(db, request.addressesSinceMs);
  const keys = rows.map((row): KeyFacts => {
    const reviewed = reviewedOut.get(row.number);
    const lineage = lineageOf(row.number);
    return {
      ...toKeyFacts(row),
      ...(row.isCreationKnown ? {} : { isCreationUnknown: true }),
      ...(changedKeys.has(row.number) ? { hasOpenKeyChange: true } : {}),
      ...otherScopeOf(row.number),
      creator: creatorOf(row),
      owner: ownerOf(row),
      exemptions: exemptionsOf(row.number),
      announcements: announcementsOf(row.number),
      isAcknowledged: acknowledged.has(row.number),
      hasFailedLately: failed.has(row.number),
      ...(addressesOf === null ? {} : { addresses: addressesOf(row.number) }),
      ...(reviewed && { reviewedOut: reviewed }),
      ...(lineage && { lineage }),
    };
  });
  return {
    keys,
    ...(await readScopes(store, request)),
    revokedLastDay: await countRevokedLastDay(db, nowOrOurs, one?.exceptIntent),
  };
}

/** Returns the keys whose id belonged to another key before, until a person has checked. */
async function readChanged(db: Db): Promise<Set<string | null>> {
  const rows = await db
    .select({ key: incident.keyNumber })
    .from(incident)
    .where(hasValues(incident, { kind: 'key_changed', closedAt: null }));
  return new Set(rows.map(({ key }) => key));
}

/** Returns the other scope of each live key that lists of two connected scopes show: the rows of one come from another list. */
async function readOtherScopes(
  sql: Sql,
  one: ScopeReference | undefined,
): Promise<(number: string) => Pick<KeyFacts, 'otherScope'>> {
  // The other keys of an id are read first, by the index of ids: `offset 0` keeps every other condition out, and with it every other index. A planner
  // without statistics would otherwise compare all keys with all others.
  const rows = await sql`
    select k.number, min(o.scope) as scope from keywarden.key k cross join lateral (
        select * from keywarden.key where control_plane_number = k.control_plane_number and id = k.id offset 0) o
    where o.scope <> k.scope and o.gone_at is null and o.superseded_at is null
      and (o.creator_id = k.creator_id or ${unknownCreator} in (o.creator_id, k.creator_id))
      and date_trunc('second', o.created_at) = date_trunc('second', k.created_at) and exists (
        select from keywarden.connection_scope s join keywarden.connection c on c.name = s.connection and c.removed_at is null
        where s.control_plane_number = o.control_plane_number and s.scope = o.scope)
      and k.gone_at is null and k.superseded_at is null and (${one === undefined} or
      k.control_plane_number = ${one?.controlPlane ?? null}::bigint and k.scope = ${one?.scope ?? null}::text)
    group by k.number`;
  const scopes = new Map(rows.map((row) => [String(row.number), { otherScope: String(row.scope) }]));
  return (number) => scopes.get(number) ?? {};
}

type CredentialRow = typeof credential.$inferSelect;
type OfOthers = 'branchId' | 'holder' | 'expiresAt';
/** The row of any credential, or of a key, which has fewer columns. */
type KeyRow = Omit<CredentialRow, OfOthers> & Partial<Pick<CredentialRow, OfOthers>>;

/** Returns the facts in a key's own row. */
export function toKeyFacts(row: KeyRow) {
  const { number, id, kind, name, organizationId, projectId, creatorId, creatorName, createdAt } = row;
  const scope = scopeKeyOf(row.controlPlaneNumber, row.scope);
  const { presentSince, firstSeenAt, expiresAt, branchId } = row;
  const identity = { number, scope, id, kind, name, organizationId, projectId, creatorId, creatorName };
  return {
    ...identity,
    createdAt,
    presentSince,
    firstSeenAt,
    use: useOf(row),
    ...(expiresAt == null ? {} : { expiresAt }),
    ...(branchId == null ? {} : { branchId }),
  } satisfies Partial<KeyFacts>;
}

/**
 * Returns a key's use, or unknown. A last use proves nothing if it moved backwards, was in the future, or has an address but no time. The same
 * holds if it is before the key's creation (by more than a rounded second).
 */
function useOf({ kind, createdAt, lastUsedAt, lastUsedFrom, useWentBack }: KeyRow): KeyFacts['use'] {
  if (!showsUse(kind)) return { state: 'unknown' };
  if (lastUsedAt === null) return useWentBack || lastUsedFrom !== null ? { state: 'unknown' } : { state: 'never' };
  if (useWentBack || !(toMs(lastUsedAt) >= toMs(createdAt) - 1000)) return { state: 'unknown' };
  return { state: 'used', at: lastUsedAt, from: lastUsedFrom };
}

/** Counts what the last 24 hours revoked, by each control plane's clock. A call that was sent counts while it may have revoked. */
async function countRevokedLastDay(
  db: Db,
  nowMs: (controlPlane: string) => number,
  exceptIntent?: string,
): Promise<number> {
  const planes = await db.select({ number: controlPlane.number }).from(controlPlane).orderBy(asc(controlPlane.number));
  let revoked = 0;
  for (const { number } of planes) {
    const now = new Date(nowMs(number)).toISOString();
    const { judgedAt, createdAt } = revocationIntent;
    const isRecent = raw`coalesce(${judgedAt}, ${createdAt}) > ${now}::timestamptz - interval '24 hours'`;
    const isOther = exceptIntent === undefined ? undefined : ne(revocationIntent.number, exceptIntent);
    const [row] = await db
      .select({ n: count() })
      .from(revocationIntent)
      .innerJoin(credential, eq(credential.number, revocationIntent.keyNumber))
      .leftJoin(revocationOutcome, eq(revocationOutcome.intentNumber, revocationIntent.number))
      .where(and(eq(credential.controlPlaneNumber, number), mayHaveRevoked(credential), isRecent, isOther));
    revoked += row?.n ?? 0;
  }
  return revoked;
}
