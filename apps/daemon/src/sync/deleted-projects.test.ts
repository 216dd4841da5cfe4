import { listCoverage } from '@keywarden/db/report';
import { connectionOf, type Fixture, makeFixture } from '@keywarden/testkit/daemon/fixture';
import { createTestStore, type TestStore } from '@keywarden/testkit/store/test-store';
import { afterEach, beforeEach, expect, inject, test } from 'vitest';
import { syncOperations } from './operations.ts';

let store: TestStore;
let fixture: Fixture;
/** The fetch between client and control plane, which a test may set. */
let way: typeof fetch;

beforeEach(async () => {
  way = fetch;
  store = await createTestStore(inject('postgresUrl'));
  fixture = await makeFixture(store, { client: { fetch: (...asked) => way(...asked) } });
  await fixture.controls.generate({ organizations: 1, projects: 3, keys: 0, operations: 300 });
});
afterEach(async () => {
  await fixture.close();
  await store.close();
});

/** Runs one pass a minute later. Returns the number of vanished projects, and what is stored of this one. */
async function pass(project: string) {
  await fixture.controls.advance(60);
  await fixture.reconnect();
  const { vanished_projects: vanished = 0 } = await syncOperations(fixture.context, connectionOf(fixture));
  const [row] = await store.sql`
    select deleted_at is not null as is_deleted, gone_at is not null as is_gone from keywarden.project where id = ${project}`;
  return { vanished, isDeleted: row?.is_deleted, isGone: row?.is_gone };
}

/** Creates a project that exists for an hour, between two passes. */
async function makeShortLived(): Promise<string> {
  const { organizations } = await fixture.ask<{ organizations: { id: string }[] }>('GET', '/users/me/organizations');
  const { project } = await fixture.ask<{ project: { id: string } }>('POST', '/projects', {
    project: { org_id: organizations[0]?.id, name: 'short-lived' },
  });
  await fixture.controls.advance(3600);
  await fixture.ask('DELETE', `/projects/${project.id}`);
  return project.id;
}

const someProject = async () => (await fixture.controls.projects())[0]?.id ?? '';

/** Returns a function. Once it is called, the list of deleted projects repeats its response of that time. */
function freezeDeleted(): () => void {
  let old: string | null = null;
  let isFrozen = false;
  way = async (input, init) => {
    const answer = await fetch(input, init);
    if (!new URL(input instanceof Request ? input.url : input).searchParams.has('recoverable')) return answer;
    const text = await answer.text();
    if (!isFrozen) old = text;
    return new Response(isFrozen ? old : text, { status: answer.status, headers: answer.headers });
  };
  return () => void (isFrozen = true);
}

test('A7: a project created and deleted between two passes is found among the recoverable ones, and requested once', async () => {
  await pass('');
  const project = await makeShortLived();
  expect(await pass(project)).toEqual({ vanished: 1, isDeleted: true, isGone: true });
  expect(await pass(project)).toEqual({ vanished: 0, isDeleted: true, isGone: true });
  const [{ coverage } = {}] = await listCoverage(fixture.context.store.db, { projectId: project, limit: 1 });
  expect(coverage?.unknown.map(({ reason }) => reason)).toEqual(['deleted']);
  await fixture.ask('POST', `/projects/${project}/recover`);
  expect(await pass(project)).toEqual({ vanished: 0, isDeleted: false, isGone: false });
  const [stored] = await store.sql`
    select count(*)::int as n from keywarden.operation o join keywarden.project p on p.number = o.project_number where p.id = ${project}`;
  expect(stored?.n).toBeGreaterThan(0);
});

test.each([400, 403, 404])(
  'operations of a deleted project that are answered with %i are requested once',
  async (status) => {
    await pass('');
    const project = await makeShortLived();
    let asked = 0;
    way = async (input, init) => {
      const { pathname } = new URL(input instanceof Request ? input.url : input);
      if (!pathname.endsWith(`/${project}/operations`)) return await fetch(input, init);
      asked += 1;
      const headers = { 'content-type': 'application/json', date: new Date().toUTCString() };
      return new Response('{"code":"","message":"no"}', { status, headers });
    };
    expect(await pass(project)).toEqual({ vanished: 1, isDeleted: true, isGone: true });
    expect(await pass(project)).toEqual({ vanished: 0, isDeleted: true, isGone: true });
    expect(asked).toBe(1);
  },
);

