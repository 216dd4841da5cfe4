import type { History, KeyHistory } from '@keywarden/core/policy';
import { asc, isNotNull } from 'drizzle-orm';
import { toInstant } from '../schema/columns.ts';
import { connection } from '../schema/connections.ts';
import { key } from '../schema/keys.ts';
import { member } from '../schema/organizations.ts';
import type { Db, Sql } from '../sql.ts';
import type { Store } from '../store.ts';
import { readCreators } from './creators.ts';
import { toKeyFacts } from './facts.ts';
import { readLineages, readOwners } from './key-facts.ts';
import { factScope } from './key-listing.ts';

/** Returns everything that the store has on keys, including gone ones, for a replay that starts at a given time. */
export async function readHistory({ db, sql }: Pick<Store, 'db' | 'sql'>, from: string): Promise<History> {
  const rows = await db.select().from(key).orderBy(asc(key.number));
  const ownerOf = await readOwners(db, await readLineages(sql, undefined));
  const uses = await readUses(sql, from);
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
        creator: 'unknown',
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
    listings: await readListingDays(sql, from),
    ownKeys: ownKeys.map(({ connection, keyId }) => ({ connection, keyId: keyId ?? '' })),
  };
}

/** Returns each key's uses since a time, and the last use before it. */
async function readUses(sql: Sql, from: string): Promise<Map<string, KeyHistory['uses']>> {
  const rows = await sql`
    select key_number, last_used_at, address from keywarden.key_use where last_used_at >= ${from}::timestamptz
    union all (
      select distinct on (key_number) key_number, last_used_at, address from keywarden.key_use where last_used_at < ${from}::timestamptz
      order by key_number, last_used_at desc)
    order by 1, 2`;
  const groups = Map.groupBy(rows, (row) => String(row.key_number));
  const toUse = (row: (typeof rows)[number]) => ({
    at: toInstant(String(row.last_used_at)),
    from: row.address === '' ? null : String(row.address),
  });
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
async function readListingDays(sql: Sql, from: string): Promise<Map<string, string[]>> {
  const rows = await sql`
    select control_plane_number, scope, max(listed_at) as at from keywarden.key_listing
    where why_suspect is null and listed_at > ${from}::timestamptz - interval '2 days'
    group by control_plane_number, scope, date_trunc('hour', listed_at) order by 1, 2, 3`;
  const groups = Map.groupBy(rows, (row) => factScope(String(row.control_plane_number), String(row.scope)));
  return new Map([...groups].map(([scope, group]) => [scope, group.map((row) => toInstant(String(row.at)))]));
}
