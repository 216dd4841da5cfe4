import { compareInstants, type WireOperation } from '@keywarden/core/wire';
import { sized } from '@keywarden/testkit';
import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { proofOf } from './proof.ts';
import { type Walk, type WalkedPage, walkOperations } from './walk.ts';
import type { WalkedClient } from './whole-page.ts';

type Row = Pick<WireOperation, 'id' | 'createdAt'>;
interface Request {
  limit: number;
  cursor: string | undefined;
}

/** A control plane of one project, with cursors strictly below; `change` may add or take rows before each request. */
function listOf(rows: () => Row[], change: (asked: Request) => void = () => undefined) {
  return {
    operationsPage: async (
      _project: string,
      { limit = 1000, cursor }: { limit?: number; cursor?: string | undefined } = {},
    ) => {
      change({ limit, cursor });
      const items = rows()
        .filter((row) => cursor === undefined || compareInstants(row.createdAt, cursor) < 0)
        .slice(0, limit)
        .map((row) => ({ projectId: 'p', ...row }));
      return { items, cursor: items.length === limit ? (items.at(-1)?.createdAt ?? null) : null, dateMs: 0 } as never;
    },
  };
}

const walkOf = (change: Partial<Walk> = {}): Walk => ({
  projectId: 'p',
  from: null,
  floor: null,
  firstLimit: 1000,
  maxLimit: 1000,
  datedAt: () => '2026-01-01T00:00:00Z',
  now: () => 0,
  projectCreatedAt: '2025-12-01T00:00:00Z',
  seen: { largestPage: 0 },
  signal: new AbortController().signal,
  ...change,
});

async function pagesOf(
  { operationsPage }: Pick<WalkedClient, 'operationsPage'>,
  walk = walkOf(),
): Promise<WalkedPage[]> {
  const pages: WalkedPage[] = [];
  for await (const page of walkOperations(withEnds({ operationsPage }), walk)) pages.push(page);
  return pages;
}

const withEnds = ({ operationsPage }: Pick<WalkedClient, 'operationsPage'>): WalkedClient => ({
  operationsPage,
  async operationsPageEnd(projectId, asked) {
    const { items, cursor } = await operationsPage(projectId, asked);
    return {
      count: items.length,
      lastId: items.at(-1)?.id ?? null,
      cursor,
    };
  },
});

const instant = (second: number) => new Date(Date.UTC(2026, 0, 1) - second * 1000).toISOString();
const rowsAt = (seconds: number[]): Row[] =>
  seconds.map((second, index) => ({ id: String(index), createdAt: instant(second) }));
const inGroups = (count: number, group: number) =>
  rowsAt(Array.from({ length: count }, (_, index) => Math.floor(index / group)));
const idsOf = (pages: WalkedPage[]) => new Set(pages.flatMap(({ operations }) => operations.map(({ id }) => id)));
const unprovedOf = (pages: WalkedPage[]) => pages.flatMap(({ unprovedAt }) => unprovedAt ?? []);

test.each([2, 3, 693, 999])('A2: a walk loses no row where pages end within %i rows of one instant', async (group) => {
  const rows = inGroups(4000, group);
  const pages = await pagesOf(listOf(() => rows));
  expect(idsOf(pages).size).toBe(4000);
  expect(unprovedOf(pages)).toEqual([]);
});

