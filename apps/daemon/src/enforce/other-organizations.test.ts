import { policySchema } from '@keywarden/core/policy';
import { applyPlan, openConnections, planKeys, syncCredentials, syncKeys, syncOperations } from '@keywarden/daemon';
import { until } from '@keywarden/testkit';
import { connectionOf, type Fixture, hurried, makeContext, makeFixture } from '@keywarden/testkit/daemon/fixture';
import { createTestStore, type TestStore } from '@keywarden/testkit/store/test-store';
import { afterEach, beforeEach, expect, inject, test } from 'vitest';
import { listKeysAfresh } from '../sync/keys.ts';

// Two organizations of one connection: what is odd in one neither stops nor exceeds anything in the other.

let store: TestStore;
let fixture: Fixture;
let organizations: { id: string }[];
/** Changes the JSON of a list, or answers in its place. */
let change: (url: URL, json: unknown) => unknown;
const unchanged = (_url: URL, json: unknown) => json;
const fetchChanged: typeof fetch = async (input, init) => {
  const answer = await fetch(input, init);
  if ((init?.method ?? 'GET') !== 'GET' || !answer.ok) return answer;
  const headers = new Headers(answer.headers);
  for (const name of ['content-length', 'content-encoding']) headers.delete(name);
  const changed = await change(new URL(input instanceof Request ? input.url : input), await answer.json());
  if (typeof changed === 'number') return new Response('{"message":"odd"}', { status: changed, headers });
  return new Response(JSON.stringify(changed), { headers });
};
const rule = { name: 'never-used', never_used_for: '30d', action: 'revoke' };

beforeEach(async () => {
  store = await createTestStore(inject('postgresUrl'));
  change = unchanged;
  fixture = await makeFixture(store, {
    client: { time: hurried, fetch: fetchChanged },
    policy: policySchema.parse({ rules: [rule] }),
  });
  await fixture.controls.generate({ organizations: 2, projects: 4, keys: 0, operations: 100 });
  ({ organizations } = await fixture.ask<{ organizations: { id: string }[] }>('GET', '/users/me/organizations'));
  for (const { id } of organizations)
    for (const name of ['unused', 'used']) {
      const { key } = await fixture.ask<{ key: string }>('POST', `/organizations/${id}/api_keys`, { key_name: name });
      if (name === 'used') await fetch(`${fixture.sandbox.url}/auth`, { headers: { authorization: `Bearer ${key}` } });
    }
  await fixture.controls.advance(40 * 86_400);
  await fixture.reconnect();
});
afterEach(async () => {
  await fixture.close();
  await store.close();
});

const approver = { via: 'command line', approvedBy: 'ada' } as const;
const refusedText = (length: number) =>
  Array.from({ length }, (_, index) => String.fromCodePoint(200 + ((index * index * 7919) % 5000))).join('');

test('R7: a key with texts of any length keeps no key out, and stops no revocation', async () => {
  await syncKeys(fixture.context, connectionOf(fixture));
  const { id, document } = await planKeys(fixture.context, fixture.connections);
  change = ({ pathname }, json) => {
    if (pathname.endsWith('/api_keys') && Array.isArray(json))
      for (const key of json as Record<string, unknown>[])
        if (key.name === 'used')
          Object.assign(key, { name: refusedText(4000), last_used_from_addr: refusedText(4000) });
    return json;
  };
  const applied = await applyPlan(fixture.context, {
    planId: id,
    items: document.items,
    approver,
    connections: fixture.connections,
  });
  expect(applied.items.map(({ outcome }) => outcome)).toEqual(['revoked', 'revoked']);
});

test.each([400, 503])(
  'R7: an organization whose list of projects answers %i stops neither operations nor credentials of the others',
  async (status) => {
    const [first, second] = organizations;
    change = ({ pathname, searchParams }, json) =>
      pathname.endsWith('/projects') && searchParams.get('org_id') === first?.id ? status : json;
    const why = new RegExp(`The projects of 1 organization of connection main could not be read: ${first?.id} .*odd`);
    await expect(syncOperations(fixture.context, connectionOf(fixture))).rejects.toThrow(why);
    await expect(syncCredentials(fixture.context, connectionOf(fixture))).rejects.toThrow(why);
    const rows = await store.sql`
    select distinct p.organization_id from keywarden.operation o join keywarden.project p on p.number = o.project_number`;
    expect(rows.map(({ organization_id: id }) => String(id))).toEqual([second?.id]);
    const [credentials] = await store.sql`select count(*)::int as n from keywarden.credential where kind = 'role'`;
    expect(Number(credentials?.n)).toBeGreaterThan(0);
  },
);

