import { inGroups, instant, listOf, pagesOf, walkOf } from '@keywarden/testkit/daemon/walk-fixture';
import { expect, test } from 'vitest';

// How large the first page of a walk is, and where the walk ends.

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
