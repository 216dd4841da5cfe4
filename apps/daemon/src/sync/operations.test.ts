import { listProjectsToWalk } from '@keywarden/db/daemon';
import { listCoverage } from '@keywarden/db/report';
import { connectionOf, type Fixture, makeFixture } from '@keywarden/testkit/daemon/fixture';
import { createTestStore, type TestStore } from '@keywarden/testkit/store/test-store';
import { afterAll, beforeAll, expect, inject, test } from 'vitest';
import { openConnections } from '../connect.ts';
import { discoverProjects } from './discover.ts';
import { syncOperations } from './operations.ts';

let store: TestStore;
let fixture: Fixture;
beforeAll(async () => {
  store = await createTestStore(inject('postgresUrl'));
  fixture = await makeFixture(store);
  await fixture.controls.generate({ organizations: 2, projects: 6, keys: 0, operations: 20_000, seed: 5 });
});
afterAll(async () => {
  await fixture.close();
  await store.close();
});

interface Truth {
  id: string;
  served: string[];
}

/** Returns every project with the ids that the sandbox serves. */
async function truth(): Promise<Truth[]> {
  const projects = await fixture.controls.projects();
  return await Promise.all(
    projects.map(async ({ id }) => ({
      id,
      ...(await fixture.controls.operations(id)),
    })),
  );
}

async function stored(projectId: string): Promise<string[]> {
  const rows = await store.sql<{ id: string }[]>`
    select o.id from keywarden.operation o join keywarden.project p on p.number = o.project_number where p.id = ${projectId}`;
  return rows.map((row) => row.id);
}

const sync = async () => await syncOperations(fixture.context, connectionOf(fixture));

test('A1: every operation that the control plane serves is in the store, once; a second sync writes nothing new', async () => {
  const counts = await sync();
  expect(counts.inserted).toBeGreaterThan(10_000);
  for (const { id, served } of await truth()) expect((await stored(id)).toSorted()).toEqual(served.toSorted());
  expect(await sync()).toMatchObject({ inserted: 0, changed: 0 });
});

test('with nothing new a sync makes one request a project besides the discovery, and writes no operation and no version', async () => {
  // All operations have ended, and a busy day is inside the overlap: it has more operations than a smallest page holds.
  await fixture.controls.advance(2 * 86_400);
  const [busy] = await fixture.controls.projects();
  const groups = Array.from({ length: 300 }, (_, index) => ({ count: 2, age_seconds: 60 + index * 60 }));
  await fixture.controls.addOperations(busy?.id, groups);
  await fixture.reconnect();
  await sync();
  await fixture.controls.resetStats();
  const rows = async () =>
    await store.sql`select xmin::text, ctid::text, tableoid::text from keywarden.operation
      union all select xmin::text, ctid::text, tableoid::text from keywarden.operation_version order by 1, 2, 3`;
  const before = [...(await rows())];
  expect(await sync()).toMatchObject({ projects: 6, inserted: 0, changed: 0 });
  expect([...(await rows())]).toEqual(before);
  const { by_route: routes } = await fixture.controls.stats();
  expect(Object.entries(routes).map(([route, { requests }]) => [route, requests])).toEqual(
    expect.arrayContaining([
      ['GET /users/me/organizations', 1],
      // For each organization, a list that ends with an empty page, and the list of deleted projects.
      ['GET /projects', 6],
      ['GET /projects/{project_id}/operations', 6],
    ]),
  );
  expect(routes).not.toHaveProperty('GET /projects/{project_id}/operations/{operation_id}');
});

test('projects with a changed list entry are read first, then those with the oldest last walk', async () => {
  const [first] = await store.sql`select id, number from keywarden.project order by number desc limit 1`;
  await fixture.ask('PATCH', `/projects/${String(first?.id)}`, { project: { name: 'renamed' } });
  await sync();
  // Walks begin at whole seconds of the control plane. Only after another pass are they all younger than the changes listed so far.
  await fixture.controls.advance(60);
  await fixture.reconnect();
  await sync();
  const [organization] =
    await store.sql`select organization_id, control_plane_number from keywarden.project where number = ${String(first?.number)}`;
  await fixture.controls.advance(60);
  await fixture.ask('PATCH', `/projects/${String(first?.id)}`, { project: { name: 'renamed again' } });
  await fixture.reconnect();
  const asked = {
    controlPlane: String(organization?.control_plane_number),
    organizationIds: [String(organization?.organization_id)],
    servedSince: '2026-01-01T00:00:00Z',
    triedSince: '2026-01-01T00:00:00Z',
    overlapMs: 86_400_000,
  };
  const { projects } = await discoverProjects(fixture.context, connectionOf(fixture));
  expect(projects[0]?.id).toBe(first?.id);
  expect((await listProjectsToWalk(fixture.context.store.db, asked))[0]?.id).toBe(first?.id);
});

