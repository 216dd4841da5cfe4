import { compareInstants, secondOf, toMs } from '@keywarden/core/values';
import { unknownCreator } from '@keywarden/core/wire';
import { and, asc, desc, isNotNull, lte, max, sql as raw, type SQL } from 'drizzle-orm';
import { alias } from 'drizzle-orm/pg-core';
import { closeIncidents, openIncident } from '../../incidents/incidents.ts';
import { credential, keyListing } from '../../schema/keys.ts';
import { anyOf, builderOf, type Db, hasValues, noneOf, type Tx } from '../../sql.ts';
import { kindOf } from './changed-records.ts';
import { type KeyListing, scopeKeyOf } from './listing.ts';

/** Why absences in a listing prove nothing. */
export interface Suspicion {
  why: string;
  /** Whether the only reason is that most keys are suddenly absent. Other suspect listings are no evidence of a drop. */
  isSudden: boolean;
}

/**
 * Returns why a listing proves nothing, or null: it is stale, a part is missing, a row cannot be read, two rows contradict each other, or most keys are
 * suddenly absent. A sudden drop is suspect until listings a day apart show it. Keys that we revoked do not count as absent. The keys of the listing are
 * as received, possibly with repetitions.
 */
export async function findSuspicion(tx: Tx, listing: KeyListing, ids: string[]): Promise<Suspicion | null> {
  const { controlPlane, scope, listedAt, keys, stale = null, partial = null, unreadable = 0 } = listing;
  const because = (why: string) => ({ why, isSudden: false });
  if (stale !== null) return because(stale);
  if (partial !== null) return because(`not all of it was shown: ${partial}`);
  if (unreadable > 0)
    return because(`${unreadable} of its rows cannot be read; keywarden coverage --rejected names them`);
  const contradictory = findContradiction(listing);
  if (contradictory !== undefined) return because(`it shows key ${contradictory} twice, as different keys`);
  const db = builderOf(tx);
  const ofScope = { controlPlaneNumber: controlPlane, scope };
  const known = hasValues(credential, { ...ofScope, goneAt: null, missingSince: null });
  const lost = await db.$count(credential, and(known, noneOf(credential.id, ids)));
  if (lost === 0) return null;
  const [trusted] = await db
    .select({ at: keyListing.listedAt })
    .from(keyListing)
    .where(hasValues(keyListing, { ...ofScope, whySuspect: null }))
    .orderBy(desc(keyListing.listedAt))
    .limit(1);
  // Keys that only suspect listings have shown may be those of another list, too.
  const isKnown = trusted && lte(credential.presentSince, trusted.at);
  const kept = await db.$count(credential, and(known, isKnown, anyOf(credential.id, ids)));
  const added = countSince(keys, { after: trusted?.at ?? listedAt, until: listedAt });
  if (!isSuddenDrop({ lost, kept: kept + added, ids })) return null;
  const [sudden] = await db
    .select({ isOld: raw<boolean>`min(${keyListing.listedAt}) < ${listedAt}::timestamptz - interval '1 day'` })
    .from(keyListing)
    .where(and(isSuspectNow(db, listing), keyListing.isSudden));
  return sudden?.isOld === true
    ? null
    : { why: `${lost} of ${lost + kept} known keys are suddenly absent`, isSudden: true };
}

/** Returns an id that a listing shows twice with another creation time, creator or kind, as another key would have: docs/adr/0018. */
function findContradiction({ keys, organizationId }: KeyListing): string | undefined {
  const known = new Map<string, KeyListing['keys'][number]>();
  const contradictory = keys.find((each) => {
    const other = known.get(each.id);
    // A row without a creator does not say whose key it is.
    if (other === undefined || other.createdBy.id === unknownCreator) known.set(each.id, each);
    if (other === undefined) return false;
    const creators = new Set([other, each].map(({ createdBy }) => createdBy.id).filter((id) => id !== unknownCreator));
    return (
      creators.size > 1 ||
      secondOf(other.createdAt) !== secondOf(each.createdAt) ||
      kindOf(other, organizationId) !== kindOf(each, organizationId)
    );
  });
  return contradictory?.id;
}

/** Returns how many keys of a listing were created since a time: where keys live for hours, these are there in the place of the others. */
function countSince(keys: KeyListing['keys'], { after, until }: { after: string; until: string }): number {
  const since = keys.filter(({ createdAt: at }) => compareInstants(at, after) > 0 && compareInstants(at, until) <= 0);
  return new Set(since.map(({ id }) => id)).size;
}

/** Returns the condition that a listing is one of a scope's suspect ones since the last trusted one. */
function isSuspectNow(db: Db, { controlPlane, scope }: KeyListing): SQL | undefined {
  const trusted = alias(keyListing, 'trusted');
  const ofScope = { controlPlaneNumber: controlPlane, scope };
  const last = db
    .select({ number: max(trusted.number) })
    .from(trusted)
    .where(hasValues(trusted, { ...ofScope, whySuspect: null }));
  return and(
    hasValues(keyListing, ofScope),
    isNotNull(keyListing.whySuspect),
    raw`${keyListing.number} > coalesce((${last}), 0)`,
  );
}

/** How long listings may stay suspect before an incident is opened, in s of the control plane's time. */
const suspectForS = 86_400;

/** Opens an incident for a scope whose listings were all suspect for long: nothing governs it. A trusted listing closes it. */
export async function reportSuspect(tx: Tx, listing: KeyListing, why: string | null): Promise<void> {
  const { controlPlane, scope, listedAt } = listing;
  const db = builderOf(tx);
  const kind = 'listing_doubted';
  const place = scopeKeyOf(controlPlane, scope);
  if (why === null) {
    await closeIncidents(db, { kind, scopes: [place] }, { note: 'a listing was trusted again' });
    return;
  }
  const [first] = await db
    .select({ at: keyListing.listedAt })
    .from(keyListing)
    .where(isSuspectNow(db, listing))
    .orderBy(asc(keyListing.number))
    .limit(1);
  const since = first?.at ?? listedAt;
  if (toMs(listedAt) - toMs(since) > suspectForS * 1000)
    await openIncident(db, { kind, scope: place, detail: { why, since } });
}

/** Fewer absent rows than this make no list suspect. */
const leastSuddenDrop = 4;

/**
 * Returns whether a list lacks so much of the last one that it proves no absence (A7). It is empty, lacks more known rows (`lost`) than it shows (`kept`), or
 * lacks any with a row count at which services cut lists off. Neither new rows count nor those that only suspect lists have shown, because they may be those of
 * another list; keys that were created since the last trusted listing do. `ids` are the ids of its rows as received, possibly with repetitions.
 */
export function isSuddenDrop({ lost, kept, ids }: { lost: number; kept: number; ids: readonly string[] }): boolean {
  const there = new Set(ids).size;
  if (lost > 0 && (there === 0 || isCutOff(there) || isCutOff(ids.length))) return true;
  return lost >= leastSuddenDrop && kept < lost;
}

/** Returns whether a row count looks like a page limit. Largest pages are 100, 200, 250, 400, 500, 1000 and similar numbers. */
export const isCutOff = (count: number) => count >= 100 && count % 50 === 0;
