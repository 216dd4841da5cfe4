import { createTestStore, type TestStore } from '@keywarden/db/testing';
import { afterAll, beforeAll, expect, inject, test } from 'vitest';
import { openConnections } from '../connect.ts';
import { type Bed, connectionOf, makeBed } from '../testing.ts';
import { syncOperations } from './operations.ts';
import { walkOperations } from './walk.ts';

let store: TestStore;
let bed: Bed;
beforeAll(async () => {
  store = await createTestStore(inject('postgresUrl'));
  bed = await makeBed(store);
  await bed.control('POST', 'generate', { organizations: 2, projects: 6, keys: 0, operations: 20_000, seed: 5 });
});
afterAll(async () => {
  await bed.close();
  await store.close();
});

interface Truth {
  id: string;
  served: string[];
}

/** Every project with the ids that the sandbox serves. */
async function truth(): Promise<Truth[]> {
  const projects = await bed.control<{ id: string }[]>('GET', 'projects');
  return await Promise.all(
    projects.map(async ({ id }) => ({
      id,
      ...(await bed.control<{ served: string[] }>('GET', `operations?project_id=${id}`)),
    })),
  );
}

async function stored(projectId: string): Promise<string[]> {
  const rows = await store.sql<{ id: string }[]>`
    select o.id from keywarden.operation o join keywarden.project p on p.number = o.project_number where p.id = ${projectId}`;
  return rows.map((row) => row.id);
}

const sync = async () => await syncOperations(bed.context, connectionOf(bed));

test('A1: every operation that the control plane serves is in the store, once; a second sync writes nothing new', async () => {
  const counts = await sync();
  expect(counts.inserted).toBeGreaterThan(10_000);
  for (const { id, served } of await truth()) expect((await stored(id)).toSorted()).toEqual(served.toSorted());
  expect(await sync()).toMatchObject({ inserted: 0, changed: 0 });
});

test('with nothing new a sync asks once a project, and once for each operation that is still going on', async () => {
  await bed.control('POST', 'clock', { advance_seconds: 2 * 86_400 });
  await bed.reconnect();
  await sync();
  await bed.control('DELETE', 'stats');
  await sync();
  const { by_route: routes } = await bed.control<{ by_route: Record<string, { requests: number }> }>('GET', 'stats');
  expect(routes['GET /projects/{project_id}/operations']?.requests).toBe(6);
});

test('A4: an operation that was going on is followed until it has ended, with every version kept', async () => {
  const [open] =
    await store.sql`select count(*)::int as n from keywarden.operation where status in ('running', 'scheduling')`;
  const [versions] = await store.sql`select count(*)::int as n from keywarden.operation_version`;
  expect(open?.n).toBe(0);
  expect(versions?.n).toBeGreaterThan(0);
});

test('A6: what the control plane prunes stays', async () => {
  const before = (await Promise.all((await truth()).map(({ id }) => stored(id)))).flat();
  await bed.control('POST', 'clock', { advance_seconds: 60 * 86_400 });
  await bed.reconnect();
  await sync();
  const after = await truth();
  const served = new Set(after.flatMap(({ served: ids }) => ids));
  expect(before.some((id) => !served.has(id))).toBe(true);
  expect((await Promise.all(after.map(({ id }) => stored(id)))).flat()).toEqual(expect.arrayContaining(before));
});

test('a project that cannot be read does not stop the others, and is named', async () => {
  await bed.control('PUT', 'faults', [
    { path: '/projects/{project_id}/operations', kind: 'status', status: 403, times: 1 },
  ]);
  await expect(sync()).rejects.toThrow(/The operations of 1 of 6 projects could not be read whole/);
  await bed.control('PUT', 'faults', []);
  const [run] = await store.sql`select status, counts from keywarden.sync_run order by number desc limit 1`;
  expect(run).toMatchObject({ status: 'failed', counts: { projects: 6 } });
});

test('projects that a list leaves out as unavailable are not taken for gone', async () => {
  await bed.control('PUT', 'faults', [{ path: '/projects', kind: 'partial_projects' }]);
  await sync();
  await sync();
  await bed.control('PUT', 'faults', []);
  const [row] =
    await store.sql`select count(*)::int as n from keywarden.project where gone_at is not null or missing_since is not null`;
  expect(row?.n).toBe(0);
});

/** A control plane of one project whose operations bear these times, newest first, with cursors strictly below. */
function fakeLists(times: string[]) {
  const rows = times.map((createdAt, index) => ({ createdAt, id: String(index) }));
  return {
    operationsPage: async (
      _project: string,
      { limit = 1000, cursor }: { limit?: number; cursor?: string | undefined } = {},
    ) => {
      const items = rows.filter((row) => cursor === undefined || row.createdAt < cursor).slice(0, limit);
      return { items, cursor: items.length === limit ? (items.at(-1)?.createdAt ?? null) : null, dateMs: 0 } as never;
    },
  };
}

