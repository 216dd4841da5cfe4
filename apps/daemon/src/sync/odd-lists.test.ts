import {
  claims,
  idsOf,
  instant,
  type Lister,
  listOf,
  pagesOf,
  type ReadPage,
  rowsAt,
  unprovedOf,
  unreadableIn,
  walkOf,
} from '@keywarden/testkit/daemon/walk-fixture';
import { expect, test } from 'vitest';
import { type WalkedPage, walkOperations } from './walk/walk.ts';
import type { WalkedClient } from './walk/whole-page.ts';

/** Returns the same list, but changes the first response to each request. */
function oddOnce(client: Lister, change: (page: ReadPage) => ReadPage) {
  const seen = new Set<string>();
  return {
    async operationsPage(...[projectId, asked]: Parameters<WalkedClient['operationsPage']>): Promise<ReadPage> {
      const page = await client.operationsPage(projectId, asked);
      const request = `${asked?.limit} ${asked?.cursor}`;
      return seen.has(request) ? page : (seen.add(request), change(page));
    },
  };
}

test.each<[string, (page: ReadPage) => ReadPage]>([
  [
    'an empty page with a cursor comes first',
    (page) => ({ ...page, items: [], cursor: page.items[0] ? aboveOf(page) : null }),
  ],
  [
    'a row is missing from it',
    (page) => (page.cursor === null ? page : { ...page, items: page.items.toSpliced(400, 1) }),
  ],
  ['rows come twice', (page) => ({ ...page, items: page.items.flatMap((row) => [row, row]) })],
])('A2: a page where %s loses no operation', async (_what, change) => {
  const rows = rowsAt(Array.from({ length: 2500 }, (_, index) => index));
  expect(
    idsOf(
      await pagesOf(
        oddOnce(
          listOf(() => rows),
          change,
        ),
      ),
    ).size,
  ).toBe(2500);
});

/** Returns a cursor above all rows of a page. */
const aboveOf = ({ items: [first] }: ReadPage) => new Date(Date.parse(first?.createdAt ?? '') + 1).toISOString();

const someTwice = (items: ReadPage['items']) => items.flatMap((row, index) => (index % 3 === 0 ? [row, row] : [row]));

test.each([
  ['100 rows', 100, (items: ReadPage['items']) => items],
  ['100 rows, some of them twice', 100, someTwice],
  ['77 rows, some of them twice', 77, someTwice],
])('A2: a service that cuts lists off at %s, and reports that as the end, loses nothing', async (_how, most, shown) => {
  const rows = rowsAt(Array.from({ length: 950 }, (_, index) => index));
  const whole = listOf(() => rows);
  const capped: Lister = {
    async operationsPage(projectId, asked) {
      const page: ReadPage = await whole.operationsPage(projectId, asked);
      const items = shown(page.items);
      return items.length > most ? { ...page, items: items.slice(0, most), cursor: null } : page;
    },
  };
  expect(idsOf(await pagesOf(capped)).size).toBe(950);
});

test.each([
  ['a full page', 3000, 1000],
  ['a short page', 2500, 1000],
  ['a page as large as the others', 250, 250],
])(
  'A2: a list whose empty last page repeats its cursor, below %s, is read and proved to its end',
  async (_below, count, size) => {
    // The last second has several rows.
    const rows = rowsAt(Array.from({ length: count }, (_, index) => Math.min(index, count - 3)));
    const list = listOf(() => rows, { size, everyPage: true });
    const read = async (change: (page: ReadPage, cursor: string | undefined) => ReadPage) => {
      let requests = 0;
      const counted: Lister = {
        async operationsPage(projectId, asked) {
          requests += 1;
          return change(await list.operationsPage(projectId, asked), asked?.cursor);
        },
      };
      const pages = await pagesOf(counted);
      expect(idsOf(pages).size).toBe(count);
      expect(unprovedOf(pages)).toEqual([]);
      for (const second of [count - 4, count - 3, count - 2, count + 100])
        expect(claims(pages, instant(second))).toBe(true);
      return requests;
    };
    const usual = await read((page) => page);
    const repeating = await read((page, cursor) =>
      page.items.length === 0 ? { ...page, cursor: cursor ?? null } : page,
    );
    expect(repeating - usual).toBeLessThanOrEqual(2);
  },
);

