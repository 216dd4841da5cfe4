import { policySchema } from '@keywarden/core/policy';
import { listIncidents } from '@keywarden/db/daemon';
import { credentialList, listInventoryHoles, readPage } from '@keywarden/db/report';
import { apply, bed, day, outcomes, prepare, store, useApplyBed } from '@keywarden/testkit/daemon/apply-fixture';
import { connectionOf } from '@keywarden/testkit/daemon/fixture';
import { expect, test } from 'vitest';
import { syncCredentials } from '../sync/credentials.ts';
import { syncKeys } from '../sync/keys.ts';
import { planKeys } from './plan.ts';

useApplyBed();

interface Issued {
  token_id: string;
  api_token: string;
  s3_secret_access_key: string;
}

let project: string;
let branch: string;
let list: string;
let beforeDelete: () => Promise<unknown>;
/** Changes answers on their way. */
let answer: (url: string, response: Response) => Promise<Response>;

/** An organization with one project, whose generated credentials are revoked long since. */
async function prepareProject(policy: object = {}): Promise<void> {
  beforeDelete = () => Promise.resolve();
  answer = (_url, response) => Promise.resolve(response);
  const client = {
    fetch: async (...[input, init]: Parameters<typeof fetch>) => {
      if (init?.method === 'DELETE') await beforeDelete();
      const url = input instanceof Request ? input.url : String(input);
      return await answer(url, await fetch(input, init));
    },
  };
  await prepare(['busy'], { policy: policySchema.parse(policy), client });
  const projects = await bed.controls.projects();
  project = projects[0]?.id ?? '';
  const { branches } = await bed.ask<{ branches: { id: string; default: boolean }[] }>(
    'GET',
    `/projects/${project}/branches`,
  );
  branch = branches.find((each) => each.default)?.id ?? '';
  list = `/projects/${project}/branches/${branch}/credentials`;
  for (const { id } of branches) {
    const path = `/projects/${project}/branches/${id}/credentials`;
    const { credentials } = await bed.ask<{ credentials: Issued[] }>('GET', path);
    for (const each of credentials) await bed.ask('DELETE', `${path}/${each.token_id}`);
  }
}

const issue = (name: string) =>
  bed.ask<Issued>('POST', list, { name, scopes: ['storage:read'], principal_type: 'user' });

const use = (id: string) => bed.controls.useCredential(id);

/** A day later, with the credentials listed. */
async function listed() {
  await bed.controls.advance(day);
  await bed.reconnect();
  await syncKeys(bed.context, connectionOf(bed));
  return await syncCredentials(bed.context, connectionOf(bed));
}

interface Shown {
  id: string;
  kind: string;
  name: string;
  state: string;
  holder: string | null;
  owner: string;
  branch_id: string | null;
  expires_at: string | null;
  detail: Record<string, unknown> | null;
}

async function shown(filter: Parameters<typeof credentialList>[0] = {}): Promise<Shown[]> {
  const asked = credentialList(filter, { organizations: null });
  const { items } = await readPage(store.db, asked, { limit: 1000, after: null });
  return items.map((item) => JSON.parse(item) as Shown);
}

const everything = async () => {
  const tables = ['credential', 'key_observation', 'rejected_row', 'sync_run', 'revocation_outcome', 'finding', 'plan'];
  const rows = await Promise.all(
    tables.map((table) => store.sql`select t::text from ${store.sql(`keywarden.${table}`)} t`),
  );
  return JSON.stringify(rows);
};

