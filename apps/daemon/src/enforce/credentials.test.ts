import { listIncidents } from '@keywarden/db/daemon';
import { apply, day, fixture, outcomes, store, useApplyFixture } from '@keywarden/testkit/daemon/apply-fixture';
import {
  branch,
  issue,
  list,
  listed,
  prepareProject,
  project,
  setAnswer,
  setBeforeDelete,
  shown,
  use,
} from '@keywarden/testkit/daemon/credentials-fixture';
import { connectionOf } from '@keywarden/testkit/daemon/fixture';
import { expect, test } from 'vitest';
import { syncCredentials } from '../sync/credentials.ts';
import { syncKeys } from '../sync/keys.ts';
import { planKeys } from './plan.ts';

useApplyFixture();

const stale = { name: 'stale', match: { kinds: ['branch_credential'] }, never_used_for: '30d', action: 'revoke' };

test('R1, R4: a plan revokes credentials of branches when a person applies it, each listed and judged again right before', async () => {
  await prepareProject({ rules: [stale] });
  const old = await issue('old');
  const busy = await issue('busy');
  await fixture.controls.advance(40 * day);
  await issue('young');
  await fixture.reconnect();
  await syncKeys(fixture.context, connectionOf(fixture));
  await syncCredentials(fixture.context, connectionOf(fixture));
  const seenOnce = await planKeys(fixture.context, fixture.connections);
  expect(seenOnce.document.held.map(({ why }) => why.kind)).toEqual(['seen_once', 'seen_once']);
  await listed();
  // Daily listings keep the evidence fresh.
  await fixture.controls.advance(20 * 3600);
  await fixture.reconnect();
  const plan = await planKeys(fixture.context, fixture.connections);
  expect(plan.document.items.map(({ key }) => key.name).toSorted()).toEqual(['busy', 'old']);
  expect(plan.document.items.find(({ key }) => key.name === 'old')?.key).toMatchObject({
    id: `${branch}/${old.token_id}`,
    branch_id: branch,
    kind: 'branch_credential',
  });
  await use(busy.token_id);
  expect(outcomes(await apply(plan))).toEqual({
    old: 'revoked',
    busy: 'skipped: no rule of the policy in force flags it any more',
  });
  const { credentials } = await fixture.ask<{ credentials: { name: string; revoked_at?: string }[] }>('GET', list);
  expect(credentials.filter((each) => each.revoked_at !== undefined).map(({ name }) => name)).toContain('old');
  const ends = await store.sql`select outcome from keywarden.revocation_outcome`;
  expect(ends.map(({ outcome }) => outcome)).toEqual(['revoked']);
  expect(await apply(plan)).toMatchObject({ doneBefore: 1 });
});

test('R1: a cached list of credentials is no fresh evidence of use, even if the list of branches is fresh', async () => {
  await prepareProject({ rules: [stale] });
  const { token_id: id } = await issue('old');
  await fixture.controls.advance(40 * day);
  await listed();
  await listed();
  const plan = await planKeys(fixture.context, fixture.connections);
  expect(plan.document.items).toHaveLength(1);
  const kept = new Map<string, Response>();
  setAnswer((url, response) => {
    if (!url.endsWith('/credentials')) return Promise.resolve(response);
    const old = kept.get(url) ?? response;
    kept.set(url, old.clone());
    return Promise.resolve(old);
  });
  await syncCredentials(fixture.context, connectionOf(fixture));
  await use(id);
  await fixture.controls.advance(1800);
  await fixture.reconnect();
  expect((await apply(plan)).items.map(({ outcome }) => outcome)).toEqual(['skipped']);
  const { credentials } = await fixture.ask<{ credentials: { token_id: string; revoked_at?: string }[] }>('GET', list);
  expect(credentials.find((each) => each.token_id === id)?.revoked_at).toBeUndefined();
});

test('R5: a use of a credential between its last listing and its revocation opens an incident', async () => {
  await prepareProject({ rules: [stale] });
  const old = await issue('old');
  await fixture.controls.advance(40 * day);
  await listed();
  await listed();
  const plan = await planKeys(fixture.context, fixture.connections);
  setBeforeDelete(async () => await use(old.token_id));
  const applied = await apply(plan);
  expect(applied.stopped).toContain('was used between its last listing and its revocation');
  const incidents = await listIncidents(store.db, { isOpen: true, limit: 10 });
  expect(incidents.map(({ kind, key }) => [kind, key?.id])).toEqual([['used_in_flight', `${branch}/${old.token_id}`]]);
});

test('R4: after a lost response to a revocation, the listings decide the outcome', async () => {
  await prepareProject({ rules: [stale] });
  await issue('old');
  await fixture.controls.advance(40 * day);
  await listed();
  await listed();
  const plan = await planKeys(fixture.context, fixture.connections);
  const path = '/projects/{project_id}/branches/{branch_id}/credentials/{token_id}';
  await fixture.controls.setFaults([{ method: 'DELETE', path, kind: 'lose_response', times: 1 }]);
  const applied = await apply(plan);
  expect(applied.items.map(({ outcome }) => outcome)).toEqual(['unknown']);
  await listed();
  await listed();
  expect((await store.sql`select outcome from keywarden.revocation_outcome`).map(({ outcome }) => outcome)).toEqual([
    'gone',
  ]);
});

interface Row {
  name: string;
  revoked_at?: string | undefined;
}
interface Answer {
  isOlder?: true;
  age?: string;
  status?: number;
}
const others = (rows: Row[]) => rows.filter(({ name }) => name !== 'old');

