import { toMs } from '@keywarden/core/values';
import { and, asc, eq, isNotNull, isNull, max, notLike, sql as raw, type SQL } from 'drizzle-orm';
import { alias } from 'drizzle-orm/pg-core';
import { closeIncidentsOfScope, openIncident } from '../incidents/incidents.ts';
import { credential, keyListing } from '../schema/keys.ts';
import { builderOf, type Db, type Tx } from '../sql.ts';
import { factScope, type KeyListing } from './key-listing.ts';

/** The words in every reason for a stale listing. Stale listings are not evidence of a drop either. */
export const staleWords = 'a cache between answered';

/** The words that mark every listing with unreadable rows as suspect. */
const unreadableWords = 'cannot be read';

/** The words that mark every incomplete listing as suspect. */
const partialWords = 'not all of it was shown';

const describePartial = ({ partial = null }: KeyListing): string | null =>
  partial === null ? null : `${partialWords}: ${partial}`;

const describeUnreadable = ({ unreadable = 0 }: KeyListing): string | null =>
  unreadable === 0 ? null : `${unreadable} of its rows ${unreadableWords}; keywarden coverage --rejected names them`;

/**
 * Returns why absences in a listing prove nothing, or null: a part is missing, a row cannot be read, or the listing is suddenly shorter. A
 * sudden drop is suspect until listings a day apart show it. Keys that we revoked do not count as absent.
 */
export async function findSuspicion(tx: Tx, listing: KeyListing, ids: string[]): Promise<string | null> {
  const { controlPlane, scope, listedAt, keys } = listing;
  const known = describePartial(listing) ?? describeUnreadable(listing);
  if (known !== null) return known;
  const db = builderOf(tx);
  const { controlPlaneNumber, scope: ofScope, goneAt, missingSince } = credential;
  const isHere = and(isNull(goneAt), isNull(missingSince));
  const expected = await db.$count(credential, and(eq(controlPlaneNumber, controlPlane), eq(ofScope, scope), isHere));
  if (!isSuddenDrop({ known: expected, ids })) return null;
  const others = [staleWords, unreadableWords, partialWords].map((words) => notLike(whySuspect, `%${words}%`));
  const [sudden] = await db
    .select({ isOld: raw<boolean>`min(${keyListing.listedAt}) < ${listedAt}::timestamptz - interval '1 day'` })
    .from(keyListing)
    .where(and(isSuspectNow(db, listing), ...others));
  return sudden?.isOld === true ? null : `${keys.length} keys where ${expected} were expected`;
}

const { whySuspect } = keyListing;

/** Returns the condition that a listing is one of a scope's suspect ones since the last trusted one. */
function isSuspectNow(db: Db, { controlPlane, scope }: KeyListing): SQL | undefined {
  const trusted = alias(keyListing, 'trusted');
  const last = db
    .select({ number: max(trusted.number) })
    .from(trusted)
    .where(and(eq(trusted.controlPlaneNumber, controlPlane), eq(trusted.scope, scope), isNull(trusted.whySuspect)));
  return and(
    eq(keyListing.controlPlaneNumber, controlPlane),
    eq(keyListing.scope, scope),
    isNotNull(whySuspect),
    raw`${keyListing.number} > coalesce((${last}), 0)`,
  );
}

/** How long listings may stay suspect before an incident is opened, in s of the control plane's time. */
const suspectForS = 86_400;

/**
 * Opens an incident for a scope whose listings have all been suspect for long, because nothing governs the scope until then. Closes it once
 * a listing is trusted.
 */
export async function reportSuspect(tx: Tx, listing: KeyListing, why: string | null): Promise<void> {
  const { controlPlane, scope, listedAt } = listing;
  const incident = { kind: 'listing_doubted', scope: factScope(controlPlane, scope) } as const;
  if (why === null)
    return await closeIncidentsOfScope(builderOf(tx), { ...incident, note: 'a listing was trusted again' });
  const db = builderOf(tx);
  const [first] = await db
    .select({ at: keyListing.listedAt })
    .from(keyListing)
    .where(isSuspectNow(db, listing))
    .orderBy(asc(keyListing.number))
    .limit(1);
  const since = first?.at ?? listedAt;
  if (toMs(listedAt) - toMs(since) > suspectForS * 1000)
    await openIncident(db, { ...incident, detail: { why, since } });
}

/** A drop of fewer rows than this between two lists makes no list suspect. */
const leastSuddenDrop = 4;

/**
 * Returns whether a list is so much shorter than the last one that it proves no absence (A7). It is empty, less than half as long, or
 * shorter with a row count at which services cut lists off. `ids` are the ids of its rows as received, possibly with repetitions.
 */
export function isSuddenDrop({ known, ids }: { known: number; ids: readonly string[] }): boolean {
  const there = new Set(ids).size;
  if (there === 0) return known > 0;
  const dropped = known - there;
  if (dropped > 0 && (isCutOff(there) || isCutOff(ids.length))) return true;
  return dropped >= leastSuddenDrop && there * 2 < known;
}

/**
 * Returns whether a row count looks like a page limit. Largest pages are 100, 200, 250, 400, 500, 1000 and similar numbers.
 */
export const isCutOff = (count: number) => count >= 100 && count % 50 === 0;
