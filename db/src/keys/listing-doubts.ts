import { toMs } from '@keywarden/core/values';
import type postgres from 'postgres';
import { closeIncidentsOfScope, openIncident } from '../incidents/incidents.ts';
import { toInstant } from '../schema/columns.ts';
import { builderOf } from '../sql.ts';
import { factScope, type KeyListing } from './key-listing.ts';

type Tx = postgres.TransactionSql;

/** What every reason says for which an answer is stale: such listings are no evidence of a drop either. */
export const staleWords = 'a cache between answered';

/** What every doubt of a listing says whose rows cannot all be read. */
const unreadableWords = 'cannot be read';

/** Every doubt of an incomplete listing has these words. */
const partialWords = 'not all of it was shown';

const describePartial = ({ partial = null }: KeyListing): string | null =>
  partial === null ? null : `${partialWords}: ${partial}`;

const describeUnreadable = ({ unreadable = 0 }: KeyListing): string | null =>
  unreadable === 0 ? null : `${unreadable} of its rows ${unreadableWords}; keywarden coverage --rejected names them`;

/**
 * Why absences in a listing prove nothing, or null: a part of it is missing, a row cannot be read, or it is suddenly shorter, which is doubted until
 * listings a day apart show it. Keys that we revoked are not missed.
 */
export async function findDoubt(tx: Tx, listing: KeyListing, ids: string[]): Promise<string | null> {
  const { controlPlane, scope, listedAt, keys } = listing;
  const known = describePartial(listing) ?? describeUnreadable(listing);
  if (known !== null) return known;
  const [row] = await tx`
    select count(*)::int as expected, (
      select min(listed_at) < ${listedAt}::timestamptz - interval '1 day' from keywarden.key_listing l
      where l.control_plane_number = ${controlPlane} and l.scope = ${scope} and l.doubt is not null and l.doubt not like ${`%${staleWords}%`}
        and l.doubt not like ${`%${unreadableWords}%`} and l.doubt not like ${`%${partialWords}%`} and l.number > coalesce((
        select max(number) from keywarden.key_listing b
        where b.control_plane_number = ${controlPlane} and b.scope = ${scope} and b.doubt is null), 0)
    ) as is_old
    from keywarden.credential where control_plane_number = ${controlPlane} and scope = ${scope} and gone_at is null and missing_since is null`;
  const expected = Number(row?.expected);
  const isSudden = isSuddenDrop({ known: expected, ids });
  return isSudden && !row?.is_old ? `${keys.length} keys where ${expected} were expected` : null;
}

/** For so long doubts may come and go before a person hears of them, in s of the control plane's time. */
const doubtsLastS = 86_400;

/** A person hears of a scope of which no listing could be believed for long: until then it is governed by nobody. */
export async function reportDoubt(
  tx: Tx,
  { controlPlane, scope, listedAt }: KeyListing,
  doubt: string | null,
): Promise<void> {
  const incident = { kind: 'listing_doubted', scope: factScope(controlPlane, scope) } as const;
  if (doubt === null)
    return await closeIncidentsOfScope(builderOf(tx), { ...incident, note: 'a listing was believed' });
  const [row] = await tx`
    select l.listed_at from keywarden.key_listing l
    where l.control_plane_number = ${controlPlane} and l.scope = ${scope} and l.doubt is not null and l.number > coalesce((
      select max(number) from keywarden.key_listing b
      where b.control_plane_number = ${controlPlane} and b.scope = ${scope} and b.doubt is null), 0)
    order by l.number limit 1`;
  const since = row === undefined ? listedAt : toInstant(String(row.listed_at));
  if (toMs(listedAt) - toMs(since) > doubtsLastS * 1000)
    await openIncident(builderOf(tx), { ...incident, detail: { why: doubt, since } });
}

/** Fewer rows than this may go between two lists without a doubt. */
const leastSuddenDrop = 4;

/**
 * Whether a list is so much shorter than the last one that it proves no absence (A7): it is empty, less than half, or shorter and of a number at
 * which services cut lists off. `ids` are those of its rows as they came: some may come twice.
 */
export function isSuddenDrop({ known, ids }: { known: number; ids: readonly string[] }): boolean {
  const there = new Set(ids).size;
  if (there === 0) return known > 0;
  const dropped = known - there;
  if (dropped > 0 && (isCutOff(there) || isCutOff(ids.length))) return true;
  return dropped >= leastSuddenDrop && there * 2 < known;
}

/** Largest pages are 100, 200, 250, 400, 500, 1000 and their like. */
export const isCutOff = (count: number) => count >= 100 && count % 50 === 0;
