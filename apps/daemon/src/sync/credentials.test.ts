import { listIncidents } from '@keywarden/db/daemon';
import { listInventoryGaps } from '@keywarden/db/report';
import { fixture, organization, store, useApplyFixture } from '@keywarden/testkit/daemon/apply-fixture';
import {
  branch,
  issue,
  list,
  listed,
  prepareProject,
  project,
  setAnswer,
  shown,
} from '@keywarden/testkit/daemon/credentials-fixture';
import { expect, test } from 'vitest';
import { planKeys } from '../enforce/plan.ts';

useApplyFixture();

const everything = async () => {
  const tables = ['credential', 'key_observation', 'rejected_row', 'sync_run', 'revocation_outcome', 'finding', 'plan'];
  const rows = await Promise.all(
    tables.map((table) => store.sql`select t::text from ${store.sql(`keywarden.${table}`)} t`),
  );
  return JSON.stringify(rows);
};

test('every kind of credential that gives access to a project is observed without its secret, each version with its changes', async () => {
  await prepareProject();
  const issued = await issue('backup');
  await fixture.ask('POST', `/projects/${project}/permissions`, { email: 'eve@agency.example' });
  await fixture.ask('POST', `/projects/${project}/jwks`, {
    jwks_url: 'https://user:hidden@keys.example/set.json?token=hidden',
    provider_name: 'Clerk',
  });
  await listed();
  const all = await shown({ state: 'active' });
  expect(new Set(all.map(({ kind }) => kind))).toEqual(
    new Set(['branch_credential', 'role', 'project_permission', 'project_member', 'jwks']),
  );
  expect(all.find(({ kind }) => kind === 'branch_credential')).toMatchObject({
    id: `${branch}/${issued.token_id}`,
    name: 'backup',
    branch_id: branch,
    expires_at: null,
    detail: { scopes: ['storage:read'], principal_type: 'user' },
  });
  expect(all.find(({ name }) => name === 'eve@agency.example')).toMatchObject({
    kind: 'project_permission',
    holder: 'eve@agency.example',
  });
  expect(all.find(({ kind }) => kind === 'jwks')?.detail).toMatchObject({ url: 'https://keys.example' });
  // The records do not name a creator: the project's owner is responsible.
  expect(new Set(all.map(({ owner }) => owner))).not.toContain('unknown');
  const stored = await everything();
  for (const secret of [issued.api_token, issued.s3_secret_access_key, 'hidden']) expect(stored).not.toContain(secret);
  // They are in no list of keys, and a rule that does not name their kind finds nothing.
  const keys = await store.sql`select distinct kind from keywarden.key`;
  expect(keys.map(({ kind }) => kind)).not.toContain('role');
  const plan = await planKeys(fixture.context, fixture.connections);
  expect(plan.judgements).toEqual([]);
});

test('a role that was dropped and created again is a new one, and opens no incident', async () => {
  await prepareProject();
  const roles = `/projects/${project}/branches/${branch}/roles`;
  await fixture.ask('POST', roles, { role: { name: 'app' } });
  await fixture.controls.advance(60);
  await fixture.ask('POST', roles, { role: { name: 'group', no_login: true } });
  await listed();
  expect((await shown({ kind: 'role' })).map(({ name }) => name)).not.toContain('group');
  await fixture.ask('DELETE', `${roles}/app`);
  await fixture.controls.advance(60);
  await fixture.ask('POST', roles, { role: { name: 'app' } });
  await listed();
  const app = (await shown({ kind: 'role' })).filter(({ name }) => name === 'app');
  expect(app.map(({ state }) => state)).toEqual(['gone', 'active']);
  expect(await listIncidents(store.db, { isOpen: true, limit: 10 })).toEqual([]);
});

test('A7: a forbidden or incomplete list ends nothing', async () => {
  await prepareProject();
  await issue('backup');
  await fixture.ask('POST', `/projects/${project}/permissions`, { email: 'eve@agency.example' });
  await listed();
  const before = await shown({ state: 'active' });
  const refused = (path: string, status: number) => ({ method: 'GET', path, kind: 'status', status, times: 100 });
  await fixture.controls.setFaults([
    refused('/projects/{project_id}/permissions', 403),
    refused('/projects/{project_id}/jwks', 501),
    refused('/projects/{project_id}/branches/{branch_id}/credentials', 404),
  ]);
  // Without a single branch's list, the service does not offer it.
  for (let pass = 0; pass < 3; pass += 1) expect(await listed()).toMatchObject({ hidden_lists: 3 });
  expect(await store.sql`select from keywarden.key_listing where why_suspect is not null`).toEqual([]);
  await fixture.ask('POST', `/projects/${project}/branches`, { branch: { name: 'second' } });
  for (let pass = 0; pass < 3; pass += 1) {
    const once = { ...refused('/projects/{project_id}/branches/{branch_id}/credentials', 404), times: 1 };
    await fixture.controls.setFaults([once]);
    expect(await listed()).toMatchObject({ suspect_listings: 1 });
  }
  const after = (await shown({ state: 'active' })).map(({ id }) => id);
  expect(after).toEqual(expect.arrayContaining(before.map(({ id }) => id)));
});

