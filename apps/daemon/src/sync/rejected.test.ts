import { connectionOf, makeFixture } from '@keywarden/testkit/daemon/fixture';
import { createTestStore } from '@keywarden/testkit/store/test-store';
import { expect, inject, test } from 'vitest';
import { syncKeys } from './keys.ts';
import { syncOperations } from './operations.ts';

type Row = Record<string, unknown>;
type Rows = Row[];

/** Returns a fetch that changes the rows of lists of operations. */
const changing =
  (change: (row: Row) => Row): typeof fetch =>
  async (input, init) => {
    const answer = await fetch(input, init);
    const { pathname } = new URL(input instanceof Request ? input.url : input);
    if (!pathname.endsWith('/operations') || !answer.ok) return answer;
    const body = (await answer.json()) as Record<string, Rows>;
    const operations = (body.operations ?? []).map(change);
    return Response.json({ ...body, operations }, { headers: { date: answer.headers.get('date') ?? '' } });
  };

test('R7, A2: unreadable rows are kept apart, not claimed, and make nothing absent; once they are readable, all is complete', async () => {
  const store = await createTestStore(inject('postgresUrl'));
  let isOdd = true;
  const odd: typeof fetch = async (input, init) => {
    const answer = await fetch(input, init);
    const { pathname } = new URL(input instanceof Request ? input.url : input);
    const list = ['operations', 'projects', 'members', 'organizations'].find((name) => pathname.endsWith(`/${name}`));
    if (!isOdd || list === undefined || !answer.ok) return answer;
    const body = (await answer.json()) as Record<string, Rows>;
    // A leap second, which no clock here has, and in each other list a row without its id.
    const spoilt = (body[list] ?? []).map((row, index) => {
      if (index !== 1) return row;
      return list === 'operations'
        ? { ...row, created_at: '2026-06-30T23:59:60Z', api_key: 'a secret' }
        : { ...row, id: 7, member: null };
    });
    return Response.json({ ...body, [list]: spoilt }, { headers: { date: answer.headers.get('date') ?? '' } });
  };
  const fixture = await makeFixture(store, { client: { fetch: odd } });
  await fixture.controls.generate({ organizations: 2, projects: 3, keys: 2, operations: 1500, months: 1 });
  const served = async () => {
    const projects = await fixture.controls.projects();
    const lists = projects.map(({ id }) => fixture.controls.operations(id));
    return (await Promise.all(lists)).flatMap(({ served: ids }) => ids);
  };
  const sync = async () => {
    await fixture.controls.advance(86_400);
    await fixture.reconnect();
    await syncKeys(fixture.context, connectionOf(fixture));
    return await syncOperations(fixture.context, connectionOf(fixture));
  };
  const claimed = async () => {
    const [row] = await store.sql`
      select count(*)::int as n from keywarden.operation_coverage where not isempty(known)`;
    return Number(row?.n);
  };
  expect((await sync()).rejected_rows).toBeGreaterThan(0);
  const kept = await store.sql`select distinct list from keywarden.rejected_row order by 1`;
  expect(kept.map(({ list }) => list)).toEqual(['members', 'operations', 'organizations', 'projects']);
  const [secret] =
    await store.sql`select count(*)::int as n from keywarden.rejected_row where record::text like '%a secret%'`;
  expect(secret?.n).toBe(0);
  const stored = async () => (await store.sql`select id from keywarden.operation`).map(({ id }) => String(id));
  expect((await stored()).length).toBeGreaterThan(0);
  expect(await claimed()).toBe(0);

  isOdd = false;
  await sync();
  const all = new Set(await stored());
  expect((await served()).filter((id) => !all.has(id))).toEqual([]);
  expect(await claimed()).toBe(3);
  const [unclaimed] = await store.sql`
    select count(*)::int as n from keywarden.operation o join keywarden.operation_coverage c on c.project_number = o.project_number
    where not c.known @> o.created_at and o.created_at < upper(c.known)`;
  expect(unclaimed?.n).toBe(0);
  const [gone] =
    await store.sql`select count(*)::int as n from keywarden.project where gone_at is not null or missing_since is not null`;
  expect(gone?.n).toBe(0);
  await fixture.close();
  await store.close();
});

