import { expect, test } from 'vitest';
import { idsOf, type Lister, listOf, pagesOf, type ReadPage, rowsAt } from './walk-fixture.ts';
import type { WalkedClient } from './whole-page.ts';

/** The same list, whose first answer to each request is changed. */
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
])('A2: no operation is lost of a page where %s', async (_what, change) => {
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

/** A cursor above all rows of a page. */
const aboveOf = ({ items: [first] }: ReadPage) => new Date(Date.parse(first?.createdAt ?? '') + 1).toISOString();

test.each([
  ['', (items: ReadPage['items']) => items],
  [
    ', some of them twice',
    (items: ReadPage['items']) => items.flatMap((row, index) => (index % 3 === 0 ? [row, row] : [row])),
  ],
])(
  'A2: a service that ends lists at a hundred rows%s, and says that this is all, loses nothing',
  async (_how, shown) => {
    const rows = rowsAt(Array.from({ length: 950 }, (_, index) => index));
    const whole = listOf(() => rows);
    const capped: Lister = {
      async operationsPage(projectId, asked) {
        const page: ReadPage = await whole.operationsPage(projectId, asked);
        const items = shown(page.items);
        return items.length > 100 ? { ...page, items: items.slice(0, 100), cursor: null } : page;
      },
    };
    expect(idsOf(await pagesOf(capped)).size).toBe(950);
  },
);