test('credentials of a deleted project end with it', async () => {
  await prepareProject();
  await issue('backup');
  await fixture.ask('POST', `/organizations/${organization}/api_keys`, { key_name: 'deploys', project_id: project });
  await listed();
  expect((await shown({ state: 'active' })).length).toBeGreaterThan(1);
  await fixture.ask('DELETE', `/projects/${project}`);
  for (let pass = 0; pass < 4; pass += 1) await listed();
  expect((await shown({ state: 'active' })).length).toBe(0);
  // A7: only the list of the organization's keys ends a key of a project, and it still shows this one.
  const keys = await store.sql`select name, gone_at from keywarden.credential where kind = 'project'`;
  expect(keys.map(({ name, gone_at: goneAt }) => [name, goneAt])).toEqual([['deploys', null]]);
});

test('an as-of list of a past time includes a credential that was revoked later, and times without a listing are named', async () => {
  await prepareProject();
  const { token_id: id } = await issue('backup');
  await listed();
  const asOf = await fixture.controls.now();
  await listed();
  await fixture.ask('DELETE', `${list}/${id}`);
  await listed();
  await listed();
  expect((await shown({ kind: 'branch_credential' })).find((each) => each.id === `${branch}/${id}`)?.state).toBe(
    'gone',
  );
  const then = (await shown({ kind: 'branch_credential', asOf })).find((each) => each.id === `${branch}/${id}`);
  expect(then).toMatchObject({ state: 'active', name: 'backup' });
  const holes = async (at: number) =>
    await listInventoryGaps(store.db, {
      from: new Date(at).toISOString(),
      to: new Date(at).toISOString(),
      organizations: null,
      of: 'credentials',
    });
  expect(await holes(Date.parse(asOf))).toEqual([]);
  expect((await holes(Date.parse(asOf) - 40 * 86_400_000)).length).toBe(5);
});

const withAge = (headers: Headers) => headers.set('age', '60');
const withOldDate = (headers: Headers) =>
  headers.set('date', new Date(Date.parse(headers.get('date') ?? '') - 60_000).toUTCString());

test.each([
  ['first', 'an Age', 0, withAge],
  ['last', 'an Age', -1, withAge],
  ['first', 'a Date of a minute before', 0, withOldDate],
  ['last', 'a Date of a minute before', -1, withOldDate],
])(
  'A7: the credentials of a project are suspect if the list of its %s branch has %s',
  async (_which, _what, place, change) => {
    await prepareProject();
    const branches = `/projects/${project}/branches`;
    const made = await fixture.ask<{ branches: { id: string }[] }>('GET', branches);
    expect(made.branches.length).toBeGreaterThan(1);
    const suspects = async () =>
      (
        await store.sql`
      select split_part(scope, ':', 1) as kind from keywarden.key_listing where why_suspect is not null order by number`
      ).map(({ kind }) => String(kind));
    await listed();
    expect(await suspects()).toEqual([]);
    const changed = `${branches}/${made.branches.at(place)?.id}/credentials`;
    setAnswer((url, response) => {
      if (!url.endsWith(changed)) return Promise.resolve(response);
      const headers = new Headers(response.headers);
      change(headers);
      return Promise.resolve(new Response(response.body, { headers }));
    });
    await listed();
    expect(await suspects()).toEqual(['branch_credential']);
  },
);

test('A7: a row that cannot be read in the list of one branch ends no credential of its project', async () => {
  await prepareProject();
  const { token_id: id } = await issue('backup');
  await listed();
  setAnswer(async (url, response) => {
    if (!url.endsWith(list)) return response;
    const { credentials } = (await response.json()) as { credentials: object[] };
    const odd = credentials.map((each) => ({ ...each, token_id: null }));
    return Response.json({ credentials: odd }, { headers: response.headers });
  });
  for (let pass = 0; pass < 3; pass += 1) expect(await listed()).toMatchObject({ suspect_listings: 1 });
  expect((await shown({ kind: 'branch_credential', state: 'active' })).map((each) => each.id)).toEqual([
    `${branch}/${id}`,
  ]);
  const rejected = await store.sql`select distinct list from keywarden.rejected_row`;
  expect(rejected.map((row) => String(row.list))).toEqual(['credentials']);
});

test('a list that fails does not stop the other lists of its project', async () => {
  await prepareProject();
  const path = '/projects/{project_id}/branches';
  await fixture.controls.setFaults([{ method: 'GET', path, kind: 'status', status: 400, times: 100 }]);
  await expect(listed()).rejects.toThrow(/The credentials of 1 of 1 project/);
  const kinds =
    await store.sql`select distinct split_part(scope, ':', 1) as kind from keywarden.key_listing where scope not like 'org%' and scope not like 'user%' order by 1`;
  expect(kinds.map(({ kind }) => String(kind))).toEqual(['jwks', 'project_member', 'project_permission']);
});

test('R1: a last use in the future of a credential that its list shows as revoked is not stored', async () => {
  await prepareProject();
  const { token_id: id } = await issue('old');
  await listed();
  await fixture.ask('DELETE', `${list}/${id}`);
  setAnswer(async (url, response) => {
    if (!url.endsWith('/credentials')) return response;
    const { credentials, ...rest } = (await response.clone().json()) as { credentials: object[] };
    const later = credentials.map((each) => ({ ...each, last_used_at: '9999-12-31T00:00:00Z' }));
    return Response.json({ ...rest, credentials: later }, { headers: response.headers });
  });
  await listed();
  const used =
    await store.sql`select last_used_at, missing_since is null as listed from keywarden.credential where name = 'old'`;
  expect(used).toEqual([{ last_used_at: null, listed: false }]);
});
