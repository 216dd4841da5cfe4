import {
  claims,
  idsOf,
  inGroups,
  instant,
  type Lister,
  listOf,
  pagesOf,
  rowsAt,
  unreadableIn,
  walkOf,
} from '@keywarden/testkit/daemon/walk-fixture';
import { expect, test } from 'vitest';
import { type WalkedPage, walkOperations } from './walk.ts';

// How large the first page of a walk is, where the walk goes back or on, and where it ends.

/** Returns a list of 30 rows. Each time is that of so many rows. */
const inGroupsOf = (group: number) => listOf(() => inGroups(30, group));

test('a walk ends below its floor, and not at it', async () => {
  const countTo = async (floor: string) =>
    (await pagesOf(inGroupsOf(1), walkOf({ firstLimit: 10, maxLimit: 10, floor }))).length;
  expect([await countTo(instant(8)), await countTo(instant(9))]).toEqual([1, 2]);
});

test('a small first page is a page of the walk, unless all of its rows share one time', async () => {
  const firstOf = async (group: number) =>
    (await pagesOf(inGroupsOf(group), walkOf({ firstLimit: 10 })))[0]?.operations.length;
  expect([await firstOf(1), await firstOf(15)]).toEqual([10, 30]);
});

test('a walk whose last page is empty has reached the row above it', async () => {
  const pages = await pagesOf(
    listOf(() => inGroups(10, 10)),
    walkOf({ firstLimit: 10, maxLimit: 10 }),
  );
  expect(pages.at(-1)).toMatchObject({ operations: [], isEnd: true, reached: instant(0) });
});

/** Returns the pages of a walk over a list with unreadable rows. */
async function pagesBeside(odd: string[], lister: Lister, limit: number): Promise<WalkedPage[]> {
  const pages: WalkedPage[] = [];
  const walk = walkOf({ firstLimit: limit, maxLimit: limit });
  for await (const page of walkOperations(unreadableIn(lister, new Set(odd)), walk)) pages.push(page);
  return pages;
}

test('A2: a walk goes back to a page if the next one lacks its last row, and claims of it what it did before', async () => {
  const read = async (...odd: string[]) => {
    const rows = rowsAt(Array.from({ length: 30 }, (_, second) => second));
    let [below, isHidden] = [0, false];
    const change = ({ cursor }: { cursor: string | undefined }) => {
      if (cursor === instant(17)) below += 1;
      isHidden = cursor === instant(17) && below === 1;
    };
    const lister = listOf(() => rows.filter(({ id }) => !isHidden || id !== '18'), { change });
    const pages = await pagesBeside(odd, lister, 10);
    return [pages.length, idsOf(pages).size, ...[12, 20].map((second) => claims(pages, instant(second)))];
  };
  expect(await read()).toEqual([5, 30, true, true]);
  expect(await read('5')).toEqual([5, 29, false, true]);
});

test('A2: below a page whose rows show one time, a walk reads the rows that share the time of the unreadable row at its end', async () => {
  const rows = rowsAt([0.1, 0.2, 0.3, 0.4, 0.4, 0.5]);
  const pages = await pagesBeside(
    ['3'],
    listOf(() => rows, { digits: 0 }),
    4,
  );
  expect([...idsOf(pages)]).toEqual(['0', '1', '2', '4', '5']);
});