test('R7, A2: if the oldest row of a list was unreadable, it is requested again a day later, even if the end was read', async () => {
  const store = await createTestStore(inject('postgresUrl'));
  let isOdd = true;
  let oldest: string | null = null;
  const odd = changing((row) => (isOdd && row.id === oldest ? { ...row, status: null } : row));
  const startMs = Date.now();
  const fixture = await makeFixture(store, { client: { fetch: odd }, sandbox: { realNowMs: () => startMs } });
  await fixture.controls.setSettings({ times: 'microseconds', pagination: 'full_pages' });
  await fixture.controls.generate({ organizations: 1, projects: 1, keys: 0, operations: 30, months: 1, seed: 4 });
  const [project] = await fixture.controls.projects();
  // As old as the project, to the microsecond.
  const { project: record } = await fixture.ask<{ project: { created_at: string } }>('GET', `/projects/${project?.id}`);
  const micros = Number(/\.\d{3}(\d{3})/.exec(record.created_at)?.[1] ?? 0);
  const age = (startMs - Date.parse(record.created_at)) / 1000 - micros / 1e6;
  await fixture.controls.addOperations(project?.id, [{ count: 1, age_seconds: age }]);
  const { served } = await fixture.controls.operations(project?.id);
  oldest = served.at(-1) ?? null;
  // The first page ends between the two operations that are as old as the project, and proves all above them.
  fixture.context.config.operations = { ...fixture.context.config.operations, page_limit: served.length - 1 };
  const sync = async () => {
    await fixture.reconnect();
    await syncOperations(fixture.context, connectionOf(fixture));
    const [row] = await store.sql`
      select exists (select from keywarden.operation where id = ${oldest}) as is_stored,
        exists (select from keywarden.operation_coverage c join keywarden.project p on p.number = c.project_number
          where c.known @> p.created_at) as is_known`;
    return [row?.is_stored, row?.is_known];
  };
  expect(await sync()).toEqual([false, false]);
  await fixture.controls.advance(8 * 86_400);
  isOdd = false;
  expect(await sync()).toEqual([true, true]);
  await fixture.close();
  await store.close();
});

test('A2: an unreadable row takes back what was claimed of its time, until it can be read; one whose earlier version is stored takes back nothing', async () => {
  const store = await createTestStore(inject('postgresUrl'));
  const oddIds = new Set<unknown>();
  let spoilt: object = { status: null };
  const odd = changing((row) => (oddIds.has(row.id) ? { ...row, ...spoilt } : row));
  const fixture = await makeFixture(store, { client: { fetch: odd } });
  await fixture.controls.generate({ organizations: 1, projects: 1, keys: 0, operations: 0, months: 1 });
  const [project] = await fixture.controls.projects();
  const add = async (hours: number) =>
    await fixture.controls.addOperations(project?.id, [{ count: 1, age_seconds: hours * 3600 }]);
  const sync = async () => {
    await fixture.reconnect();
    await syncOperations(fixture.context, connectionOf(fixture));
    const rows = await store.sql`
      select (select count(*)::int from unnest(c.known)) as intervals,
        c.known @> (select created_at from keywarden.operation where id = any(${ids}::uuid[]) order by created_at limit 1) as has_oldest
      from keywarden.operation_coverage c`;
    return [rows[0]?.intervals, rows[0]?.has_oldest];
  };
  const ids: string[] = [];
  for (const hours of [9, 3]) await add(hours);
  ids.push(...(await fixture.controls.operations(project?.id)).served);
  expect(await sync()).toEqual([1, true]);
  // Six hours ago, and first shown now.
  await add(6);
  const late = (await fixture.controls.operations(project?.id)).served.find((id) => !ids.includes(id));
  oddIds.add(late);
  // Its own time, which can be read, is taken back; without one, all times between its neighbours.
  expect(await sync()).toEqual([2, true]);
  spoilt = { created_at: '2026-06-30T23:59:60Z' };
  expect(await sync()).toEqual([2, false]);
  oddIds.clear();
  expect(await sync()).toEqual([1, true]);
  oddIds.add(late);
  expect(await sync()).toEqual([1, true]);
  await fixture.close();
  await store.close();
});

