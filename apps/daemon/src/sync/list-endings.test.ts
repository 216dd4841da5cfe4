import { listArchivedOperations, listCoverage } from '@keywarden/db/report';
import { connectionOf, type Fixture, makeFixture } from '@keywarden/testkit/daemon/fixture';
import { createTestStore } from '@keywarden/testkit/store/test-store';
import { expect, inject, test } from 'vitest';
import { syncOperations } from './operations.ts';

const route = 'GET /projects/{project_id}/operations';
const company = { organizations: 2, keys: 0, seed: 3, months: 4 };

/** Runs a pass and returns its number of requests for pages of operations. */
async function pass(fixture: Fixture): Promise<number> {
  await fixture.reconnect();
  await fixture.controls.resetStats();
  await syncOperations(fixture.context, connectionOf(fixture));
  const { by_route: routes } = await fixture.controls.stats();
  return routes[route]?.requests ?? 0;
}

/** Returns how many projects have served operations, after checking that all of them are stored. */
async function countStored(fixture: Fixture): Promise<number> {
  const stored = new Set((await fixture.owner.sql`select id from keywarden.operation`).map((row) => String(row.id)));
  const projects = await fixture.controls.projects();
  let count = 0;
  for (const { id } of projects) {
    const { served } = await fixture.controls.operations(id);
    expect([id, served.filter((each) => !stored.has(each))]).toEqual([id, []]);
    count += served.length > 0 ? 1 : 0;
  }
  return count;
}

/** Expects each project's archived operations in the control plane's list order, including those of the same time. */
async function expectSameOrder(fixture: Fixture): Promise<void> {
  for (const { number, coverage } of await listCoverage(fixture.owner.db, { limit: 100 })) {
    const { project_id: projectId } = coverage;
    const { served } = await fixture.controls.operations(projectId);
    const asked = { project: number, projectId, page: { limit: 10_000, after: null } };
    const { records } = await listArchivedOperations(fixture.owner.db, asked);
    const ids = (JSON.parse(`[${records}]`) as { id: string }[]).map(({ id }) => id);
    expect([projectId, ids]).toEqual([projectId, served]);
  }
}

const reasonsOf = async (fixture: Fixture) =>
  (await listCoverage(fixture.owner.db, { limit: 100 })).flatMap(({ coverage: { unknown } }) =>
    unknown.map(({ reason }) => reason),
  );

const settings = (['every_page', 'full_pages'] as const).flatMap((pagination) =>
  (['seconds', 'microseconds'] as const).map((times) => ({ pagination, times })),
);

test('A1, A2: with any cursors and any digits of times, every project is complete, and requested once if nothing is new', async () => {
  const firsts: number[] = [];
  for (const setting of settings) {
    const store = await createTestStore(inject('postgresUrl'));
    const fixture = await makeFixture(store);
    await fixture.controls.setSettings(setting);
    await fixture.controls.generate({ ...company, projects: 20, operations: 9000 });
    const first = await pass(fixture);
    const busy = await countStored(fixture);
    expect(busy).toBeGreaterThan(10);
    firsts.push(first);
    expect(new Set(await reasonsOf(fixture))).toEqual(new Set(['recent']));
    expect(await pass(fixture)).toBe(20);

    const projects = await fixture.controls.projects();
    for (const { id } of projects.slice(0, 10)) {
      const groups = [
        { count: 7, age_seconds: 1800 },
        { count: 1, age_seconds: 900 },
      ];
      await fixture.controls.addOperations(id, groups);
    }
    expect(await pass(fixture)).toBe(20);
    await countStored(fixture);
    await expectSameOrder(fixture);
    expect(new Set(await reasonsOf(fixture))).toEqual(new Set(['recent']));
    await fixture.close();
    await store.close();
  }
  // If each page has a cursor, the empty page that ends a list is requested, too. For a largest page so far, the rows above its last are
  // requested once more.
  const [recorded = 0, recordedFine = 0, short = 0, shortFine] = firsts;
  expect(shortFine).toBe(short);
  for (const first of [recorded, recordedFine]) expect(first).toBeLessThanOrEqual(short + 4 * 20);
});

test('A1, A2: a service with seven rows a page, each page with a cursor, loses nothing and does not end early', async () => {
  const cap: typeof fetch = async (input, init) => {
    const url = new URL(input instanceof Request ? input.url : input);
    if (Number(url.searchParams.get('limit')) > 7) url.searchParams.set('limit', '7');
    return await fetch(url, init);
  };
  const store = await createTestStore(inject('postgresUrl'));
  const fixture = await makeFixture(store, { client: { fetch: cap } });
  await fixture.controls.setSettings({ pagination: 'every_page', times: 'seconds' });
  await fixture.controls.generate({ ...company, projects: 5, operations: 0 });
  const projects = await fixture.controls.projects();
  const add = async (groups: { count: number; age_seconds: number }[]) => {
    for (const { id } of projects) await fixture.controls.addOperations(id, groups);
  };
  const settled = { late_seconds: 0, going_on_seconds: 0 };
  await add(Array.from({ length: 7 }, (_, index) => ({ count: 1, age_seconds: 9000 + 60 * index, ...settled })));
  await pass(fixture);
  expect(await countStored(fixture)).toBe(5);
  // As many rows as a page shows, and more than one is new: the oldest are on no first page any more.
  await add([{ count: 3, age_seconds: 7200, ...settled }]);
  await pass(fixture);
  await countStored(fixture);
  const spread = Array.from({ length: 12 }, (_, index) => ({ count: 1, age_seconds: 6000 + index / 4, ...settled }));
  await add([...spread, { count: 4, age_seconds: 12_000, ...settled }]);
  await pass(fixture);
  await countStored(fixture);
  expect(new Set(await reasonsOf(fixture))).toEqual(new Set(['recent']));
  await fixture.close();
  await store.close();
});

