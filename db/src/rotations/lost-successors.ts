import { isSuccessorName, mintIn, rotationIdIn } from '@keywarden/core/rotation';
import { compareInstants } from '@keywarden/core/values';
import { and, asc, eq, isNull, like, type SQL } from 'drizzle-orm';
import { scopeKeyOf } from '../keys/listings/listing.ts';
import { key } from '../schema/keys.ts';
import { rotationMint, rotation as rotationTable } from '../schema/rotations.ts';
import { anyOf, type Db, hasValues } from '../sql.ts';

/**
 * Lists the live keys with the names of successors whose mint the store does not have, by scope: an older store lacks it, or another store has it. Those
 * of one scope are oldest first.
 */
export async function listLostSuccessors(db: Db): Promise<{ id: string; name: string; scope: string }[]> {
  return await readLost(db, isNull(key.missingSince));
}

/**
 * Lists those that may be successors of a key: they have its kind and place and the name of its successors, and are not older. One that a single listing
 * lacks may be live.
 */
export async function listLostSuccessorsOf(
  db: Db,
  keyNumber: string,
): Promise<{ number: string; scopeKey: string; rotation: string }[]> {
  const [of] = await db.select().from(key).where(eq(key.number, keyNumber));
  if (of === undefined) return [];
  const { controlPlaneNumber, scope, kind } = of;
  const place = hasValues(key, { controlPlaneNumber, scope, kind, projectId: of.projectId });
  const lost = await readLost(
    db,
    place,
    ({ number, name, createdAt }) =>
      number !== of.number && isSuccessorName(name, of.name) && compareInstants(createdAt, of.createdAt) >= 0,
  );
  return lost.map(({ number, rotation }) => ({ number, rotation, scopeKey: scopeKeyOf(controlPlaneNumber, scope) }));
}

type Named = Pick<typeof key.$inferSelect, 'number' | 'name' | 'createdAt'>;

/** In a scope in which each key was rotated, almost all have such a name: `isWanted` leaves few whose mints are read. */
async function readLost(db: Db, which: SQL | undefined, isWanted: (named: Named) => boolean = () => true) {
  const { number, id, name, scope, createdAt } = key;
  const all = await db
    .select({ number, id, name, scope, createdAt })
    .from(key)
    .where(and(like(name, '%kw-%'), isNull(key.goneAt), which))
    .orderBy(asc(scope), asc(createdAt));
  const named = all.filter(isWanted);
  const rotations = named.flatMap((each) => rotationIdIn(each.name) ?? []);
  const { rotationNumber, attempt } = rotationMint;
  const mints = await db
    .select({ id: rotationTable.id, attempt })
    .from(rotationMint)
    .innerJoin(rotationTable, eq(rotationTable.number, rotationNumber))
    .where(anyOf(rotationTable.id, rotations));
  const known = new Set(mints.map((mint) => `${mint.id}-${mint.attempt}`));
  return named.flatMap((each) => {
    const rotation = rotationIdIn(each.name);
    return rotation === null || known.has(String(mintIn(each.name))) ? [] : [{ ...each, rotation }];
  });
}
