import { toMs } from '@keywarden/core/values';
import type postgres from 'postgres';
import { closeIncidentsOfScope, openIncident } from '../incidents/incidents.ts';
import { toInstant } from '../schema/columns.ts';
import { builderOf } from '../sql.ts';
import { factScope, type KeyListing } from './key-listing.ts';

type Tx = postgres.TransactionSql;

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
  const [row] = await tx`
    select count(*)::int as expected, (
      select min(listed_at) < ${listedAt}::timestamptz - interval '1 day' from keywarden.key_listing l
      where l.control_plane_number = ${controlPlane} and l.scope = ${scope} and l.why_suspect is not null and l.why_suspect not like ${`%${staleWords}%`}
        and l.why_suspect not like ${`%${unreadableWords}%`} and l.why_suspect not like ${`%${partialWords}%`} and l.number > coalesce((
        select max(number) from keywarden.key_listing b
        where b.control_plane_number = ${controlPlane} and b.scope = ${scope} and b.why_suspect is null), 0)
    ) as is_old
    from keywarden.credential where control_plane_number = ${controlPlane} and scope = ${scope} and gone_at is null and missing_since is null`;
  const expected = Number(row?.expected);
  const isSudden = isSuddenDrop({ known: expected, ids });
  return isSudden && !row?.is_old ? `${keys.length} keys where ${expected} were expected` : null;
}

/** How long listings may stay suspect before an incident is opened, in s of the control plane's time. */
const suspectForS = 86_400;

/**
 * Opens an incident for a scope whose listings have all been suspect for long, because nothing governs the scope until then. Closes it once
 * a listing is trusted.
 */
export async function reportSuspect(
  tx: Tx,
  { controlPlane, scope, listedAt }: KeyListing,
  whySuspect: string | null,
): Promise<void> {
  const incident = { kind: 'listing_doubted', scope: factScope(controlPlane, scope) } as const;
  if (whySuspect === null)
    return await closeIncidentsOfScope(builderOf(tx), { ...incident, note: 'a listing was trusted again' });
  const [row] = await tx`
    select l.listed_at from keywarden.key_listing l
    where l.control_plane_number = ${controlPlane} and l.scope = ${scope} and l.why_suspect is not null and l.number > coalesce((
      select max(number) from keywarden.key_listing b
      where b.control_plane_number = ${controlPlane} and b.scope = ${scope} and b.why_suspect is null), 0)
    order by l.number limit 1`;
  const since = row === undefined ? listedAt : toInstant(String(row.listed_at));
  if (toMs(listedAt) - toMs(since) > suspectForS * 1000)
    await openIncident(builderOf(tx), { ...incident, detail: { why: whySuspect, since } });
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
