import type { KeyFacts } from '@keywarden/core/policy';
import {
  busyCodes,
  currentMint,
  type MintIntent,
  type RotationFacts,
  type Sighting,
  wantsSink,
} from '@keywarden/core/rotation';
import { and, countDistinct, desc, eq, isNull, sql as raw } from 'drizzle-orm';
import { toKeyFacts } from '../keys/facts/read.ts';
import { mostLag } from '../keys/listings/listing.ts';
import { toInstant } from '../schema/columns.ts';
import { replicaCredential } from '../schema/connections.ts';
import { incident } from '../schema/incidents.ts';
import { key } from '../schema/keys.ts';
import { revocationIntent, revocationOutcome } from '../schema/revocations.ts';
import { rotationEvent, rotation as rotationTable } from '../schema/rotations.ts';
import { mintedKey } from '../schema/views.ts';
import { anyOf, type Db, hasValues, readNumber, type Sql } from '../sql.ts';
import type { Store } from '../store.ts';
import type { StoredRotation } from './rotations.ts';

type StoredFacts = Omit<RotationFacts, 'nowMs' | 'hourPriorListedAt' | 'sink'>;

/** Returns the stored facts of a rotation's keys. `users` are the connections whose own key is being rotated. */
export async function readRotationFacts(
  { db, sql }: Pick<Store, 'db' | 'sql'>,
  rotation: StoredRotation,
  users: string[],
): Promise<StoredFacts> {
  const mint = currentMint(rotation);
  const { rotationNumber, attempt, keyNumber } = mintedKey;
  const [minted] = await db
    .select({ keyNumber })
    .from(mintedKey)
    .where(and(eq(rotationNumber, rotation.number), raw`${attempt} = ${mint?.attempt ?? null}::int`));
  const numbers = { old: rotation.key.number, successor: minted?.keyNumber ?? null };
  const wanted = Object.values(numbers).filter((number) => number !== null);
  const rows = await db.select().from(key).where(anyOf(key.number, wanted));
  const rowOf = (number: string | null) => rows.find((row) => row.number === number);
  return {
    old: toSighting(rowOf(numbers.old)),
    successor: toSighting(rowOf(numbers.successor)),
    whySuccessorUnproven: await findDoubt({ db, sql }, rotation, rowOf(numbers.successor)),
    longestGapMs: await readLongestGap(sql, rotation.key.number),
    ...(await readMintFacts(sql, rotation)),
    ...(await readRetirement(db, rotation.number)),
    mayBeOnItsWay: wantsSink(rotation) && (await isFresh(db, rotation.number)),
    replicasBehind: users.length === 0 ? 0 : await countReplicasBehind(db, { users, keyId: mint?.keyId ?? null }),
  };
}

function toSighting(row: typeof key.$inferSelect | undefined): Sighting {
  if (row === undefined) return { state: 'unlisted' };
  if (row.goneAt !== null) return { state: 'gone' };
  if (row.missingSince !== null) return { state: 'missing' };
  return { state: 'live', use: toKeyFacts(row).use, presentSince: row.presentSince };
}

/** Returns why the key that is taken for a successor may be another one; null if nothing speaks against it, or if no listing has shown it. */
async function findDoubt(
  { db, sql }: Pick<Store, 'db' | 'sql'>,
  { number, key: { kind, projectId } }: StoredRotation,
  successor: typeof key.$inferSelect | undefined,
): Promise<string | null> {
  if (successor === undefined) return null;
  if (successor.kind !== kind || successor.projectId !== projectId)
    return 'its successor is a key of another kind or project';
  const isChanged = hasValues(incident, { kind: 'key_changed', keyNumber: successor.number, closedAt: null });
  if ((await db.$count(incident, isChanged)) > 0)
    return 'the record of its successor has changed; see keywarden incidents';
  const [namesake] = await sql`
    select i.key_number from keywarden.incident i join keywarden.key k on k.number = i.key_number, keywarden.rotation_mint m
    where i.kind = 'orphan' and i.closed_at is null and k.gone_at is null and m.rotation_number = ${number} and ${hasMintName(sql)}
      and k.id is distinct from m.key_id limit 1`;
  return namesake === undefined ? null : 'another key has the name of its successor; see keywarden incidents';
}