test('A2, the twin: following the cursors alone loses rows of such an instant', async () => {
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

test('A2: an instant that more operations bear than a page holds is named as not proved', async () => {
  const rows = rowsAt([
    ...Array.from({ length: 1500 }, () => 0),
    ...Array.from({ length: 10 }, (_, index) => index + 1),
  ]);
  const pages = await pagesOf(listOf(() => rows));
  expect(idsOf(pages).size).toBe(1010);
  expect(unprovedOf(pages)).toEqual([instant(0)]);
});

test('A2: rows that went while a page was proved make it be asked for again; where they go each time it is named', async () => {
  let gone = 0;
  const whole = rowsAt(Array.from({ length: 3000 }, (_, index) => index));
  const rows = () => whole.slice(gone);
  const twice = listOf(rows, ({ limit }) => {
    if (limit < 1000 && gone < 1000) gone += 500;
  });
  const pages = await pagesOf(twice);
  expect(unprovedOf(pages)).toEqual([]);
  expect(idsOf(pages).size).toBe(2000);
  gone = 0;
  const always = listOf(rows, ({ limit }) => {
    if (limit < 1000) gone += 300;
  });
  expect(unprovedOf(await pagesOf(always)).length).toBeGreaterThan(0);
});

test.each([
  ['is full and has no cursor', [{ items: rowsAt(seconds(0)), cursor: null }]],
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
  ['does not go down in time', [{ items: rowsAt(seconds(0)).toReversed(), cursor: 'c' }]],
  [
    'does not go on',
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

test('a walk that was cut short goes on at its last page, with the floor and the time that it began with', async () => {
  const rows = rowsAt(Array.from({ length: 3000 }, (_, index) => index));
  const client = listOf(() => rows);
  const [first, second] = await pagesOf(client);
  const from = { beganAt: '2025-12-31T00:00:00Z', floor: instant(2500), cursor: '', below: '', ...second?.resumeAt };
  const rest = await pagesOf(client, walkOf({ from, datedAt: () => '2026-02-01T00:00:00Z' }));
  expect(rest.at(-1)).toMatchObject({ beganAt: '2025-12-31T00:00:00Z', isDone: true, isEnd: false });
  expect(idsOf([...(first ? [first] : []), ...rest]).size).toBe(2998);
});

/** Whether the pages' proofs claim a time, the walk having begun at the newest instant and nothing being late. */
function claims(pages: WalkedPage[], at: string): boolean {
  return pages.some((page) => {
    const asked = { createdAt: instant(10_000), walkedAt: null, settleMs: 0 };
    const proof = page.isWhole ? proofOf({ ...page, beganAt: instant(-1) }, asked) : null;
    if (proof === null || compareInstants(at, proof.below) >= 0) return false;
    return compareInstants(at, proof.from) >= (proof.isFromIncluded ? 0 : 1);
  });
}

test('A2, a property: whatever the groups, the limit and the rows that come meanwhile, what is claimed is there, and the rest is named', async () => {
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
      const client = listOf(
        () => rows,
        () => {
          for (let index = 0; index < arrivals; index += 1) {
            added += 1;
            rows.unshift({ id: `new ${added}`, createdAt: instant(-1 - added) });
          }
        },
      );
      const before = [...rows];
      const pages = await pagesOf(client, walkOf({ maxLimit, firstLimit: Math.min(firstLimit, maxLimit) }));
      const seen = idsOf(pages);
      const lost = before.filter(({ id, createdAt }) => !seen.has(id) && claims(pages, createdAt));
      // Times of whole seconds are as good as cut to them: where one is not proved the bound of the next may not be either.
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

/** Another control plane of one project: pages as small as it likes, a cursor wherever it likes, and times of fewer digits than its cursors. */
function otherListOf(
  rows: () => Row[],
  { size, everyPage, digits }: { size: number; everyPage: boolean; digits: 0 | 6 },
): Pick<WalkedClient, 'operationsPage'> {
  const shown = (at: string) => (digits === 0 ? `${at.slice(0, 19)}Z` : at);
  return {
    async operationsPage(_project, { limit = 1000, cursor } = {}) {
      const asked = Math.min(limit, size);
      const below = rows().filter((row) => cursor === undefined || compareInstants(row.createdAt, cursor) < 0);
      const page = below.slice(0, asked);
      const next = everyPage || page.length === asked ? (page.at(-1)?.createdAt ?? null) : null;
      const items = page.map(({ id, createdAt }) => ({ projectId: 'p', id, createdAt: shown(createdAt) }));
      return { items, cursor: next, dateMs: 0, ageMs: 0 } as never;
    },
  };
}

/** The same list, of which some rows cannot be read. */
function unreadableIn(
  { operationsPage }: Pick<WalkedClient, 'operationsPage'>,
  odd: ReadonlySet<string>,
): WalkedClient {
  return {
    async operationsPage(projectId, asked) {
      const page = await operationsPage(projectId, asked);
      const rejected = [...page.items.entries()]
        .filter(([, { id }]) => odd.has(id))
        .map(([index, { id }]) => ({ index, id, why: 'odd', record: null }));
      return { ...page, items: page.items.filter(({ id }) => !odd.has(id)), rejected };
    },
    async operationsPageEnd(projectId, asked) {
      const { items, cursor } = await operationsPage(projectId, asked);
      const last = items.at(-1);
      return { count: items.length, lastId: last === undefined || odd.has(last.id) ? null : last.id, cursor };
    },
  };
}

/** The same client; the first end of each page may be one of a row that nobody knows, as where rows came and went. */
function unsteadyEnds({ operationsPage, operationsPageEnd }: WalkedClient, isUnsteady: boolean): WalkedClient {
  const seen = new Set<string>();
  return {
    operationsPage,
    async operationsPageEnd(projectId, asked) {
      const page = await operationsPageEnd(projectId, asked);
      const cursor = String(asked?.cursor);
      return !isUnsteady || seen.has(cursor) ? page : (seen.add(cursor), { ...page, lastId: 'nobody' });
    },
  };
}

test('A2, a property: however lists end, however small pages are and however long times, all is read and claimed but for what one page cannot show', async () => {
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
        const client = otherListOf(() => sorted, { size, everyPage, digits });
        const odd = new Set(unreadable.flatMap((index) => sorted[index]?.id ?? []));
        const pages: WalkedPage[] = [];
        const walk = walkOf({ maxLimit: limit, firstLimit: limit, seen });
        for await (const page of walkOperations(unsteadyEnds(unreadableIn(client, odd), unsteady), walk))
          pages.push(page);
        const ids = idsOf(pages);
        const shown = (at: string) => (digits === 0 ? `${at.slice(0, 19)}Z` : at);
        const lost = sorted.filter(({ id, createdAt }) => !ids.has(id) && claims(pages, shown(createdAt)));
        const largest = Math.max(0, ...groups.map(([, bearers]) => bearers));
        // A page that can show more than the rows of any instant leaves nothing out; where it might be full of one instant, another page has to be larger.
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

test('A2, a property: rows that cannot be read are claimed by nobody, and the others are read', async () => {
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
      const isReadable = ({ id }: Row) => !unreadable.includes(Number(id));
      const wire = (cursor: string) => (hasOpaqueCursors ? `page ${cursor}` : cursor);
      const { operationsPage: whole } = listOf(() => rows);
      const raw = async (asked: { limit?: number; cursor?: string | undefined } = {}) => {
        const cursor = asked.cursor?.replace('page ', '');
        const page = (await whole('p', { ...asked, cursor })) as ReadPage;
        return { ...page, cursor: page.cursor === null ? null : wire(page.cursor) };
      };
      const client: WalkedClient = {
        async operationsPage(_project, asked) {
          const page = await raw(asked);
          const rejected = [...page.items.entries()]
            .filter(([, row]) => !isReadable(row))
            .map(([index, { id }]) => ({ index, id, why: 'odd', record: null }));
          return { ...page, items: page.items.filter(isReadable), rejected };
        },
        async operationsPageEnd(_project, asked) {
          const { items, cursor } = await raw(asked);
          const last = items.at(-1);
          return { count: items.length, lastId: last !== undefined && isReadable(last) ? last.id : null, cursor };
        },
      };
      const pages: WalkedPage[] = [];
      for await (const page of walkOperations(client, walkOf({ maxLimit: limit, firstLimit: limit }))) pages.push(page);
      const seen = idsOf(pages);
      const odd = rows.filter((row) => !isReadable(row) && claims(pages, row.createdAt));
      const lost = rows.filter(({ id, createdAt }) => !seen.has(id) && claims(pages, createdAt));
      expect([odd, lost]).toEqual([[], []]);
      const unread = rows.filter((row) => isReadable(row) && !seen.has(row.id));
      expect(unread.filter(({ createdAt }) => !unprovedOf(pages).includes(createdAt))).toEqual([]);
      claimed += rows.filter(({ createdAt }) => claims(pages, createdAt)).length;
    }),
    { numRuns: sized(300) },
  );
  expect(claimed).toBeGreaterThan(0);
});

/** Times with microseconds, several within a millisecond and many within a second. */
const fine = (index: number) =>
  new Date(1_767_225_600_000 - Math.floor(index / 7) * 90).toISOString().replace('Z', `${900 - (index % 7) * 130}Z`);

test.each([
  ['milliseconds', (at: string) => `${at.slice(0, 23)}Z`],
  ['seconds', (at: string) => `${at.slice(0, 19)}Z`],
])('A2: cursors that are cut to %s lose rows, and what they lose is claimed by nobody', async (_name, cut) => {
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
  expect(await walking().then(() => 'whole', String)).toMatch(/whole|rows above it again/);
  const seen = idsOf(pages);
  const lost = rows.filter(({ id, createdAt }) => !seen.has(id) && claims(pages, createdAt));
  expect(lost).toEqual([]);
  expect(seen.size).toBeGreaterThan(0);
});

/** The same list, whose first answer to each request is changed. */
function oddOnce(client: Pick<WalkedClient, 'operationsPage'>, change: (page: ReadPage) => ReadPage) {
  const seen = new Set<string>();
  return {
    async operationsPage(...[projectId, asked]: Parameters<WalkedClient['operationsPage']>): Promise<ReadPage> {
      const page = await client.operationsPage(projectId, asked);
      const request = `${asked?.limit} ${asked?.cursor}`;
      return seen.has(request) ? page : (seen.add(request), change(page));
    },
  };
}
type ReadPage = Awaited<ReturnType<WalkedClient['operationsPage']>>;

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
    const capped: Pick<WalkedClient, 'operationsPage'> = {
      async operationsPage(projectId, asked) {
        const page: ReadPage = await whole.operationsPage(projectId, asked);
        const items = shown(page.items);
        return items.length > 100 ? { ...page, items: items.slice(0, 100), cursor: null } : page;
      },
    };
    expect(idsOf(await pagesOf(capped)).size).toBe(950);
  },
);

test.each(['0001-01-01T00:00:00Z', '1970-01-01T00:00:00Z', '2027-01-01T00:00:00Z'])(
  'A2: a page with a row created %s proves nothing, and is an error',
  async (createdAt) => {
    const items = [{ projectId: 'p', ...rowsAt([0])[0], createdAt }] as never[];
    const client = { operationsPage: async () => ({ items, cursor: null, dateMs: 0, ageMs: 0 }) };
    await expect(pagesOf(client)).rejects.toThrow(/which cannot be/);
  },
);

test.each(['0001-01-01T00:00:00Z', '2027-01-01T00:00:00Z'])(
  'A2: a row created %s is kept apart, its page and the one below are not claimed, and all others are read',
  async (createdAt) => {
    const rows = rowsAt(Array.from({ length: 3500 }, (_, index) => index));
    const odd = { id: 'odd', createdAt };
    // Where such a service would sort it.
    const sorted = createdAt < '2026' ? [...rows, odd] : [odd, ...rows];
    const at = (row: Row) => (row === odd ? instant(createdAt < '2026' ? 5000 : -1) : row.createdAt);
    const client = {
      operationsPage: async (_project: string, { limit = 1000, cursor }: Partial<Request> = {}) => {
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
  // The next page takes up where the first one's proof begins.
  expect(second?.below).toBe('2026-01-01T00:00:09.900000Z');
});
