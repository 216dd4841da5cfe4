import { compareInstants } from '@keywarden/core/values';
import { sized } from '@keywarden/testkit';
import {
  claims,
  idsOf,
  instant,
  type Lister,
  listOf,
  pagesOf,
  type ReadPage,
  type Row,
  rowsAt,
  shownWith,
  unprovedOf,
  unreadableIn,
  unsteadyEnds,
  walkOf,
} from '@keywarden/testkit/daemon/walk-fixture';
import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { type WalkedPage, walkOperations } from './walk.ts';

test('A2, a property: for any groups, limits and rows added meanwhile, what is claimed is stored, and the rest is reported', async () => {
  const groups = fc.array(fc.oneof(fc.integer({ min: 1, max: 4 }), fc.integer({ min: 1, max: 700 })), {
    maxLength: 12,
  });
  const setting = {
    groups,
    maxLimit: fc.integer({ min: 2, max: 1000 }),
    firstLimit: fc.integer({ min: 2, max: 1000 }),
    arrivals: fc.integer({ min: 0, max: 5 }),
  };
  await fc.assert(
    fc.asyncProperty(fc.record(setting), async ({ groups: sizes, maxLimit, firstLimit, arrivals }) => {
      const rows = rowsAt(sizes.flatMap((size, second) => Array.from({ length: size }, () => second)));
      let added = 0;
      const change = () => {
        for (let index = 0; index < arrivals; index += 1) {
          added += 1;
          rows.unshift({ id: `new ${added}`, createdAt: instant(-1 - added) });
        }
      };
      const client = listOf(() => rows, { change });
      const before = [...rows];
      const pages = await pagesOf(client, walkOf({ maxLimit, firstLimit: Math.min(firstLimit, maxLimit) }));
      const seen = idsOf(pages);
      const lost = before.filter(({ id, createdAt }) => !seen.has(id) && claims(pages, createdAt));
      // Times of whole seconds act like truncated ones: after an unproved instant, the bound of the next one may be unproved, too.
      const named = new Set(unprovedOf(pages));
      const unknown = sizes.flatMap((_, second) =>
        claims(pages, instant(second)) || named.has(instant(second + 1)) ? [] : [instant(second)],
      );
      expect(lost).toEqual([]);
      expect(unknown.filter((at) => !named.has(at))).toEqual([]);
    }),
    { numRuns: sized(300) },
  );
});

test('A2, a property: for any list endings, page sizes and time digits, all is read and claimed, except what one page cannot show', async () => {
  const setting = {
    // Instants in microseconds, so that several share a second, and rows of each.
    groups: fc.array(
      fc.tuple(fc.integer({ min: 1, max: 900_000 }), fc.oneof(fc.constant(1), fc.integer({ min: 1, max: 5 }))),
      {
        maxLength: 30,
      },
    ),
    size: fc.oneof(fc.constant(1000), fc.integer({ min: 1, max: 40 })),
    limit: fc.integer({ min: 2, max: 40 }),
    everyPage: fc.boolean(),
    digits: fc.constantFrom(0 as const, 6 as const),
    largestPage: fc.constantFrom(0, 1),
    unreadable: fc.array(fc.nat(60), { maxLength: 3 }),
    unsteady: fc.boolean(),
  };
  let [claimed, all] = [0, 0];
  await fc.assert(
    fc.asyncProperty(
      fc.record(setting),
      async ({ groups, size, limit, everyPage, digits, largestPage, unreadable, unsteady }) => {
        let micros = 0;
        const rows = groups.flatMap(([apart, bearers], group) => {
          micros += apart;
          const at = new Date(Date.UTC(2026, 0, 1) - Math.ceil(micros / 1000)).toISOString();
          const createdAt = at.replace('Z', `${String(999 - (micros % 1000)).padStart(3, '0')}Z`);
          return Array.from({ length: bearers }, (_, index) => ({ id: `${group} ${index}`, createdAt }));
        });
        const sorted = rows.toSorted((a, b) => compareInstants(b.createdAt, a.createdAt));
        const seenBefore = largestPage === 0 ? 0 : Math.min(size, 40);
        const seen = { largestPage: seenBefore };
        const client = listOf(() => sorted, { size, everyPage, digits });
        const odd = new Set(unreadable.flatMap((index) => sorted[index]?.id ?? []));
        const pages: WalkedPage[] = [];
        const walk = walkOf({ maxLimit: limit, firstLimit: limit, seen });
        const steady = unreadableIn(client, odd);
        for await (const page of walkOperations(unsteady ? unsteadyEnds(steady) : steady, walk)) pages.push(page);
        const ids = idsOf(pages);
        const shown = (at: string) => shownWith(digits, at);
        const lost = sorted.filter(({ id, createdAt }) => !ids.has(id) && claims(pages, shown(createdAt)));
        const largest = Math.max(0, ...groups.map(([, bearers]) => bearers));
        // A page that can show more than the rows of any instant leaves nothing out. If one instant might fill it, another page must be
        // larger.
        const isWhole =
          odd.size === 0 &&
          largest < Math.min(size, limit) &&
          (groups.length > 1 || !everyPage || largest < seenBefore);
        const leftOut = isWhole ? [rows.length - ids.size, ...unprovedOf(pages)] : [0];
        expect([lost, leftOut]).toEqual([[], [0]]);
        claimed += sorted.filter(({ createdAt }) => claims(pages, shown(createdAt))).length;
        all += rows.length;
      },
    ),
    { numRuns: sized(500) },
  );
  expect(claimed).toBeGreaterThan(all / 5);
});