test.each<[string, (page: ReadPage) => ReadPage]>([
  ['an empty page with a cursor', (page) => ({ ...page, items: [] })],
  ['a row without a cursor', (page) => ({ ...page, cursor: null })],
])('A2: a short page with a cursor does not end its list if the next request gets %s', async (_what, change) => {
  const rows = rowsAt(Array.from({ length: 250 }, (_, index) => index));
  const list = listOf(() => rows, { size: 100, everyPage: true });
  const cut: Lister = {
    async operationsPage(projectId, asked) {
      const page: ReadPage = await list.operationsPage(projectId, asked);
      if (asked?.limit === 1) return change(page);
      const last = page.items.findIndex(({ id }) => id === '139');
      const isCut = last >= 0 && last + 1 < page.items.length;
      return isCut
        ? { ...page, items: page.items.slice(0, last + 1), cursor: page.items[last]?.createdAt ?? '' }
        : page;
    },
  };
  expect(idsOf(await pagesOf(cut)).size).toBe(250);
});

test('A2: an id that one page shows with two times is two operations, as in the store', async () => {
  const rows = rowsAt([0, 1, 2, 3, 4]).map((row, index) => (index === 3 ? { ...row, id: '1' } : row));
  const pages = await pagesOf(listOf(() => rows));
  expect(pages.flatMap(({ operations }) => operations.map(({ id, createdAt }) => [id, createdAt]))).toEqual(
    rows.map(({ id, createdAt }) => [id, createdAt]),
  );
});

test('A2: a service of small pages that adds a row before each request is read completely, and holds what is claimed', async () => {
  const rows = rowsAt(Array.from({ length: 95 }, (_, index) => index));
  const before = [...rows];
  let added = 0;
  const change = () => {
    added += 1;
    rows.unshift({ id: `new ${added}`, createdAt: instant(-1 - added) });
  };
  const pages = await pagesOf(listOf(() => rows, { size: 10, everyPage: true, change }));
  const seen = idsOf(pages);
  expect(before.filter(({ id }) => !seen.has(id))).toEqual([]);
  expect(before.filter(({ createdAt }) => claims(pages, createdAt)).length).toBeGreaterThan(80);
});

test.each<[string, (odd: Set<string>, rows: ReturnType<typeof rowsAt>) => void]>([
  ['becomes readable', (odd) => odd.clear()],
  ['gets a late neighbour', (_odd, rows) => void rows.splice(9, 0, { id: 'late', createdAt: instant(8.5) })],
])(
  'A2: a walk goes on, and claims only what it has, if an unreadable row %s before the next request',
  async (_what, change) => {
    const rows = rowsAt(Array.from({ length: 35 }, (_, index) => index));
    // The second request is the end of the shorter page, and the third is the page below.
    for (const at of [2, 3]) {
      const odd = new Set(['8']);
      const shown = [...rows];
      let asked = 0;
      const list = listOf(() => shown, {
        change: () => {
          asked += 1;
          if (asked === at) change(odd, shown);
        },
      });
      const pages: WalkedPage[] = [];
      const walk = walkOf({ firstLimit: 10, maxLimit: 10 });
      for await (const page of walkOperations(unreadableIn(list, odd), walk)) pages.push(page);
      const seen = idsOf(pages);
      expect(shown.filter(({ id, createdAt }) => !seen.has(id) && claims(pages, createdAt))).toEqual([]);
      expect(rows.filter(({ id }) => !seen.has(id) && !odd.has(id))).toEqual([]);
      expect(rows.filter(({ createdAt }) => claims(pages, createdAt)).length).toBeGreaterThan(9);
    }
  },
);
