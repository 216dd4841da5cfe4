import { toMs } from '@keywarden/core/values';
import { and, asc, eq, isNotNull, isNull, max, sql as raw, type SQL } from 'drizzle-orm';
import { alias } from 'drizzle-orm/pg-core';
import { closeIncidentsOfScope, openIncident } from '../incidents/incidents.ts';
import { credential, keyListing } from '../schema/keys.ts';
import { builderOf, type Db, type Tx } from '../sql.ts';
import { type KeyListing, scopeKeyOf } from './key-listing.ts';

/** Why absences in a listing prove nothing. */
export interface Suspicion {
  why: string;
  /** Whether the only reason is that the listing is suddenly shorter. Other suspect listings are no evidence of a drop. */
  isSudden: boolean;
}

/**
 * Returns why absences in a listing prove nothing, or null: it is stale, a part is missing, a row cannot be read, or the listing is suddenly shorter. A
 * sudden drop is suspect until listings a day apart show it. Keys that we revoked do not count as absent.
 */
export async function findSuspicion(tx: Tx, listing: KeyListing, ids: string[]): Promise<Suspicion | null> {
  const { controlPlane, scope, listedAt, keys, stale = null, partial = null, unreadable = 0 } = listing;
  const because = (why: string) => ({ why, isSudden: false });
  if (stale !== null) return because(stale);
  if (partial !== null) return because(`not all of it was shown: ${partial}`);
  if (unreadable > 0)
    return because(`${unreadable} of its rows cannot be read; keywarden coverage --rejected names them`);
  const db = builderOf(tx);
  const { controlPlaneNumber, scope: ofScope, goneAt, missingSince } = credential;
  const isHere = and(isNull(goneAt), isNull(missingSince));
  const expected = await db.$count(credential, and(eq(controlPlaneNumber, controlPlane), eq(ofScope, scope), isHere));
  if (!isSuddenDrop({ known: expected, ids })) return null;
  const [sudden] = await db
    .select({ isOld: raw<boolean>`min(${keyListing.listedAt}) < ${listedAt}::timestamptz - interval '1 day'` })
    .from(keyListing)
    .where(and(isSuspectNow(db, listing), keyListing.isSudden));
  return sudden?.isOld === true ? null : { why: `${keys.length} keys where ${expected} were expected`, isSudden: true };
}

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
    isNotNull(keyListing.whySuspect),
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
  const incident = { kind: 'listing_doubted', scope: scopeKeyOf(controlPlane, scope) } as const;
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

/** Returns whether a row count looks like a page limit. Largest pages are 100, 200, 250, 400, 500, 1000 and similar numbers. */
export const isCutOff = (count: number) => count >= 100 && count % 50 === 0;