async function readLongestGap(sql: Sql, keyNumber: string): Promise<number> {
  return await readNumber(sql`
    select coalesce(max(extract(epoch from gap) * 1000), 0)::float8 as ms from (
      select last_used_at - lag(last_used_at) over (order by last_used_at) as gap from keywarden.key_use where key_number = ${keyNumber}) g`);
}

/** Returns what listings show of the last intent to mint: keys with its name that are not its successor, and how many listings began since. */
async function readMintFacts(
  sql: Sql,
  rotation: StoredRotation,
): Promise<Pick<RotationFacts, 'lost' | 'listingsSinceMint'>> {
  const attempt = currentMint(rotation)?.attempt ?? null;
  const [row] = await sql`
    select array(select k.id from keywarden.key k where k.control_plane_number = ${rotation.key.controlPlane}
        and k.scope = ${rotation.key.scope} and ${hasMintName(sql)} and k.gone_at is null and k.id is distinct from m.key_id order by 1) as lost,
      (select count(*)::int from keywarden.key_listing l where l.control_plane_number = ${rotation.key.controlPlane}
        and l.scope = ${rotation.key.scope} and l.number > m.last_listing_number and l.why_suspect is null
        and l.begun_at > m.created_at + ${mostLag}::interval and l.listed_at > before.listed_at + ${mostLag}::interval) as listings
    from keywarden.rotation_mint m join keywarden.key_listing before on before.number = m.last_listing_number
    where m.rotation_number = ${rotation.number} and m.attempt = ${attempt}::int`;
  return {
    lost: Array.isArray(row?.lost) ? row.lost.map(String) : [],
    listingsSinceMint: Number(row?.listings ?? 0),
  };
}

/** Returns the results of the attempts to revoke the old key. Busy answers refuse nothing, unless they still come a day after the first attempt. */
async function readRetirement(
  db: Db,
  of: string,
): Promise<Pick<RotationFacts, 'retirement' | 'refusals' | 'wasRefusedLately'>> {
  const { number, rotationNumber, keyNumber } = revocationIntent;
  const { intentNumber, outcome, at, detail } = revocationOutcome;
  const rows = await db
    .select({
      outcome,
      code: raw<string | null>`${detail} ->> 'code'`,
      isRecent: raw<boolean | null>`${at} > now() - interval '1 day'`,
      isLong: raw<boolean | null>`${at} > min(${at}) over () + interval '1 day'`,
    })
    .from(revocationIntent)
    .innerJoin(rotationTable, hasValues(rotationTable, { number: rotationNumber, keyNumber }))
    .leftJoin(revocationOutcome, eq(intentNumber, number))
    .where(eq(rotationNumber, of))
    .orderBy(desc(number));
  const [last] = rows;
  const isRefusal = (row: (typeof rows)[number]) => row.isLong === true || !busyCodes.includes(row.code ?? '');
  const refused = rows.filter((row) => row.outcome === 'failed' && isRefusal(row));
  return {
    retirement: last === undefined ? 'none' : last.outcome === null ? 'open' : 'ended',
    refusals: refused.length,
    wasRefusedLately: last !== undefined && refused[0] === last && last.isRecent === true,
  };
}

/**
 * Returns whether the secret may still be on its way, or its sink may show a delivered secret late. The limit covers two attempts of the
 * slowest command and its read-back. A lock cannot show this: a lost connection to the store releases it while the command continues.
 */
async function isFresh(db: Db, of: string): Promise<boolean> {
  const { rotationNumber, recordedAt, sequence } = rotationEvent;
  const [row] = await db
    .select({ isFresh: raw<boolean>`${recordedAt} > now() - interval '45 minutes'` })
    .from(rotationEvent)
    .where(eq(rotationNumber, of))
    .orderBy(desc(sequence))
    .limit(1);
  return row?.isFresh === true;
}