test('what lets somebody into a project is observed: every kind, without a secret, each time with what has changed', async () => {
  await prepareProject();
  const issued = await issue('backup');
  await bed.ask('POST', `/projects/${project}/permissions`, { email: 'eve@agency.example' });
  await bed.ask('POST', `/projects/${project}/jwks`, {
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
  // Nothing says who made them: the owner of the project answers.
  expect(new Set(all.map(({ owner }) => owner))).not.toContain('unknown');
  const stored = await everything();
  for (const secret of [issued.api_token, issued.s3_secret_access_key, 'hidden']) expect(stored).not.toContain(secret);
  // They are in no list of keys, and a rule that does not name their kind finds nothing.
  const keys = await store.sql`select distinct kind from keywarden.key`;
  expect(keys.map(({ kind }) => kind)).not.toContain('role');
  const plan = await planKeys(bed.context, bed.connections);
  expect(plan.judgements).toEqual([]);
});

test('a role that was dropped and made again is another one, and opens no incident', async () => {
  await prepareProject();
  const roles = `/projects/${project}/branches/${branch}/roles`;
  await bed.ask('POST', roles, { role: { name: 'app' } });
  await bed.controls.advance(60);
  await bed.ask('POST', roles, { role: { name: 'group', no_login: true } });
  await listed();
  expect((await shown({ kind: 'role' })).map(({ name }) => name)).not.toContain('group');
  await bed.ask('DELETE', `${roles}/app`);
  await bed.controls.advance(60);
  await bed.ask('POST', roles, { role: { name: 'app' } });
  await listed();
  const app = (await shown({ kind: 'role' })).filter(({ name }) => name === 'app');
  expect(app.map(({ state }) => state)).toEqual(['gone', 'active']);
  expect(await listIncidents(store.db, { isOpen: true, limit: 10 })).toEqual([]);
});

test('A7: a list that may not be seen, or that is incomplete, ends nothing', async () => {
  await prepareProject();
  await issue('backup');
  await bed.ask('POST', `/projects/${project}/permissions`, { email: 'eve@agency.example' });
  await listed();
  const before = await shown({ state: 'active' });
  const refused = (path: string, status: number) => ({ method: 'GET', path, kind: 'status', status, times: 100 });
  await bed.controls.setFaults([
    refused('/projects/{project_id}/permissions', 403),
    refused('/projects/{project_id}/jwks', 501),
    refused('/projects/{project_id}/branches/{branch_id}/credentials', 404),
  ]);
  for (let pass = 0; pass < 3; pass += 1) {
    const counts = await listed();
    expect(counts).toMatchObject({ hidden_lists: 2, doubted_listings: 1 });
  }
  expect(await shown({ state: 'active' })).toEqual(before.map((each) => expect.objectContaining({ id: each.id })));
});

test('credentials of a deleted project are over with it', async () => {
  await prepareProject();
  await issue('backup');
  await listed();
  expect((await shown({ state: 'active' })).length).toBeGreaterThan(1);
  await bed.ask('DELETE', `/projects/${project}`);
  for (let pass = 0; pass < 4; pass += 1) await listed();
  expect((await shown({ state: 'active' })).length).toBe(0);
});

test('as they were: a credential that was revoked since was there at its time, and times without a listing are named', async () => {
  await prepareProject();
  const { token_id: id } = await issue('backup');
  await listed();
  const asOf = await bed.controls.now();
  await listed();
  await bed.ask('DELETE', `${list}/${id}`);
  await listed();
  await listed();
  expect((await shown({ kind: 'branch_credential' })).find((each) => each.id === `${branch}/${id}`)?.state).toBe(
    'gone',
  );
  const then = (await shown({ kind: 'branch_credential', asOf })).find((each) => each.id === `${branch}/${id}`);
  expect(then).toMatchObject({ state: 'active', name: 'backup' });
  const holes = async (at: number) =>
    await listInventoryHoles(store.db, {
      from: new Date(at).toISOString(),
      to: new Date(at).toISOString(),
      organizations: null,
      of: 'credentials',
    });
  expect(await holes(Date.parse(asOf))).toEqual([]);
  expect((await holes(Date.parse(asOf) - 40 * 86_400_000)).length).toBe(5);
});

const stale = { name: 'stale', match: { kinds: ['branch_credential'] }, never_used_for: '30d', action: 'revoke' };

test('R1, R4: a plan revokes credentials of branches when a person applies it, each listed and judged again right before', async () => {
  await prepareProject({ rules: [stale] });
  const old = await issue('old');
  const busy = await issue('busy');
  await bed.controls.advance(40 * day);
  await issue('young');
  await bed.reconnect();
  await syncKeys(bed.context, connectionOf(bed));
  await syncCredentials(bed.context, connectionOf(bed));
  const seenOnce = await planKeys(bed.context, bed.connections);
  expect(seenOnce.document.held.map(({ why }) => why.kind)).toEqual(['seen_once', 'seen_once']);
  await listed();
  // Listed daily, they are judged on what that showed.
  await bed.controls.advance(20 * 3600);
  await bed.reconnect();
  const plan = await planKeys(bed.context, bed.connections);
  expect(plan.document.items.map(({ key }) => key.name).toSorted()).toEqual(['busy', 'old']);
  expect(plan.document.items.find(({ key }) => key.name === 'old')?.key).toMatchObject({
    id: `${branch}/${old.token_id}`,
    branch_id: branch,
    kind: 'branch_credential',
  });
  await use(busy.token_id);
  expect(outcomes(await apply(plan))).toEqual({
    old: 'revoked',
    busy: 'skipped: no rule of the policy in force condemns it any more',
  });
  const { credentials } = await bed.ask<{ credentials: { name: string; revoked_at?: string }[] }>('GET', list);
  expect(credentials.filter((each) => each.revoked_at !== undefined).map(({ name }) => name)).toContain('old');
  const ends = await store.sql`select outcome from keywarden.revocation_outcome`;
  expect(ends.map(({ outcome }) => outcome)).toEqual(['revoked']);
  expect(await apply(plan)).toMatchObject({ doneBefore: 1 });
});

test('R1: a list of credentials that a cache kept shows no use of the present, though the list of branches is fresh', async () => {
  await prepareProject({ rules: [stale] });
  const { token_id: id } = await issue('old');
  await bed.controls.advance(40 * day);
  await listed();
  await listed();
  const plan = await planKeys(bed.context, bed.connections);
  expect(plan.document.items).toHaveLength(1);
  const kept = new Map<string, Response>();
  answer = (url, response) => {
    if (!url.endsWith('/credentials')) return Promise.resolve(response);
    const old = kept.get(url) ?? response;
    kept.set(url, old.clone());
    return Promise.resolve(old);
  };
  await syncCredentials(bed.context, connectionOf(bed));
  await use(id);
  await bed.controls.advance(1800);
  await bed.reconnect();
  expect((await apply(plan)).items.map(({ outcome }) => outcome)).toEqual(['skipped']);
  const { credentials } = await bed.ask<{ credentials: { token_id: string; revoked_at?: string }[] }>('GET', list);
  expect(credentials.find((each) => each.token_id === id)?.revoked_at).toBeUndefined();
});

test('R5: a credential that was used between its last listing and its revocation calls a person', async () => {
  await prepareProject({ rules: [stale] });
  const old = await issue('old');
  await bed.controls.advance(40 * day);
  await listed();
  await listed();
  const plan = await planKeys(bed.context, bed.connections);
  beforeDelete = async () => await use(old.token_id);
  const applied = await apply(plan);
  expect(applied.stopped).toContain('was used between its last listing and its revocation');
  const incidents = await listIncidents(store.db, { isOpen: true, limit: 10 });
  expect(incidents.map(({ kind, key }) => [kind, key?.id])).toEqual([['used_in_flight', `${branch}/${old.token_id}`]]);
});

test('R4: an answer to a revocation that is lost leaves its outcome to the listings', async () => {
  await prepareProject({ rules: [stale] });
  await issue('old');
  await bed.controls.advance(40 * day);
  await listed();
  await listed();
  const plan = await planKeys(bed.context, bed.connections);
  const path = '/projects/{project_id}/branches/{branch_id}/credentials/{token_id}';
  await bed.controls.setFaults([{ method: 'DELETE', path, kind: 'lose_response', times: 1 }]);
  const applied = await apply(plan);
  expect(applied.items.map(({ outcome }) => outcome)).toEqual(['unknown']);
  await listed();
  await listed();
  expect((await store.sql`select outcome from keywarden.revocation_outcome`).map(({ outcome }) => outcome)).toEqual([
    'gone',
  ]);
});

test('kinds that are not ours to end are reported, also where a signed review wants them gone', async () => {
  const rule = {
    name: 'old-roles',
    match: { kinds: ['role', 'project_permission'] },
    older_than: '1d',
    action: 'report',
  };
  await prepareProject({ rules: [rule] });
  await listed();
  await listed();
  const [role] =
    await store.sql`select number from keywarden.credential where kind = 'role' and gone_at is null limit 1`;
  await store.sql.unsafe(`
    insert into keywarden.review (title, as_of, filter, holes, keep_for, opened_by) values ('all', now(), '{}', '[]', '1 day', 'ada');
    insert into keywarden.review_item (review_number, key_number, key, findings) values (1, ${String(role?.number)}, '{}', '[]');
    insert into keywarden.review_decision (review_number, key_number, decision, reason, decided_by)
      values (1, ${String(role?.number)}, 'revoke', 'nobody needs it', 'ada');
    insert into keywarden.review_signature (review_number, signed_by, sha256) values (1, 'ada', '')`);
  const plan = await planKeys(bed.context, bed.connections);
  expect(plan.document.items).toEqual([]);
  expect(plan.document.held.map(({ why }) => why.kind)).toEqual(['report_only']);
  expect(plan.document.reported.length).toBeGreaterThan(0);
});

test('R4, R5: a lost answer: a use in flight that the list shows later calls a person; where the project goes, the intent ends', async () => {
  await prepareProject({ rules: [stale] });
  const used = await issue('used');
  await bed.controls.advance(40 * day);
  await listed();
  await listed();
  const plan = await planKeys(bed.context, bed.connections);
  const path = '/projects/{project_id}/branches/{branch_id}/credentials/{token_id}';
  await bed.controls.setFaults([{ method: 'DELETE', path, kind: 'lose_response', times: 1 }]);
  beforeDelete = async () => await use(used.token_id);
  expect((await apply(plan)).items.map(({ outcome }) => outcome)).toEqual(['unknown']);
  beforeDelete = () => Promise.resolve();
  await listed();
  const incidents = await listIncidents(store.db, { isOpen: true, limit: 10 });
  expect(incidents.map(({ kind, key }) => [kind, key?.name])).toEqual([['used_in_flight', 'used']]);
  await bed.ask('DELETE', `/projects/${project}`);
  for (let pass = 0; pass < 4; pass += 1) await listed();
  expect((await store.sql`select outcome from keywarden.revocation_outcome`).map(({ outcome }) => outcome)).toEqual([
    'gone',
  ]);
});

test('a list that fails does not keep the other lists of its project from being read', async () => {
  await prepareProject();
  const path = '/projects/{project_id}/branches';
  await bed.controls.setFaults([{ method: 'GET', path, kind: 'status', status: 400, times: 100 }]);
  await expect(listed()).rejects.toThrow(/The credentials of 1 of 1 projects/);
  const kinds =
    await store.sql`select distinct split_part(scope, ':', 1) as kind from keywarden.key_listing where scope not like 'org%' and scope not like 'user%' order by 1`;
  expect(kinds.map(({ kind }) => String(kind))).toEqual(['jwks', 'project_member', 'project_permission']);
});

test('where one credential is shown on two branches, each is its own, and only the one of the plan is revoked', async () => {
  await prepareProject({ rules: [stale] });
  const { token_id: id } = await issue('old');
  await bed.controls.advance(40 * day);
  const { branches } = await bed.ask<{ branches: { id: string }[] }>('GET', `/projects/${project}/branches`);
  const other = branches.find((each) => each.id !== branch)?.id ?? '';
  answer = async (url, response) => {
    if (!url.endsWith(`/branches/${other}/credentials`)) return response;
    const shown = await fetch(`${bed.sandbox.url}${list}`, {
      headers: { authorization: `Bearer ${bed.sandbox.adminKey}` },
    });
    return new Response(await shown.text(), { status: 200, headers: shown.headers });
  };
  await listed();
  await listed();
  const ids = (await shown({ kind: 'branch_credential', state: 'active' })).map((each) => each.id);
  expect(ids.filter((each) => each.endsWith(id)).toSorted()).toEqual([`${branch}/${id}`, `${other}/${id}`].toSorted());
});

test('R2: a connection that has listed credentials of projects has not said by that whose keys it sees', async () => {
  await prepareProject({ rules: [stale] });
  await issue('old');
  await bed.controls.advance(40 * day);
  await listed();
  await listed();
  await store.sql`
    insert into keywarden.connection (name, control_plane_number, account_id, auth_method, is_sandbox, checked_at)
    select 'second', control_plane_number, 'another', auth_method, is_sandbox, now() from keywarden.connection`;
  const holds = async () => (await planKeys(bed.context, bed.connections)).document.held.map(({ why }) => why.kind);
  expect(await holds()).toEqual(['own_key_unknown']);
  await store.sql`
    insert into keywarden.connection_scope select 'second', control_plane_number, scope, seen_at from keywarden.connection_scope where scope like 'role:%'`;
  expect(await holds()).toEqual(['own_key_unknown']);
  await store.sql`
    insert into keywarden.connection_scope select 'second', control_plane_number, 'user:another', seen_at from keywarden.connection_scope limit 1`;
  expect(await holds()).toEqual([]);
});