test('A6: a walk whose last page has an unreadable row is not recorded as one that reached the end', async () => {
  const store = await createTestStore(inject('postgresUrl'));
  let oldest: string | null = null;
  const odd = changing((row) => (row.id === oldest ? { ...row, status: null } : row));
  const fixture = await makeFixture(store, { client: { fetch: odd } });
  await fixture.controls.generate({ organizations: 1, projects: 1, keys: 0, operations: 0, months: 1 });
  const [project] = await fixture.controls.projects();
  for (const hours of [9, 6, 3])
    await fixture.controls.addOperations(project?.id, [{ count: 1, age_seconds: hours * 3600 }]);
  oldest = (await fixture.controls.operations(project?.id)).served.at(-1) ?? null;
  const walks = async () => {
    await fixture.reconnect();
    await syncOperations(fixture.context, connectionOf(fixture));
    return (await store.sql`select to_end from keywarden.completed_walk`).map((row) => row.to_end);
  };
  expect(await walks()).toEqual([false]);
  oldest = null;
  expect(await walks()).toContain(true);
  await fixture.close();
  await store.close();
});

test('A1: rows that share the time of an unreadable row are read, even if that row is the last of a page that only one time fills', async () => {
  const store = await createTestStore(inject('postgresUrl'));
  let unreadable: unknown;
  const odd = changing((row) => (row.id === unreadable ? { ...row, status: null } : row));
  const fixture = await makeFixture(store, { client: { fetch: odd } });
  await fixture.controls.generate({ organizations: 1, projects: 1, keys: 0, operations: 0, months: 1 });
  const [project] = await fixture.controls.projects();
  const groups = [
    { count: 4, age_seconds: 7200 },
    { count: 3, age_seconds: 7201 },
  ];
  await fixture.controls.addOperations(project?.id, groups);
  const { served } = await fixture.controls.operations(project?.id);
  // The first page has all four rows of one time, and this one.
  unreadable = served[4];
  fixture.context.config.operations = { ...fixture.context.config.operations, page_limit: 5 };
  await fixture.reconnect();
  await syncOperations(fixture.context, connectionOf(fixture));
  const stored = (await store.sql`select id from keywarden.operation`).map(({ id }) => String(id));
  expect(stored.toSorted()).toEqual(served.filter((id) => id !== unreadable).toSorted());
  await fixture.close();
  await store.close();
});

test('A4: a request for an operation that answers with another time of creation stores nothing, and the project is named', async () => {
  const store = await createTestStore(inject('postgresUrl'));
  let isOdd = true;
  const odd: typeof fetch = async (input, init) => {
    const answer = await fetch(input, init);
    const { pathname } = new URL(input instanceof Request ? input.url : input);
    if (!isOdd || !/\/operations\/[^/]+$/.test(pathname)) return answer;
    const { operation } = (await answer.json()) as { operation: Row };
    return Response.json({ operation: { ...operation, created_at: '2020-01-01T00:00:00Z' } });
  };
  const fixture = await makeFixture(store, { client: { fetch: odd } });
  await fixture.controls.generate({ organizations: 1, projects: 1, keys: 0, operations: 0, months: 1 });
  const [project] = await fixture.controls.projects();
  const groups = Array.from({ length: 40 }, (_, index) => ({ count: 1, age_seconds: (30 + index) * 3600 }));
  await fixture.controls.addOperations(project?.id, groups);
  // Small pages, so that the oldest operation is requested by its id.
  fixture.context.config.operations = { ...fixture.context.config.operations, page_limit: 5 };
  const sync = async () => await syncOperations(fixture.context, connectionOf(fixture));
  const stored = async () => await store.sql`select status, created_at from keywarden.operation order by created_at`;
  await sync();
  const before = await stored();
  await store.sql`update keywarden.operation set status = 'running' where created_at = (select min(created_at) from keywarden.operation)`;
  await expect(sync()).rejects.toThrow('another time of creation');
  expect((await stored()).map((row) => row.created_at)).toEqual(before.map((row) => row.created_at));
  isOdd = false;
  await sync();
  expect(await stored()).toEqual(before);
  await fixture.close();
  await store.close();
});