const walkOf = {
  projectId: 'p',
  floor: null,
  datedAt: () => '2026-01-01T00:00:00Z',
  signal: new AbortController().signal,
};

async function walkAll(times: string[]) {
  const seen = new Set<string>();
  const unproved: string[] = [];
  const walk = walkOperations(fakeLists(times), walkOf);
  for await (const page of walk) {
    for (const each of page.operations) seen.add(each.id);
    if (page.unprovedAt !== undefined) unproved.push(page.unprovedAt);
  }
  return { seen: seen.size, unproved };
}

const instant = (second: number) => new Date(Date.UTC(2026, 0, 1) - second * 1000).toISOString();

test('A2: a walk loses no row of an instant on which a page ends', async () => {
  for (const group of [2, 3, 700, 999]) {
    const times = Array.from({ length: 4000 }, (_, index) => instant(Math.floor(index / group)));
    expect(await walkAll(times)).toEqual({ seen: 4000, unproved: [] });
  }
});

test('A2, the twin: following the cursors alone loses rows of such an instant', async () => {
  const times = Array.from({ length: 4000 }, (_, index) => instant(Math.floor(index / 3)));
  const { operationsPage } = fakeLists(times);
  const seen = new Set<string>();
  for (let cursor: string | undefined; ; ) {
    const page: { items: { id: string }[]; cursor: string | null } = await operationsPage('p', { limit: 1000, cursor });
    for (const each of page.items) seen.add(each.id);
    if (page.cursor === null) break;
    cursor = page.cursor;
  }
  expect(seen.size).toBeLessThan(4000);
});

test('A2: an instant that more operations bear than a page holds is named as not proved', async () => {
  const times = [
    ...Array.from({ length: 1500 }, () => instant(0)),
    ...Array.from({ length: 10 }, (_, index) => instant(index + 1)),
  ];
  expect(await walkAll(times)).toEqual({ seen: 1010, unproved: [instant(0)] });
});

/** Walks pages that are given as they are. */
async function walkPages(pages: object[]): Promise<unknown> {
  const queue = [...pages];
  const walk = walkOperations({ operationsPage: async () => queue.shift() as never }, walkOf);
  for await (const page of walk) expect(page).toBeDefined();
  return queue.length;
}

const rowsAt = (from: number) =>
  Array.from({ length: 1000 }, (_, index) => ({ id: String(from + index), createdAt: instant(from + index) }));

test('A2: a full page without a cursor proves nothing below it, and a list that does not go down never ends: both are errors', async () => {
  await expect(walkPages([{ items: rowsAt(0), cursor: null, dateMs: 0 }])).rejects.toThrow(/is full and has no cursor/);
  const again = { items: rowsAt(0), cursor: 'c', dateMs: 0 };
  await expect(walkPages([again, again, { ...again, items: rowsAt(-10), cursor: 'd' }])).rejects.toThrow(
    /does not go on/,
  );
});

test('A2: where the shorter page ends below the instant, rows having gone meanwhile, it is named as not proved', async () => {
  const shrunk = { items: rowsAt(500), cursor: 'low', dateMs: 0 };
  const pages = [{ items: rowsAt(0), cursor: 'c', dateMs: 0 }, shrunk, { items: [], cursor: null, dateMs: 0 }];
  const walk = walkOperations({ operationsPage: async () => pages.shift() as never }, walkOf);
  const unproved = [];
  for await (const page of walk) unproved.push(page.unprovedAt);
  expect(unproved).toEqual([instant(999), undefined]);
});

test('an operation that was pruned while it was going on is asked for once, and what was seen of it stays', async () => {
  const [project] = await store.sql`select number from keywarden.project order by number limit 1`;
  await store.sql`update keywarden.operation set status = 'running' where ctid = (
    select ctid from keywarden.operation where project_number = ${String(project?.number)} order by created_at limit 1)
    and project_number = ${String(project?.number)} and created_at = (
    select min(created_at) from keywarden.operation where project_number = ${String(project?.number)})`;
  await bed.control('DELETE', 'stats');
  await sync();
  await sync();
  const { by_route: routes } = await bed.control<{ by_route: Record<string, { requests: number }> }>('GET', 'stats');
  expect(routes['GET /projects/{project_id}/operations/{operation_id}']?.requests).toBe(1);
});

test('R7: a connection whose credential is refused does not stop the others', async () => {
  const [main] = bed.context.config.connections;
  if (main === undefined) throw new Error('the bed has no connection');
  const config = { ...bed.context.config, connections: [{ ...main, name: 'refused', apiKey: 'napi_wrong' }, main] };
  const failed: string[] = [];
  const opened = await openConnections(store.sql, { ...bed.context, config }, (name) => void failed.push(name));
  expect(opened.map(({ name }) => name)).toEqual(['main']);
  expect(failed).toEqual(['refused']);
});