interface TimedRow {
  created_at: string;
  updated_at: string;
}

interface Body {
  operations?: TimedRow[];
  operation?: TimedRow;
  projects?: TimedRow[];
  pagination?: { cursor: string };
}

/** Returns a fetch that rewrites responses: which lists of operations have cursors, and how many digits times have. */
function rewriting(change: (body: Body, limit: number) => Body): typeof fetch {
  return async (input, init) => {
    const response = await fetch(input, init);
    const url = new URL(input instanceof Request ? input.url : input);
    if (!/\/projects$|\/operations/.test(url.pathname) || !response.ok) return response;
    const body = change((await response.json()) as Body, Number(url.searchParams.get('limit')));
    return new Response(JSON.stringify(body), { status: response.status, headers: response.headers });
  };
}

const cut = (at: string) => `${at.slice(0, 19)}Z`;
const inSeconds = (row: TimedRow) => ({ ...row, created_at: cut(row.created_at), updated_at: cut(row.updated_at) });

/**
 * Returns the body as recorded from the live service: a cursor with all digits of the last row's time on every page with rows, and times in
 * whole seconds.
 */
const asRecorded = ({ operations, operation, projects, ...rest }: Body): Body => {
  if (operation !== undefined) return { operation: inSeconds(operation) };
  if (operations === undefined) return { ...rest, projects: projects?.map(inSeconds) ?? [] };
  const last = operations.at(-1);
  return {
    ...rest,
    ...(last === undefined ? {} : { pagination: { cursor: last.created_at } }),
    operations: operations.map(inSeconds),
  };
};

/** Returns the body as older clients saw it: no cursor on a short page. */
const asShort = ({ pagination, ...rest }: Body, limit: number): Body => ({
  ...rest,
  ...(pagination !== undefined && (rest.operations ?? rest.projects)?.length === limit ? { pagination } : {}),
});

test.each([
  ['full pages and microseconds', { pagination: 'full_pages', times: 'microseconds' }, asRecorded],
  ['every page and seconds', { pagination: 'every_page', times: 'seconds' }, asShort],
])(
  'A1, A2: a proxy that converts the lists of a service of %s: every project is complete, and requested once if nothing is new',
  async (_of, setting, change) => {
    const store = await createTestStore(inject('postgresUrl'));
    const fixture = await makeFixture(store, { client: { fetch: rewriting(change) } });
    await fixture.controls.setSettings(setting);
    await fixture.controls.generate({ ...company, projects: 50, operations: 9000 });
    await pass(fixture);
    expect(await countStored(fixture)).toBeGreaterThan(10);
    expect(new Set(await reasonsOf(fixture))).toEqual(new Set(['recent']));
    expect(await pass(fixture)).toBe(50);
    await fixture.close();
    await store.close();
  },
);

test.each([
  ['is empty', 0],
  ['is cut short', 2],
])(
  'A2, A6: a list that %s proves nothing below its rows, while the archive has older operations that are still served',
  async (_how, shown) => {
    const store = await createTestStore(inject('postgresUrl'));
    let isCut = false;
    const cut: typeof fetch = async (input, init) => {
      const answer = await fetch(input, init);
      const { pathname } = new URL(input instanceof Request ? input.url : input);
      if (!isCut || !pathname.endsWith('/operations') || !answer.ok) return answer;
      const { operations } = (await answer.json()) as { operations: object[] };
      const { headers } = answer;
      return Response.json(
        { operations: operations.slice(0, shown) },
        { headers: { date: headers.get('date') ?? '' } },
      );
    };
    const fixture = await makeFixture(store, { client: { fetch: cut } });
    await fixture.controls.generate({ ...company, projects: 1, operations: 200 });
    const [project] = await fixture.controls.projects();
    await pass(fixture);
    await fixture.controls.advance(3 * 3600);
    await fixture.controls.addOperations(project?.id, [
      { count: 3, age_seconds: 7200, late_seconds: 0 },
      { count: 2, age_seconds: 3600, late_seconds: 0 },
    ]);
    const missed = async () => {
      const { served } = await fixture.controls.operations(project?.id);
      const stored = new Set((await store.sql`select id from keywarden.operation`).map(({ id }) => String(id)));
      return served.filter((id) => !stored.has(id)).length;
    };
    const covers = async () => {
      const [row] = await store.sql`
        select known @> ${await fixture.controls.now()}::timestamptz - interval '90 minutes' as is_known from keywarden.operation_coverage`;
      return row?.is_known;
    };
    isCut = true;
    await pass(fixture);
    expect(await missed()).toBeGreaterThanOrEqual(5 - shown);
    expect(await covers()).toBe(false);
    isCut = false;
    await pass(fixture);
    expect(await missed()).toBe(0);
    expect(await covers()).toBe(true);
    await fixture.close();
    await store.close();
  },
);