/** Counts the live processes that last authenticated through one of these connections with another key than this one. */
async function countReplicasBehind(
  db: Db,
  { users, keyId: current }: { users: string[]; keyId: string | null },
): Promise<number> {
  const { replica, connection, endedAt, authenticatedAt, keyId } = replicaCredential;
  const [row] = await db
    .select({ n: countDistinct(replica) })
    .from(replicaCredential)
    .where(
      and(
        anyOf(connection, users),
        isNull(endedAt),
        raw`${authenticatedAt} > now() - interval '1 day'`,
        raw`${keyId} is distinct from ${current}::text`,
      ),
    );
  return row?.n ?? 0;
}

/**
 * SQL: whether key `k` has the name that mint `m` requested. A service may normalize names to one form of Unicode, or trim spaces. An
 * orphan whose name was changed like that is still an orphan.
 */
const hasMintName = (sql: Sql) => sql`normalize(btrim(k.name), NFKC) = normalize(btrim(m.name), NFKC)`;

/** A live key that has the name of one of our intents and is, as far as we know, in no sink. */
export interface SuspectedOrphan {
  key: Pick<KeyFacts, 'number' | 'id' | 'scope' | 'name' | 'creatorId' | 'createdAt' | 'firstSeenAt' | 'use'>;
  /** `begunAt`: when the listing before it began, by the database's clock. */
  intent: Pick<MintIntent, 'attempt' | 'name' | 'creatorId' | 'listedAt' | 'keyId'> & { begunAt: string };
  rotation: { number: string; id: string; lineage: string };
  /** When the loss of the secret became known: until then, uses may have been by Keywarden. Null while that is unknown. */
  lostAt: string | null;
  /** Whether its rotation has ended, and its sink may have the secret: then it belongs to the lineage. */
  isUnclear: boolean;
}

/** Lists all suspected orphans of open and ended rotations. */
export async function listSuspectedOrphans({ db, sql }: Pick<Store, 'db' | 'sql'>): Promise<SuspectedOrphan[]> {
  const rows = await sql`
    select k.number, m.rotation_number, r.id as rotation_id, r.lineage_number, m.outcome = 'unclear' and k.id = m.key_id as is_unclear, m.attempt, m.name, m.creator_id, l.listed_at, l.begun_at, m.key_id,
      case when m.key_id = k.id then (select max(e.at) from keywarden.rotation_event e
        where e.rotation_number = r.number and e.state = 'orphaned') end as lost_at
    from keywarden.rotation_mint m join keywarden.rotation r on r.number = m.rotation_number
      join keywarden.key o on o.number = r.key_number
      join keywarden.key_listing l on l.number = m.last_listing_number
      join keywarden.key k on k.control_plane_number = o.control_plane_number and k.scope = o.scope and k.gone_at is null
        and k.missing_since is null and (${hasMintName(sql)} and k.id is distinct from m.key_id
          or k.number = (select n.key_number from keywarden.minted_key n where n.rotation_number = m.rotation_number and n.attempt = m.attempt)
            and (m.outcome = 'lost' or r.ended_at < now() - interval '45 minutes' and (m.outcome is null or m.outcome = 'unclear'
              and (select e.state from keywarden.rotation_event e where e.rotation_number = r.number order by e.sequence desc offset 1 limit 1) = 'minted')))
    order by k.number`;
  const numbers = rows.map((row) => String(row.number));
  const keys = await db
    .select()
    .from(key)
    .where(and(anyOf(key.number, numbers), isNull(key.goneAt)));
  const byNumber = new Map(keys.map((row) => [row.number, row]));
  return rows.flatMap((row): SuspectedOrphan[] => {
    const found = byNumber.get(String(row.number));
    if (found === undefined) return [];
    return [
      {
        key: toKeyFacts(found),
        intent: {
          attempt: Number(row.attempt),
          name: String(row.name),
          creatorId: String(row.creator_id),
          listedAt: toInstant(String(row.listed_at)),
          begunAt: toInstant(String(row.begun_at)),
          keyId: row.key_id === null ? null : String(row.key_id),
        },
        rotation: {
          number: String(row.rotation_number),
          id: String(row.rotation_id),
          lineage: String(row.lineage_number),
        },
        lostAt: typeof row.lost_at === 'string' ? toInstant(row.lost_at) : null,
        isUnclear: row.is_unclear === true,
      },
    ];
  });
}
