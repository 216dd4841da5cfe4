import {
  and,
  asc,
  count,
  desc,
  eq,
  getTableColumns,
  isNotNull,
  isNull,
  min,
  ne,
  or,
  sql as raw,
  type SQL,
} from 'drizzle-orm';
import { scopeKeyOf } from '../keys/listings/listing.ts';
import { toInstant } from '../schema/columns.ts';
import { controlPlane } from '../schema/connections.ts';
import { incident } from '../schema/incidents.ts';
import { key, keyListing } from '../schema/keys.ts';
import { rotation, rotationEvent, rotationMint } from '../schema/rotations.ts';
import { keyOwnerNow, mintedKey } from '../schema/views.ts';
import { anyOf, type Db, hasValues, type Sql } from '../sql.ts';
import type { StoredMint, StoredRotation } from './rotations.ts';

/** Lists open rotations, the oldest first. */
export async function listOpenRotations(db: Db): Promise<StoredRotation[]> {
  return await readRotations(db, { where: isNull(rotation.endedAt), orderBy: [asc(rotation.number)] });
}

/** Lists all rotations, the open ones first, then the newest; at most `limit`. */
export async function listRotations(db: Db, limit: number): Promise<StoredRotation[]> {
  const { number, endedAt } = rotation;
  const turn = raw`case when ${endedAt} is null then ${number} else -${number} end`;
  return await readRotations(db, { orderBy: [asc(isNotNull(endedAt)), turn], limit });
}

/** Returns one rotation by its number. */
export async function readRotation(db: Db, number: string): Promise<StoredRotation | undefined> {
  const [found] = await readRotations(db, { where: eq(rotation.number, number), orderBy: [asc(rotation.number)] });
  return found;
}

const inMs = (interval: typeof rotation.quietFor | typeof rotation.adoptWithin) =>
  raw<number>`(extract(epoch from ${interval}) * 1000)::float8`;

async function readRotations(
  db: Db,
  { where, orderBy, limit = 1_000_000 }: { where?: SQL; orderBy: SQL[]; limit?: number },
): Promise<StoredRotation[]> {
  const { number, id, rule, sink, via, requestedBy, policySha256, openedAt, lineageNumber, quietFor, adoptWithin } =
    rotation;
  const { state, at: since, why, sequence } = rotationEvent;
  const last = db
    .select({ state, since, why, sequence })
    .from(rotationEvent)
    .where(eq(rotationEvent.rotationNumber, number))
    .orderBy(desc(sequence))
    .limit(1)
    .as('last');
  const rows = await db
    .select({
      rotation: { number, id, rule, sink, via, requestedBy, policySha256, openedAt, lineage: lineageNumber },
      last: { state: last.state, since: last.since, why: last.why, sequence: last.sequence },
      times: { quietForMs: inMs(quietFor), adoptWithinMs: inMs(adoptWithin) },
      key: {
        number: key.number,
        id: key.id,
        name: key.name,
        kind: key.kind,
        controlPlane: key.controlPlaneNumber,
        scope: key.scope,
        organizationId: key.organizationId,
        projectId: key.projectId,
      },
    })
    .from(rotation)
    .innerJoin(key, eq(key.number, rotation.keyNumber))
    .crossJoinLateral(last)
    .where(where)
    .orderBy(...orderBy)
    .limit(limit);
  const numbers = rows.map((row) => row.rotation.number);
  const mints = await readMints(db, numbers);
  return rows.map((row) => ({
    ...row.rotation,
    ...row.last,
    ...row.times,
    mints: mints.get(row.rotation.number) ?? [],
    key: { ...row.key, scopeKey: scopeKeyOf(row.key.controlPlane, row.key.scope) },
  }));
}

async function readMints(db: Db, numbers: string[]): Promise<Map<string, StoredMint[]>> {
  const { rotationNumber, lastListingNumber, ...mint } = getTableColumns(rotationMint);
  const rows = await db
    .select({ rotationNumber, mint: { ...mint, listing: lastListingNumber }, listedAt: keyListing.listedAt })
    .from(rotationMint)
    .innerJoin(keyListing, eq(keyListing.number, lastListingNumber))
    .where(anyOf(rotationNumber, numbers))
    .orderBy(asc(rotationNumber), asc(mint.attempt));
  const groups = Map.groupBy(rows, (row) => row.rotationNumber);
  return new Map(
    [...groups].map(([number, group]) => [number, group.map(({ mint, listedAt }) => ({ ...mint, listedAt }))]),
  );
}

