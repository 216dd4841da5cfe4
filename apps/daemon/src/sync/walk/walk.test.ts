import { compareInstants } from '@keywarden/core/values';
import {
  claims,
  idsOf,
  inGroups,
  instant,
  type Lister,
  listOf,
  type PageRequest,
  pagesOf,
  type Row,
  rowsAt,
  shownWith,
  unprovedOf,
  unreadableIn,
  walkOf,
  withEnds,
} from '@keywarden/testkit/daemon/walk-fixture';
import { expect, test } from 'vitest';
import { CursorError } from './page-checks.ts';
import { type WalkedPage, walkOperations } from './walk.ts';

test.each([2, 3, 693, 999])('A2: a walk loses no row where pages end within %i rows of one instant', async (group) => {
  const rows = inGroups(4000, group);
  const pages = await pagesOf(listOf(() => rows));
  expect(idsOf(pages).size).toBe(4000);
  expect(unprovedOf(pages)).toEqual([]);
});

test('A2, the counter-test: following the cursors without the step back loses rows of such an instant', async () => {
  const rows = inGroups(4000, 3);
  const { operationsPage } = listOf(() => rows);
  const seen = new Set<string>();
  for (let cursor: string | undefined; ; ) {
    const page: { items: Row[]; cursor: string | null } = await operationsPage('p', { limit: 1000, cursor });
    for (const each of page.items) seen.add(each.id);
    if (page.cursor === null) break;
    cursor = page.cursor;
  }
  expect(seen.size).toBeLessThan(4000);
});

test('A2: an instant with more operations than a page holds is named as not proved', async () => {
  const rows = rowsAt([
    ...Array.from({ length: 1500 }, () => 0),
    ...Array.from({ length: 10 }, (_, index) => index + 1),
  ]);
  const pages = await pagesOf(listOf(() => rows));
  expect(idsOf(pages).size).toBe(1010);
  expect(unprovedOf(pages)).toEqual([instant(0)]);
});

test('A2: a page whose rows vanish during its proof is requested again; if they vanish each time, it is named', async () => {
  let gone = 0;
  const whole = rowsAt(Array.from({ length: 3000 }, (_, index) => index));
  const rows = () => whole.slice(gone);
  const twice = listOf(rows, {
    change: ({ limit }) => {
      if (limit < 1000 && gone < 1000) gone += 500;
    },
  });
  const pages = await pagesOf(twice);
  expect(unprovedOf(pages)).toEqual([]);
  expect(idsOf(pages).size).toBe(2000);
  gone = 0;
  const always = listOf(rows, {
    change: ({ limit }) => {
      if (limit < 1000) gone += 300;
    },
  });
  expect(unprovedOf(await pagesOf(always)).length).toBeGreaterThan(0);
});

test.each([
  [
    'ends where lists are cut off',
    [
      { items: rowsAt(seconds(0)), cursor: null },
      { items: rowsAt(seconds(0).slice(0, 999)), cursor: null },
    ],
  ],
  [
    'is empty and has its own cursor',
    [
      { items: [], cursor: 'c' },
      { items: [], cursor: 'c' },
      { items: [], cursor: 'c' },
      { items: [], cursor: 'c' },
    ],
  ],
  ['has rows of another project', [{ items: [{ ...rowsAt([0])[0], projectId: 'other' }], cursor: null }]],
  ['is not in descending order of time', [{ items: rowsAt(seconds(0)).toReversed(), cursor: 'c' }]],
  [
    'does not continue',
    [
      { items: rowsAt(seconds(0)), cursor: 'c' },
      { items: rowsAt(seconds(0).slice(0, 999)), cursor: 'c' },
      { items: rowsAt(seconds(999)), cursor: 'c' },
    ],
  ],
])('A2: a list that %s proves nothing, and is an error', async (what, pages) => {
  const queue = pages.map(({ items, ...page }) => ({
    ...page,
    items: items.map((row) => ({ projectId: 'p', ...row })),
    dateMs: 0,
  }));
  await expect(pagesOf({ operationsPage: async () => queue.shift() as never })).rejects.toThrow(what);
});

function seconds(from: number): number[] {
  return Array.from({ length: 1000 }, (_, index) => from + index);
}