test('A6: operations of a deleted project that are locked for a while are requested again', async () => {
  await pass('');
  const project = await makeShortLived();
  const statuses: number[] = [];
  way = async (input, init) => {
    const { pathname } = new URL(input instanceof Request ? input.url : input);
    if (!pathname.endsWith(`/${project}/operations`)) return await fetch(input, init);
    statuses.push(statuses.length < 5 ? 423 : 404);
    const headers = { 'content-type': 'application/json', date: new Date().toUTCString() };
    return new Response('{"code":"","message":"no"}', { status: statuses.at(-1) ?? 404, headers });
  };
  expect(await pass(project)).toEqual({ vanished: 1, isDeleted: true, isGone: true });
  expect(await pass(project)).toEqual({ vanished: 1, isDeleted: true, isGone: true });
  expect(await pass(project)).toEqual({ vanished: 0, isDeleted: true, isGone: true });
  expect(statuses).toEqual([423, 423, 423, 423, 423, 404]);
});

test('A7: an outdated list of deleted projects marks no project gone that the list of projects shows', async () => {
  const freeze = freezeDeleted();
  const project = await someProject();
  await pass(project);
  await fixture.ask('DELETE', `/projects/${project}`);
  expect(await pass(project)).toMatchObject({ isGone: true });
  await fixture.ask('POST', `/projects/${project}/recover`);
  freeze();
  expect(await pass(project)).toMatchObject({ isGone: false });
});

test('A7: nor does it mark one that the list of projects leaves out as unavailable', async () => {
  const project = await someProject();
  await pass(project);
  const freeze = freezeDeleted();
  await fixture.ask('DELETE', `/projects/${project}`);
  expect(await pass(project)).toMatchObject({ isGone: true });
  await fixture.ask('POST', `/projects/${project}/recover`);
  expect(await pass(project)).toMatchObject({ isGone: false });
  await fixture.ask('DELETE', `/projects/${project}`);
  await pass(project);
  freeze();
  await fixture.ask('POST', `/projects/${project}/recover`);
  expect(await pass(project)).toMatchObject({ isGone: false });
  const frozen = way;
  way = async (input, init) => {
    const answer = await frozen(input, init);
    const { pathname, searchParams } = new URL(input instanceof Request ? input.url : input);
    if (!pathname.endsWith('/projects') || searchParams.has('recoverable')) return answer;
    const page = (await answer.json()) as { projects: { id: string }[] };
    const projects = page.projects.filter(({ id }) => id !== project);
    const body = JSON.stringify({ ...page, projects, unavailable_project_ids: [project] });
    return new Response(body, { status: answer.status, headers: answer.headers });
  };
  for (let times = 0; times < 3; times += 1) expect(await pass(project)).toMatchObject({ isGone: false });
});

test.each([
  ['cannot be read', { name: null }],
  ['cannot be read, and neither can its id,', { id: null }],
  ['has a number as its id', { id: 7 }],
  ['has an impossible creation time', { created_at: '1999-12-31T23:59:59Z' }],
  ['was created in the future', { created_at: '2999-01-01T00:00:00Z' }],
])('A7: a project whose row %s is not gone', async (_what, odd) => {
  const project = await someProject();
  await pass(project);
  way = async (input, init) => {
    const answer = await fetch(input, init);
    if (!new URL(input instanceof Request ? input.url : input).pathname.endsWith('/projects')) return answer;
    const page = (await answer.json()) as { projects: { id: string }[] };
    const projects = page.projects.map((row) => (row.id === project ? { ...row, ...odd } : row));
    return Response.json({ ...page, projects }, { headers: { date: answer.headers.get('date') ?? '' } });
  };
  for (let times = 0; times < 3; times += 1) expect(await pass(project)).toMatchObject({ isGone: false });
});