/** Returns whether an orphan of a key's lineage waits for a person. */
export async function hasOpenOrphan(db: Db, keyNumber: string): Promise<boolean> {
  const rows = await db
    .select({ number: incident.number })
    .from(incident)
    .innerJoin(rotation, raw`${rotation.id} = ${incident.detail} ->> 'rotation'`)
    .innerJoin(keyOwnerNow, eq(keyOwnerNow.lineageNumber, rotation.lineageNumber))
    .where(and(hasValues(incident, { kind: 'orphan', closedAt: null }), eq(keyOwnerNow.keyNumber, keyNumber)))
    .limit(1);
  return rows.length > 0;
}

/** Returns how each key's last failed rotation ended, by the key's number. */
export async function readFailures(sql: Sql): Promise<Map<string, { at: string; givenUpBy: string | null }>> {
  const rows = await sql`
    select distinct on (r.key_number) r.key_number, e.at, r.given_up_by, e.state
    from keywarden.rotation r cross join lateral (
      select at, state from keywarden.rotation_event where rotation_number = r.number order by sequence desc limit 1) e
    where r.ended_at is not null order by r.key_number, r.number desc`;
  return new Map(
    rows
      .filter((row) => row.state === 'failed')
      .map((row) => [
        String(row.key_number),
        { at: toInstant(String(row.at)), givenUpBy: row.given_up_by === null ? null : String(row.given_up_by) },
      ]),
  );
}

/** Returns the id and the name of a lineage's first key. */
export async function readFirstKey(
  db: Db,
  lineage: string,
): Promise<{ id: string; name: string; controlPlane: string }> {
  const [row] = await db
    .select({ id: key.id, name: key.name, controlPlane: controlPlane.baseUrl })
    .from(key)
    .innerJoin(controlPlane, eq(controlPlane.number, key.controlPlaneNumber))
    .where(eq(key.number, lineage));
  if (row === undefined) throw new Error(`there is no key ${lineage}`);
  return row;
}

/** Returns whether a file already holds another lineage's key. Two keys in one sinkPath would lose the first. */
export async function isSinkPathTaken(
  db: Db,
  { sinkPath, lineage }: { sinkPath: string; lineage: string },
): Promise<boolean> {
  const { rotationNumber, attempt, outcome } = rotationMint;
  const rows = await db
    .select({ rotationNumber })
    .from(rotationMint)
    .innerJoin(rotation, eq(rotation.number, rotationNumber))
    .leftJoin(mintedKey, hasValues(mintedKey, { rotationNumber, attempt }))
    .leftJoin(key, eq(key.number, mintedKey.keyNumber))
    .where(
      and(
        eq(rotationMint.sinkPath, sinkPath),
        raw`${outcome} is distinct from 'lost'`,
        ne(rotation.lineageNumber, lineage),
        isNull(key.goneAt),
      ),
    )
    .limit(1);
  return rows.length > 0;
}

/** Returns whether an earlier mint in the scope of a rotation got this id. */
export async function isMinted(db: Db, { key: { controlPlane, scope } }: StoredRotation, id: string): Promise<boolean> {
  const rows = await db
    .select({ attempt: rotationMint.attempt })
    .from(rotationMint)
    .innerJoin(rotation, eq(rotation.number, rotationMint.rotationNumber))
    .innerJoin(key, eq(key.number, rotation.keyNumber))
    .where(and(eq(rotationMint.keyId, id), hasValues(key, { controlPlaneNumber: controlPlane, scope })))
    .limit(1);
  return rows.length > 0;
}

/** Counts the open rotations that wait for a person to decide whether a sink has their secret. */
export async function countUnclear(db: Db, sink: string): Promise<number> {
  const [row] = await db
    .select({ n: count() })
    .from(rotation)
    .innerJoin(rotationMint, eq(rotationMint.rotationNumber, rotation.number))
    .where(and(hasValues(rotation, { sink, endedAt: null }), eq(rotationMint.outcome, 'unclear')));
  return row?.n ?? 0;
}

/** Returns when a rule's first automatic rotation into its sink was delivered, by scope; null if it began and was not delivered. */
export async function readCanaries(
  db: Db,
  { rule, sink }: { rule: string; sink: string },
): Promise<Map<string, string | null>> {
  const { controlPlaneNumber, scope } = key;
  const delivered = hasValues(rotationMint, { rotationNumber: rotation.number, outcome: 'delivered' });
  const rows = await db
    .select({ controlPlaneNumber, scope, at: min(rotationMint.deliveredAt) })
    .from(rotation)
    .innerJoin(key, eq(key.number, rotation.keyNumber))
    .leftJoin(rotationMint, delivered)
    .where(
      and(
        hasValues(rotation, { rule, sink, via: 'policy' }),
        or(isNull(rotation.endedAt), isNotNull(rotationMint.deliveredAt)),
      ),
    )
    .groupBy(controlPlaneNumber, scope);
  return new Map(rows.map((row) => [scopeKeyOf(row.controlPlaneNumber, row.scope), row.at]));
}
