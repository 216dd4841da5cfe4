import type { History, KeyHistory } from '@keywarden/core/policy';
import { and, asc, desc, getViewSelectedFields, gte, isNotNull, isNull, lt, max, sql as raw } from 'drizzle-orm';
import { connection } from '../../schema/connections.ts';
import { key, keyListing, keyUse } from '../../schema/keys.ts';
import { member } from '../../schema/organizations.ts';
import type { Db } from '../../sql.ts';
import type { Store } from '../../store.ts';
import { scopeKeyOf } from '../listings/listing.ts';
import { isCreationKnown } from '../source.ts';
import { readCreators } from './creators.ts';
import { readLineages, readOwners } from './of-keys.ts';
import { toKeyFacts } from './read.ts';

/** Returns everything that the store has on keys, including gone ones, for a replay that starts at a given time. */
export async function readHistory({ db, sql }: Pick<Store, 'db' | 'sql'>, from: string): Promise<History> {
  const columns = { ...getViewSelectedFields(key), isCreationKnown: isCreationKnown(raw`keywarden.key`) };
  const rows = await db.select(columns).from(key).orderBy(asc(key.number));
  const ownerOf = await readOwners(db, await readLineages(sql, undefined));
  const uses = await readUses(db, from);
  // A replay judges by all stored facts, however old.
  const creatorOf = await readCreators({ db, sql }, { nowMs: () => 0, maxEvidenceAgeMs: Number.POSITIVE_INFINITY });
  const left = await readLeavers(db);
  const ownKeys = await db
    .select({ connection: connection.name, keyId: connection.ownKeyId })
    .from(connection)
    .where(isNotNull(connection.ownKeyId))
    .orderBy(asc(connection.name));
  return {
    keys: rows.map((row) => ({
      key: {
        ...toKeyFacts(row),
        owner: ownerOf(row),
        ...(row.isCreationKnown ? {} : { isCreationUnknown: true }),
        creator: creatorOf(row),
        exemptions: [],
        announcements: [],
        isAcknowledged: false,
        hasFailedLately: false,
      },
      goneAt: row.goneAt,
      creatorLeftAt:
        left.get(`${row.controlPlaneNumber}/${row.organizationId}/${row.creatorId}`) ??
        (creatorOf(row) === 'left' ? row.firstSeenAt : null),
      uses: uses.get(row.number) ?? [],
    })),
    listings: await readListingDays(db, from),
    ownKeys: ownKeys.map(({ connection, keyId }) => ({ connection, keyId: keyId ?? '' })),
  };
}

/** Returns each key's uses since a time, and the last use before it. */
async function readUses(db: Db, from: string): Promise<Map<string, KeyHistory['uses']>> {
  const { keyNumber, lastUsedAt, address } = keyUse;
  const use = { keyNumber, at: lastUsedAt, address };
  const before = db
    .selectDistinctOn([keyNumber], use)
    .from(keyUse)
    .where(lt(lastUsedAt, from))
    .orderBy(asc(keyNumber), desc(lastUsedAt));
  const since = db.select(use).from(keyUse).where(gte(lastUsedAt, from)).orderBy(asc(keyNumber), asc(lastUsedAt));
  const groups = Map.groupBy([...(await before), ...(await since)], (row) => row.keyNumber);
  const toUse = ({ at, address: used }: { at: string; address: string }) => ({ at, from: used === '' ? null : used });
  return new Map([...groups].map(([number, group]) => [number, group.map(toUse)]));
}

async function readLeavers(db: Db): Promise<Map<string, string | null>> {
  const { controlPlaneNumber, organizationId, userId, leftAt } = member;
  const rows = await db
    .select({ controlPlaneNumber, organizationId, userId, leftAt })
    .from(member)
    .where(isNotNull(leftAt));
  return new Map(rows.map((row) => [`${row.controlPlaneNumber}/${row.organizationId}/${row.userId}`, row.leftAt]));
}

/** Returns the complete listings of each scope, at most one an hour. More would add nothing about a day. */
async function readListingDays(db: Db, from: string): Promise<Map<string, string[]>> {
  const { controlPlaneNumber, scope, listedAt, whySuspect } = keyListing;
  const rows = await db
    .select({ controlPlaneNumber, scope, at: max(listedAt) })
    .from(keyListing)
    .where(and(isNull(whySuspect), raw`${listedAt} > ${from}::timestamptz - interval '2 days'`))
    .groupBy(controlPlaneNumber, scope, raw`date_trunc('hour', ${listedAt})`)
    .orderBy(asc(controlPlaneNumber), asc(scope), asc(max(listedAt)));
  const groups = Map.groupBy(rows, (row) => scopeKeyOf(row.controlPlaneNumber, row.scope));
  return new Map([...groups].map(([of, group]) => [of, group.map(({ at }) => String(at))]));
}