test('an interrupted walk resumes at its last page, with its original floor and start time', async () => {
  const rows = rowsAt(Array.from({ length: 3000 }, (_, index) => index));
  const client = listOf(() => rows);
  const [first, second] = await pagesOf(client);
  const from = { beganAt: '2025-12-31T00:00:00Z', floor: instant(2500), cursor: '', below: '', ...second?.resumeAt };
  const rest = await pagesOf(client, walkOf({ from, datedAt: () => '2026-02-01T00:00:00Z' }));
  expect(rest.at(-1)).toMatchObject({ beganAt: '2025-12-31T00:00:00Z', isDone: true, isEnd: false });
  expect(idsOf([...(first ? [first] : []), ...rest]).size).toBe(2998);
});

test('a place saved under times of whole seconds is given up, not retried forever, once times have more digits', async () => {
  // One second: a group that fills a page, and rows below it.
  const rows = Array.from({ length: 40 }, (_, index) => ({
    id: String(index),
    createdAt: new Date(1_767_225_607_900 - Math.max(0, index - 8) * 20).toISOString(),
  }));
  const sizes = { maxLimit: 5, firstLimit: 5 };
  const pages = await pagesOf(
    listOf(() => rows, { digits: 0 }),
    walkOf(sizes),
  );
  const places = pages.flatMap(({ beganAt, resumeAt }) => (resumeAt === null ? [] : [{ beganAt, ...resumeAt }]));
  expect(places.length).toBeGreaterThan(5);
  for (const place of places) {
    const from = { ...place, floor: null };
    expect(
      (
        await pagesOf(
          listOf(() => rows, { digits: 0 }),
          walkOf({ ...sizes, from }),
        )
      ).at(-1)?.isEnd,
    ).toBe(true);
    await expect(
      pagesOf(
        listOf(() => rows, { digits: 6 }),
        walkOf({ ...sizes, from }),
      ),
    ).rejects.toThrow(CursorError);
  }
});

/** Returns a time with microseconds: several within a millisecond and many within a second. */
const fine = (index: number) =>
  new Date(1_767_225_600_000 - Math.floor(index / 7) * 90).toISOString().replace('Z', `${900 - (index % 7) * 130}Z`);

test.each([
  ['milliseconds', (at: string) => `${at.slice(0, 23)}Z`],
  ['seconds', (at: string) => `${at.slice(0, 19)}Z`],
])('A2: cursors that are cut to %s lose rows, and the lost rows are not claimed', async (_name, cut) => {
  const rows = Array.from({ length: 3500 }, (_, index) => ({ id: `row ${index}`, createdAt: fine(index) }));
  const honest = listOf(() => rows);
  const client = {
    operationsPage: async (project: string, asked?: { limit?: number; cursor?: string | undefined }) => {
      const page = (await honest.operationsPage(project, asked)) as { cursor: string | null };
      return { ...page, cursor: page.cursor === null ? null : cut(page.cursor) } as never;
    },
  };
  const pages: WalkedPage[] = [];
  const walking = async () => {
    for await (const page of walkOperations(withEnds(client), walkOf())) pages.push(page);
  };
  expect(await walking().then(() => 'whole', String)).toMatch(/whole|rows? above it/);
  const seen = idsOf(pages);
  const lost = rows.filter(({ id, createdAt }) => !seen.has(id) && claims(pages, createdAt));
  expect(lost).toEqual([]);
  expect(seen.size).toBeGreaterThan(0);
});

/** Walks a list of one row, of a project that was created then. The service answers at 2026-01-01T00:00:00Z. */
async function walkOne(createdAt: string, projectCreatedAt: string): Promise<WalkedPage[]> {
  const items = [{ projectId: 'p', ...rowsAt([0])[0], createdAt }] as never[];
  const client = { operationsPage: async () => ({ items, cursor: null, dateMs: 0, ageMs: 0 }) };
  return await pagesOf(client, walkOf({ projectCreatedAt }));
}

test.each([
  ['0001-01-01T00:00:00Z', '2025-12-01T00:00:00Z'],
  ['2025-11-30T23:54:59Z', '2025-12-01T00:00:00Z'],
  ['2024-11-26T23:59:59Z', '2020-01-01T00:00:00Z'],
  ['2026-01-01T00:05:01Z', '2025-12-01T00:00:00Z'],
])('A2: a page with a row created %s, of a project created %s, proves nothing, and is an error', async (...times) => {
  await expect(walkOne(...times)).rejects.toThrow(/which is impossible/);
});

test.each([
  ['2025-11-30T23:55:00Z', '2025-12-01T00:00:00Z'],
  ['2024-11-27T00:00:00Z', '2020-01-01T00:00:00Z'],
  ['2026-01-01T00:05:00Z', '2025-12-01T00:00:00Z'],
])('a row created %s, of a project created %s, is read', async (...times) => {
  expect(idsOf(await walkOne(...times)).size).toBe(1);
});