test('A2, a property: rows that cannot be read are never claimed, and the others are read', async () => {
  const setting = {
    sizes: fc.array(fc.integer({ min: 1, max: 5 }), { minLength: 1, maxLength: 40 }),
    unreadable: fc.array(fc.nat(200), { maxLength: 12 }),
    limit: fc.integer({ min: 6, max: 40 }),
    hasOpaqueCursors: fc.boolean(),
  };
  let claimed = 0;
  await fc.assert(
    fc.asyncProperty(fc.record(setting), async ({ sizes, unreadable, limit, hasOpaqueCursors }) => {
      const rows = rowsAt(sizes.flatMap((size, second) => Array.from({ length: size }, () => second)));
      const odd = new Set(unreadable.map(String));
      const client = unreadableIn(hasOpaqueCursors ? withOpaqueCursors(listOf(() => rows)) : listOf(() => rows), odd);
      const pages: WalkedPage[] = [];
      for await (const page of walkOperations(client, walkOf({ maxLimit: limit, firstLimit: limit }))) pages.push(page);
      const seen = idsOf(pages);
      const claimedOdd = rows.filter(({ id, createdAt }) => odd.has(id) && claims(pages, createdAt));
      const lost = rows.filter(({ id, createdAt }) => !seen.has(id) && claims(pages, createdAt));
      expect([claimedOdd, lost]).toEqual([[], []]);
      // Between two readable rows, its neighbours tell where an unreadable one is.
      const readable = rows.findLastIndex(({ id }) => !odd.has(id));
      const placed = new Set(pages.flatMap(({ unread: found }) => found.filter(isAround(rows)).map(({ id }) => id)));
      const unplaced = rows.filter(
        ({ id, createdAt }, index) =>
          odd.has(id) && index < readable && !placed.has(id) && !unprovedOf(pages).includes(createdAt),
      );
      expect(unplaced).toEqual([]);
      const unread = rows.filter(({ id }) => !odd.has(id) && !seen.has(id));
      expect(unread.filter(({ createdAt }) => !unprovedOf(pages).includes(createdAt))).toEqual([]);
      claimed += rows.filter(({ createdAt }) => claims(pages, createdAt)).length;
    }),
    { numRuns: sized(300) },
  );
  expect(claimed).toBeGreaterThan(0);
});

/** Returns whether an unreadable row is between the times of its neighbours. */
const isAround =
  (rows: Row[]) =>
  ({ id, from, to }: WalkedPage['unread'][number]) =>
    rows.some(
      (row) => row.id === id && compareInstants(row.createdAt, from) >= 0 && compareInstants(row.createdAt, to) <= 0,
    );

/** Returns the same list with cursors that are not times. */
function withOpaqueCursors({ operationsPage }: Lister): Lister {
  return {
    async operationsPage(projectId, asked) {
      const { cursor, ...page }: ReadPage = await operationsPage(projectId, {
        ...asked,
        cursor: asked?.cursor?.replace('page ', ''),
      });
      return { ...page, cursor: cursor === null ? null : `page ${cursor}` };
    },
  };
}