test('A4: an unfinished operation is followed until it has ended, with every version kept', async () => {
  const [open] =
    await store.sql`select count(*)::int as n from keywarden.operation where status in ('running', 'scheduling')`;
  const [versions] = await store.sql`select count(*)::int as n from keywarden.operation_version`;
  expect(open?.n).toBe(0);
  expect(versions?.n).toBeGreaterThan(0);
});

test('A6: what the control plane prunes stays in the archive', async () => {
  const before = (await Promise.all((await truth()).map(({ id }) => stored(id)))).flat();
  await fixture.controls.advance(60 * 86_400);
  await fixture.reconnect();
  await sync();
  const after = await truth();
  const served = new Set(after.flatMap(({ served: ids }) => ids));
  expect(before.some((id) => !served.has(id))).toBe(true);
  const kept = new Set((await Promise.all(after.map(({ id }) => stored(id)))).flat());
  expect(before.filter((id) => !kept.has(id))).toEqual([]);
});

test('a project that cannot be read does not stop the others, and is named', async () => {
  await fixture.controls.setFaults([
    { path: '/projects/{project_id}/operations', kind: 'status', status: 403, times: 1 },
  ]);
  await expect(sync()).rejects.toThrow(/The operations of 1 of 6 projects could not be read completely: [\w-]+ \(/);
  await fixture.controls.setFaults([]);
  const [run] = await store.sql`select status, counts from keywarden.sync_run order by number desc limit 1`;
  expect(run).toMatchObject({ status: 'failed', counts: { projects: 6 } });
});

test('projects that a list leaves out as unavailable are not treated as gone', async () => {
  await fixture.controls.setFaults([{ path: '/projects', kind: 'partial_projects' }]);
  await sync();
  await sync();
  await fixture.controls.setFaults([]);
  const [row] =
    await store.sql`select count(*)::int as n from keywarden.project where gone_at is not null or missing_since is not null`;
  expect(row?.n).toBe(0);
});

test('an operation that was pruned before it ended is requested once, and its stored versions stay', async () => {
  const [project] = await store.sql`select number from keywarden.project order by number limit 1`;
  await store.sql`update keywarden.operation set status = 'running' where ctid = (
    select ctid from keywarden.operation where project_number = ${String(project?.number)} order by created_at limit 1)
    and project_number = ${String(project?.number)} and created_at = (
    select min(created_at) from keywarden.operation where project_number = ${String(project?.number)})`;
  await fixture.controls.resetStats();
  await sync();
  await sync();
  const { by_route: routes } = await fixture.controls.stats();
  expect(routes['GET /projects/{project_id}/operations/{operation_id}']?.requests).toBe(1);
});

test('A4: an operation that must still be served is followed on, although a request for it finds nothing', async () => {
  // So far below the newest that it is requested by its id.
  const [open] = await store.sql`
    update keywarden.operation set status = 'running' where id = (
      select id from keywarden.operation
      where created_at > (select max(walked_at) from keywarden.project) - interval '170 days' order by created_at limit 1)
    returning id`;
  const path = '/projects/{project_id}/operations/{operation_id}';
  await fixture.controls.setFaults([{ path, kind: 'status', status: 404, times: 1 }]);
  await fixture.controls.resetStats();
  await sync();
  const { by_route: routes } = await fixture.controls.stats();
  expect(routes[`GET ${path}`]?.requests).toBe(1);
  await sync();
  const [row] = await store.sql`select status from keywarden.operation where id = ${String(open?.id)}`;
  expect(row?.status).toBe('finished');
});

test('R7: a connection whose credential is refused does not stop the others', async () => {
  const [main] = fixture.context.config.connections;
  if (main === undefined) throw new Error('the fixture has no connection');
  const config = { ...fixture.context.config, connections: [{ ...main, name: 'refused', apiKey: 'napi_wrong' }, main] };
  const failed: string[] = [];
  const opened = await openConnections(
    fixture.context.store.sql,
    { ...fixture.context, config },
    (name) => void failed.push(name),
  );
  expect(opened.map(({ name }) => name)).toEqual(['main']);
  expect(failed).toEqual(['refused']);
});

test('A3: an interrupted first walk resumes at its last page, and a walk from the newest operation follows', async () => {
  const own = await createTestStore(inject('postgresUrl'));
  const other = await makeFixture(own);
  await other.controls.setSettings({ pagination: 'full_pages' });
  await other.controls.generate({ organizations: 1, projects: 1, keys: 0, operations: 4000, months: 5 });
  const requests = async () => {
    const { by_route: routes } = await other.controls.stats();
    await other.controls.resetStats();
    return routes['GET /projects/{project_id}/operations']?.requests;
  };
  const cut = { path: '/projects/{project_id}/operations', kind: 'status', status: 403, after: 6, times: 1 };
  await other.controls.setFaults([cut]);
  await expect(syncOperations(other.context, connectionOf(other))).rejects.toThrow(/could not be read completely/);
  expect(await requests()).toBe(7);
  // Three pages of four and their proofs are done. The last page is read and found short, and the newest is read again.
  expect(await syncOperations(other.context, connectionOf(other))).toMatchObject({ resumed_walks: 1 });
  expect(await requests()).toBeLessThan(7);
  const [row] = await own.sql`select count(*)::int as n from keywarden.operation`;
  expect(row?.n).toBe(4000);
  await other.close();
  await own.close();
});

test('a page that fails does not keep newer operations out, and the project is named until the page succeeds', async () => {
  const own = await createTestStore(inject('postgresUrl'));
  const other = await makeFixture(own);
  await other.controls.generate({ organizations: 1, projects: 1, keys: 0, operations: 3000, months: 5 });
  const [project] = await other.controls.projects();
  const route = { path: '/projects/{project_id}/operations', kind: 'status', status: 403 };
  const pass = async () => await syncOperations(other.context, connectionOf(other));
  await other.controls.setFaults([{ ...route, after: 4, times: 1 }]);
  await expect(pass()).rejects.toThrow(project?.id);
  const [[added]] = (await other.controls.addOperations(project?.id, [{}])) as [[string]];
  // The page where the walk stopped fails again; the newest operations are read all the same.
  await other.controls.setFaults([{ ...route, times: 1 }]);
  await expect(pass()).rejects.toThrow(project?.id);
  expect(await own.sql`select 1 from keywarden.operation where id = ${added}`).toHaveLength(1);
  expect(await pass()).toMatchObject({ resumed_walks: 1 });
  const [row] = await own.sql`select count(*)::int as n from keywarden.operation`;
  expect(row?.n).toBe(3001);
  await other.close();
  await own.close();
});

test("nothing is archived while the local clock and the control plane's are far apart, since a wrong claim would be permanent", async () => {
  const connection = { ...connectionOf(fixture), isSandbox: false, skewMs: 86_400_000 };
  await expect(syncOperations(fixture.context, connection)).rejects.toThrow(
    /the control plane's clock is 86400 s ahead of this machine's/,
  );
});

test('a month that was dropped during this process is created again for a project with late operations', async () => {
  const own = await createTestStore(inject('postgresUrl'));
  const other = await makeFixture(own);
  const company = { organizations: 1, projects: 1, keys: 0, operations: 500, months: 4 };
  await other.controls.generate(company);
  await syncOperations(other.context, connectionOf(other));
  const [oldest] = await own.sql`select min(tableoid::regclass::text) as name from keywarden.operation`;
  await own.sql.unsafe(`drop table ${String(oldest?.name)}`);
  await other.controls.generate(company);
  expect(await syncOperations(other.context, connectionOf(other))).toMatchObject({ inserted: 500 });
  await other.close();
  await own.close();
});

test('A6: a project that vanishes between its listing and its walk stops nothing; it is kept, marked, and its coverage ends there', async () => {
  const [gone] = (await fixture.controls.projects()).toReversed();
  const kept = await stored(gone?.id ?? '');
  const known = async () =>
    (await listCoverage(fixture.context.store.db, { projectId: gone?.id, limit: 1 }))[0]?.coverage;
  await fixture.ask('DELETE', `/projects/${gone?.id}`);
  const before = await known();
  await sync();
  await fixture.controls.advance(3600);
  await fixture.reconnect();
  await sync();
  const after = await known();
  expect((await stored(gone?.id ?? '')).toSorted()).toEqual(kept.toSorted());
  expect(after?.gone_at).not.toBeNull();
  expect(after?.known).toEqual(before?.known);
  expect(after?.unknown.at(-1)?.reason).toBe('deleted');
});