test.each(['0001-01-01T00:00:00Z', '2027-01-01T00:00:00Z'])(
  'A2: a row created %s is kept apart, its page and the one below are not claimed, and all others are read',
  async (createdAt) => {
    const rows = rowsAt(Array.from({ length: 3500 }, (_, index) => index));
    const odd = { id: 'odd', createdAt };
    // The position in which such a service would sort it.
    const sorted = createdAt < '2026' ? [...rows, odd] : [odd, ...rows];
    const at = (row: Row) => (row === odd ? instant(createdAt < '2026' ? 5000 : -1) : row.createdAt);
    const client = {
      operationsPage: async (_project: string, { limit = 1000, cursor }: Partial<PageRequest> = {}) => {
        const left = sorted.filter((row) => cursor === undefined || compareInstants(at(row), cursor) < 0);
        const page = left.slice(0, limit);
        const last = page.at(-1);
        const next = page.length === limit && last !== undefined ? at(last) : null;
        return { items: page.map((row) => ({ projectId: 'p', ...row })), cursor: next, dateMs: 0 } as never;
      },
    };
    const pages = await pagesOf(client);
    expect(idsOf(pages).size).toBe(3500);
    expect(pages.flatMap(({ rejected }) => rejected.map(({ id }) => id))).toContain('odd');
    const claimed = rows.filter((row) => claims(pages, row.createdAt)).length;
    expect(claimed).toBeGreaterThan(1000);
    expect(claimed).toBeLessThan(3500);
  },
);

test('A2: a page whose last time has no digits below the second proves nothing within that second', async () => {
  const times = ['2026-01-01T00:00:09.900000Z', '2026-01-01T00:00:07Z', '2026-01-01T00:00:05.300001Z'];
  const rows = times.map((createdAt, index) => ({ projectId: 'p', id: `${index}`, createdAt }));
  const [first, second] = await pagesOf(
    listOf(() => rows),
    walkOf({ firstLimit: 2, maxLimit: 2 }),
  );
  expect(first?.provedFrom).toBe('2026-01-01T00:00:08.000000Z');
  // The next page starts where the first one's proof begins.
  expect(second?.below).toBe('2026-01-01T00:00:09.900000Z');
});

test('A2: the page below an unreadable row claims nothing, and no walk resumes at it, because a truncated cursor may have skipped rows', async () => {
  const last = rowsAt(Array.from({ length: 10 }, () => -0.5));
  const skipped = { id: 'skipped', createdAt: instant(-0.2) };
  const rows = [...last, skipped, { id: 'older', createdAt: instant(5) }];
  const whole = listOf(() => rows);
  const truncated: Lister = {
    async operationsPage(project, asked) {
      const page = await whole.operationsPage(project, asked);
      return { ...page, cursor: page.cursor === null ? null : shownWith(0, page.cursor) };
    },
  };
  const claimed = async (odd: string[]) => {
    const pages: WalkedPage[] = [];
    const walk = walkOf({ firstLimit: 10, maxLimit: 10 });
    for await (const page of walkOperations(unreadableIn(truncated, new Set(odd)), walk)) pages.push(page);
    expect(idsOf(pages)).not.toContain(skipped.id);
    // A walk that resumed below the unreadable row would claim what this one does not.
    const resumesBelow = pages.at(-1)?.resumeAt !== null;
    return [...[skipped.createdAt, instant(5)].map((time) => claims(pages, time)), resumesBelow];
  };
  expect(await claimed([])).toEqual([false, true, true]);
  expect(await claimed(['9'])).toEqual([false, false, false]);
});

test('A2: cursors that alternate between rows of one instant end the walk with an error', async () => {
  const answers = { A: 'B', B: 'A' } as Record<string, string>;
  const client = {
    operationsPage: async (_project: string, { limit = 10, cursor = '' }: Partial<PageRequest> = {}) => {
      const rows = Array.from({ length: limit }, (_, index) => ({
        projectId: 'p',
        id: `${cursor === 'A' ? 'A' : 'B'}${index}`,
        createdAt: instant(0),
      }));
      return { items: rows, cursor: answers[cursor] ?? 'A', dateMs: 0 } as never;
    },
  };
  await expect(pagesOf(client, walkOf({ firstLimit: 10, maxLimit: 10 }))).rejects.toThrow(CursorError);
});