test.each([
  ['other answers separate', [503, 200, 503, 503, 200, 503, 503, 200], 8],
  ['follow each other', [200, 503, 503, 503, 503, 503, 200, 200], 6],
])('R7: outages of five organizations that %s end a pass only in a row', async (_which, answers, requested) => {
  await fixture.controls.generate({ organizations: 6, projects: 6, keys: 0, operations: 0 });
  const asked: string[] = [];
  change = ({ pathname, searchParams }, json) => {
    if (!pathname.endsWith('/projects')) return json;
    const id = searchParams.get('org_id') ?? '';
    if (!asked.includes(id)) asked.push(id);
    const status = answers[asked.indexOf(id)];
    return status === 200 ? json : status;
  };
  await expect(syncOperations(fixture.context, connectionOf(fixture))).rejects.toThrow(
    requested === 8 ? /The projects of 5 organizations of connection main could not be read/ : /answered 503/,
  );
  expect(asked).toHaveLength(requested);
});

test('R3: the quota of a day holds for revocations of two organizations at once', async () => {
  await syncKeys(fixture.context, connectionOf(fixture));
  const { id, document } = await planKeys(fixture.context, fixture.connections);
  const policy = policySchema.parse({ quotas: { per_day: 1 }, rules: [rule] });
  let isWaiting = false;
  const note = (text: string) => {
    isWaiting ||= text.includes('daily quota');
  };
  const applyInProcess = async (index: number) => {
    const daemon = await store.as('keywarden_daemon');
    const config = { ...fixture.context.config, policy };
    const made = makeContext(daemon, config);
    const context = {
      ...made,
      environment: fixture.context.environment,
      progress: { ...made.progress, note },
    };
    const connections = await openConnections(daemon.sql, { ...context, fetch: fetchChanged }, (_name, error) => {
      throw error;
    });
    const items = document.items.slice(index, index + 1);
    return await applyPlan(context, { planId: id, items, approver, connections });
  };
  const asked = await store.sql.begin(async (tx) => {
    // Both judge their key before either commits its intent.
    await tx`lock table keywarden.revocation_intent in share mode`;
    const first = applyInProcess(0);
    await store.untilBlocked(first);
    const second = applyInProcess(1);
    await Promise.race([until(() => isWaiting), store.untilBlocked(first, second)]);
    return { first, second };
  });
  const applied = [await asked.first, await asked.second];
  expect(applied.flatMap(({ items }) => items.map(({ outcome }) => outcome)).toSorted()).toEqual([
    'revoked',
    'skipped',
  ]);
});

test('R7: a list of projects with more unreadable rows than a call has arguments stops no other organization', async () => {
  const [first, second] = organizations;
  change = ({ pathname, searchParams }, json) =>
    pathname.endsWith('/projects') && searchParams.get('org_id') === first?.id
      ? { projects: Array.from({ length: 130_000 }, (_, index) => ({ id: `p-${index}` })) }
      : json;
  await syncOperations(fixture.context, connectionOf(fixture));
  const rows = await store.sql`
    select distinct p.organization_id from keywarden.operation o join keywarden.project p on p.number = o.project_number`;
  expect(rows.map(({ organization_id: id }) => String(id))).toEqual([second?.id]);
});

test('an organization whose keys no connection may list is named, and is a blind spot', async () => {
  const refusal = {
    method: 'GET',
    path: '/organizations/{org_id}/api_keys',
    kind: 'status',
    status: 403,
    times: 1,
  } as const;
  await fixture.controls.setFaults([refusal]);
  const { failures } = await listKeysAfresh(fixture.context);
  const spots = await store.sql`select scope from keywarden.blind_spot where kind = 'never_listed'`;
  const hidden = organizations
    .map(({ id }) => id)
    .filter((id) => spots.some(({ scope }) => scope === `organization:${id}`));
  expect([spots.length, hidden.length]).toEqual([1, 1]);
  expect(failures).toEqual([`No connection may list the keys of ${hidden[0]}: use an administrator's key.`]);
});

test('R7: a command lists the keys of its other connections although the control plane fails one, and names that one', async () => {
  const { config } = fixture.context;
  const connections = ['first', 'main'].flatMap((name) => config.connections.map((each) => ({ ...each, name })));
  const path = '/users/me/organizations';
  const failOnce = async () =>
    await fixture.controls.setFaults([{ method: 'GET', path, kind: 'status', status: 403, times: 1 }]);
  await failOnce();
  const { failures } = await listKeysAfresh({ ...fixture.context, config: { ...config, connections } });
  expect(failures).toEqual([
    expect.stringMatching(/^The keys of connection first could not be listed: GET .+ answered 403/),
  ]);
  await failOnce();
  await expect(listKeysAfresh(fixture.context)).rejects.toMatchObject({ code: 'forbidden' });
  // One list that fails leaves a connection the others.
  await fixture.controls.setFaults([{ method: 'GET', path: '/api_keys', kind: 'status', status: 418, times: 1 }]);
  const { failures: incomplete } = await listKeysAfresh(fixture.context);
  expect(incomplete).toEqual([
    expect.stringMatching(/^The keys or members of 1 of 3 scopes of connection main could not be listed/),
  ]);
});