test.each<[how: string, outcome: string, change: (rows: Row[]) => Row[], answer?: Answer]>([
  ['lacks it', 'revoked', others],
  ['lacks it and was cached', 'unknown', others, { age: '300' }],
  ['lacks it and is older than the last one', 'unknown', others, { isOlder: true }],
  ['shows it as before', 'unknown', (rows) => rows.map((row) => ({ ...row, revoked_at: undefined }))],
  ['fails', 'unknown', others, { status: 403 }],
])('R4: a revoked credential whose list %s afterwards is %s', async (_how, outcome, change, answer = {}) => {
  await prepareProject({ rules: [stale] });
  await issue('old');
  const busy = await issue('busy');
  await fixture.controls.advance(40 * day);
  await use(busy.token_id);
  await listed();
  await listed();
  const plan = await planKeys(fixture.context, fixture.connections);
  let [isSent, lastMs] = [false, 0];
  setBeforeDelete(() => Promise.resolve((isSent = true)));
  setAnswer(async (url, response) => {
    if (!url.endsWith('/credentials')) return response;
    const sentMs = Date.parse(response.headers.get('date') ?? '');
    if (!isSent) {
      lastMs = sentMs;
      return response;
    }
    const { credentials } = (await response.json()) as { credentials: Row[] };
    const { isOlder, age = '0', status = 200 } = answer;
    const date = new Date(isOlder ? lastMs - 5000 : sentMs).toUTCString();
    return Response.json({ credentials: change(credentials) }, { status, headers: { date, age } });
  });
  expect(outcomes(await apply(plan))).toEqual({ old: expect.stringMatching(new RegExp(`^${outcome}`)) });
});

test('kinds that Keywarden cannot end are reported, even if a signed review requests their end', async () => {
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
      values (1, ${String(role?.number)}, 'revoke', 'not needed', 'ada');
    insert into keywarden.review_signature (review_number, signed_by, sha256, content_sha256)
      values (1, 'ada', '', keywarden.review_content_hash(1))`);
  const plan = await planKeys(fixture.context, fixture.connections);
  expect(plan.document.items).toEqual([]);
  expect(plan.document.held.map(({ why }) => why.kind)).toEqual(['report_only']);
  expect(plan.document.reported.length).toBeGreaterThan(0);
});

test('R4, R5: lost response: a later list that shows a use in flight opens an incident; if the project is gone, the intent ends', async () => {
  await prepareProject({ rules: [stale] });
  const used = await issue('used');
  await fixture.controls.advance(40 * day);
  await listed();
  await listed();
  const plan = await planKeys(fixture.context, fixture.connections);
  const path = '/projects/{project_id}/branches/{branch_id}/credentials/{token_id}';
  await fixture.controls.setFaults([{ method: 'DELETE', path, kind: 'lose_response', times: 1 }]);
  setBeforeDelete(async () => await use(used.token_id));
  expect((await apply(plan)).items.map(({ outcome }) => outcome)).toEqual(['unknown']);
  setBeforeDelete(() => Promise.resolve());
  await listed();
  const incidents = await listIncidents(store.db, { isOpen: true, limit: 10 });
  expect(incidents.map(({ kind, key }) => [kind, key?.name])).toEqual([['used_in_flight', 'used']]);
  await fixture.ask('DELETE', `/projects/${project}`);
  for (let pass = 0; pass < 4; pass += 1) await listed();
  expect((await store.sql`select outcome from keywarden.revocation_outcome`).map(({ outcome }) => outcome)).toEqual([
    'gone',
  ]);
});

test("two branches that show one credential are two records, and only the plan's one is revoked", async () => {
  await prepareProject({ rules: [stale] });
  const { token_id: id } = await issue('old');
  await fixture.controls.advance(40 * day);
  const { branches } = await fixture.ask<{ branches: { id: string }[] }>('GET', `/projects/${project}/branches`);
  const other = branches.find((each) => each.id !== branch)?.id ?? '';
  setAnswer(async (url, response) => {
    if (!url.endsWith(`/branches/${other}/credentials`)) return response;
    const shown = await fetch(`${fixture.sandbox.url}${list}`, {
      headers: { authorization: `Bearer ${fixture.sandbox.adminKey}` },
    });
    return new Response(await shown.text(), { status: 200, headers: shown.headers });
  });
  await listed();
  await listed();
  const ids = (await shown({ kind: 'branch_credential', state: 'active' })).map((each) => each.id);
  expect(ids.filter((each) => each.endsWith(id)).toSorted()).toEqual([`${branch}/${id}`, `${other}/${id}`].toSorted());
});

test('R2: a connection that has listed only credentials of projects has not shown which keys it sees', async () => {
  await prepareProject({ rules: [stale] });
  await issue('old');
  await fixture.controls.advance(40 * day);
  await listed();
  await listed();
  await store.sql`
    insert into keywarden.connection (name, control_plane_number, account_id, auth_method, is_sandbox, checked_at)
    select 'second', control_plane_number, 'another', auth_method, is_sandbox, now() from keywarden.connection`;
  const holds = async () =>
    (await planKeys(fixture.context, fixture.connections)).document.held.map(({ why }) => why.kind);
  expect(await holds()).toEqual(['own_key_unknown']);
  await store.sql`
    insert into keywarden.connection_scope select 'second', control_plane_number, scope, seen_at from keywarden.connection_scope where scope like 'role:%'`;
  expect(await holds()).toEqual(['own_key_unknown']);
  await store.sql`
    insert into keywarden.connection_scope select 'second', control_plane_number, 'user:another', seen_at from keywarden.connection_scope limit 1`;
  expect(await holds()).toEqual([]);
});
