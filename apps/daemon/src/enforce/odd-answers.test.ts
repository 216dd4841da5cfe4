import { listInventoryCoverage } from '@keywarden/db/report';
import {
  apply,
  day,
  fixture,
  makeStoredPlan,
  openIncidents,
  organization,
  outcomes,
  pass,
  revokedNames,
  store,
  use,
  useApplyFixture,
} from '@keywarden/testkit/daemon/apply-fixture';
import {
  type Answer,
  changed,
  isKeyList,
  plain,
  prepareBetween,
  setBetween,
} from '@keywarden/testkit/daemon/between-fixture';
import { connectionOf, lateConnection, neverUsedRule } from '@keywarden/testkit/daemon/fixture';
import { expect, test } from 'vitest';
import { syncKeys } from '../sync/keys.ts';

// The control plane behind these tests is not the plain sandbox: gateways, caches and replicas change its responses to lists and
// revocations.

useApplyFixture();

test('R1: a revocation that was answered 429 is judged again before it is repeated', async () => {
  await prepareBetween(['one', 'busy']);
  const plan = await makeStoredPlan();
  let calls = 0;
  setBetween(async ({ method }, forward) => {
    if (method !== 'DELETE') return await forward();
    calls += 1;
    await exemptOne();
    return new Response('{"message": "slow down"}', { status: 429, headers: { 'retry-after': '25' } });
  });
  const [one] = (await apply(plan)).items;
  expect(one).toMatchObject({ outcome: 'skipped', why: expect.stringMatching(/^exempt until/), isFinal: false });
  expect(calls).toBe(1);
  expect(await revokedNames()).toEqual([]);
});

test('R1: a revocation whose rate limiter permit comes late is judged again before it is sent', async () => {
  await prepareBetween(['one', 'busy']);
  const plan = await makeStoredPlan();
  const { late, permits } = lateConnection(fixture, exemptOne);
  fixture.connections = [late];
  expect(outcomes(await apply(plan)).one).toMatch(/^skipped: exempt until/);
  expect(permits()).toBe(1);
  expect(await revokedNames()).toEqual([]);
});

const exemptOne = async () =>
  await store.sql`
    with granted as (
      insert into keywarden.exemption (reason, granted_by, granted_at, until) values ('t', 'ada', now(), now() + interval '1 year') returning number)
    insert into keywarden.exemption_key select g.number, k.number from granted g, keywarden.key k where k.name = 'one'`;

test('a revocation that a busy control plane rejects is repeated in the same run', async () => {
  await prepareBetween(['one', 'busy']);
  const plan = await makeStoredPlan();
  let calls = 0;
  setBetween(async ({ method }, forward) => {
    if (method === 'DELETE') calls += 1;
    return method === 'DELETE' && calls < 3 ? new Response('{"message": "busy"}', { status: 503 }) : await forward();
  });
  const { time, ...connection } = connectionOf(fixture);
  const waits: number[] = [];
  const sleep: typeof time.sleep = async (ms, signal) => {
    waits.push(ms);
    await time.sleep(ms, signal);
  };
  fixture.connections = [{ ...connection, time: { ...time, sleep } }];
  expect(outcomes(await apply(plan))).toEqual({ one: 'revoked' });
  expect([calls, waits]).toEqual([3, [500, 1000]]);
});

test.each([302, 303, 308, 408, 410, 418, 499])(
  'R3, R4: a revocation that took effect and was answered %i is unknown, and counts for the quota',
  async (status) => {
    await prepareBetween(['one', 'two', 'three', 'busy'], { rules: [neverUsedRule], quotas: { per_day: 1 } });
    const plan = await makeStoredPlan();
    setBetween(async ({ method }, forward) => {
      const answer = await forward();
      return method === 'DELETE' ? new Response(null, { status, headers: answer.headers }) : answer;
    });
    expect(Object.values(outcomes(await apply(plan)))).toEqual([expect.stringMatching(/^unknown: /)]);
    for (let passes = 0; passes < 3; passes += 1) await apply(await makeStoredPlan());
    expect(await revokedNames()).toHaveLength(1);
  },
);

test('R3: a revocation that took effect and was answered 403 counts for the quota until two listings have decided', async () => {
  await prepareBetween(['one', 'two', 'three', 'busy'], { rules: [neverUsedRule], quotas: { per_day: 1 } });
  const plan = await makeStoredPlan();
  setBetween(async ({ method }, forward) => {
    const answer = await forward();
    return method === 'DELETE' ? new Response('{"message": "no"}', { status: 403, headers: answer.headers }) : answer;
  });
  await apply(plan);
  for (let passes = 0; passes < 3; passes += 1) await apply(await makeStoredPlan());
  expect(await revokedNames()).toHaveLength(1);
});

test('R1: a key with a last-use address and no last-use time does not count as unused', async () => {
  await prepareBetween(['one', 'busy']);
  setBetween(async (request, forward) =>
    isKeyList(request)
      ? await changed(forward, (rows) =>
          rows.map((row) => ({ ...row, last_used_at: null, last_used_from_addr: '203.0.113.7' })),
        )
      : await forward(),
  );
  const { document } = await makeStoredPlan();
  expect(document.items).toEqual([]);
  expect(document.held.map(({ key, why }) => [key.name, why.kind])).toEqual([
    ['one', 'unknown'],
    ['busy', 'unknown'],
  ]);
});

test('R1: a key that a list shows twice is judged by its last use', async () => {
  await prepareBetween(['one', 'busy']);
  setBetween(async (request, forward) =>
    isKeyList(request)
      ? await changed(forward, (rows) => [
          ...rows,
          ...rows.map((row) => ({ ...row, last_used_at: null, last_used_from_addr: '' })),
        ])
      : await forward(),
  );
  expect((await makeStoredPlan()).document.items.map(({ key }) => key.name)).toEqual(['one']);
});

/** Returns a cache that repeats the first list of keys, from the second time on with these headers. */
function cacheOfKeys(more: Record<string, string>): Answer {
  let kept: { body: string; headers: Headers } | undefined;
  return async (request, forward) => {
    if (!isKeyList(request)) return await forward();
    if (kept === undefined) {
      const answer = await forward();
      kept = { body: await answer.text(), headers: new Headers(answer.headers) };
      kept.headers.delete('content-length');
    } else for (const [name, value] of Object.entries(more)) kept.headers.set(name, value);
    return new Response(kept.body, { headers: kept.headers });
  };
}

test('R1, A7: a cached response is not a listing: nothing is concluded from it, and no key is revoked on it', async () => {
  const { one } = await prepareBetween(['one', 'two', 'busy']);
  const plan = await makeStoredPlan();
  let asked: string | null = null;
  setBetween(cacheOfKeys({ age: '300' }));
  await syncKeys(fixture.context, connectionOf(fixture));
  await use(one?.key ?? '');
  expect(outcomes(await apply(plan))).toEqual({
    one: expect.stringContaining('a cache between answered'),
    two: expect.stringContaining('a cache between answered'),
  });
  expect(await revokedNames()).toEqual([]);
  setBetween(async (_request, forward) => await forward());
  fixture.context.limiters.clear();
  const original = globalThis.fetch;
  globalThis.fetch = async (input, init) => {
    asked = new Headers(init?.headers).get('cache-control');
    return await original(input, init);
  };
  await syncKeys(fixture.context, connectionOf(fixture));
  globalThis.fetch = original;
  expect(asked).toBe('no-cache');
});

test('A7: a response whose Date does not advance with time is from a cache, even without an Age header', async () => {
  await prepareBetween(['one', 'busy']);
  await makeStoredPlan();
  setBetween(async (request, forward) => {
    const answer = await forward();
    if (!isKeyList(request)) return answer;
    const headers = new Headers(answer.headers);
    headers.set('date', new Date(Date.parse(headers.get('date') ?? '') - 120_000).toUTCString());
    return new Response(await answer.text(), { headers });
  });
  await syncKeys(fixture.context, connectionOf(fixture));
  const [last] = await store.sql`select why_suspect from keywarden.key_listing order by number desc limit 1`;
  expect(last?.why_suspect).toMatch(/^its Date is 1\d\d s in the past/);
});

test('R1, A7: a response with the Date of the previous one, seconds later, is that cached response', async () => {
  const { one } = await prepareBetween(['one', 'busy']);
  const plan = await makeStoredPlan();
  setBetween(cacheOfKeys({}));
  let laterMs = 0;
  const connection = connectionOf(fixture);
  fixture.connections = [{ ...connection, time: { ...connection.time, now: () => Date.now() + laterMs } }];
  await syncKeys(fixture.context, connectionOf(fixture));
  await use(one?.key ?? '');
  laterMs = 5000;
  expect(outcomes(await apply(plan)).one).toMatch(
    /its Date is that of a response from \d s earlier: a cache between answered/,
  );
  expect(await revokedNames()).toEqual([]);
});

test('A7: suspect listings are shown, and open an incident after more than a day; a trusted listing ends it', async () => {
  await prepareBetween(['one', 'busy']);
  await makeStoredPlan();
  const suspicions = async () => (await listInventoryCoverage(store.db)).flatMap(({ suspect }) => suspect?.why ?? []);
  setBetween(async (request, forward) =>
    isKeyList(request) ? await changed(forward, (rows) => [{ ...rows[0], created_at: 'yesterday' }]) : await forward(),
  );
  await pass();
  expect(await suspicions()).toEqual([expect.stringMatching(/^1 of its rows cannot be read/)]);
  expect(await openIncidents()).toEqual([]);
  await pass(day);
  await pass(60);
  expect(await openIncidents()).toEqual(['listing_doubted']);
  setBetween(plain);
  await pass(60);
  expect(await suspicions()).toEqual([]);
  expect(await openIncidents()).toEqual([]);
});

test('A7: listing continues after an empty page that has a cursor', async () => {
  await prepareBetween(['one', 'two', 'three', 'four', 'busy']);
  await makeStoredPlan();
  setBetween(async (request, forward) => {
    if (!isKeyList(request)) return await forward();
    return await changed(forward, (rows) => {
      const page = (keys: unknown[], cursor?: string) => ({ keys, ...(cursor ? { pagination: { cursor } } : {}) });
      switch (request.url.searchParams.get('cursor')) {
        case null:
          return page(rows.slice(0, 3), 'second');
        case 'second':
          return page([], 'third');
        default:
          return page(rows.slice(3));
      }
    });
  });
  for (let passes = 0; passes < 3; passes += 1) await pass();
  const gone = await store.sql`select 1 from keywarden.key where gone_at is not null or missing_since is not null`;
  expect(gone).toEqual([]);
});

test('R2: while the configured own key of a connection is gone, nothing is revoked in the scopes it sees', async () => {
  const { own } = await prepareBetween(['own', 'one', 'busy']);
  const [connection] = fixture.context.config.connections;
  if (connection !== undefined) connection.keyId = String(own?.id);
  await fixture.reconnect();
  await makeStoredPlan();
  await fixture.ask('DELETE', `/organizations/${organization}/api_keys/${own?.id}`);
  for (let listings = 0; listings < 3; listings += 1) {
    await fixture.controls.advance(3700);
    await fixture.reconnect();
    await syncKeys(fixture.context, connectionOf(fixture));
  }
  const { document } = await makeStoredPlan();
  expect(document.items).toEqual([]);
  expect(document.held.map(({ key, why }) => [key.name, why.kind])).toEqual([['one', 'own_key_unknown']]);
});

test.each([
  ['is answered with more digits of the last use than the list has', { digits: ['', '.192684'], times: 1 }],
  [
    'is answered with six digits of the last use, after a list with one of them,',
    { digits: ['.1', '.192684'], times: 1 },
  ],
  ['follows a list that shows the key twice, first without its use,', { digits: ['', ''], times: 2 }],
])('R5: a revocation that %s shows no other use', async (_name, { digits: [listed, answered], times }) => {
  const rules = [{ name: 'unused', unused_for: '20d', action: 'revoke' }];
  await prepareBetween(['one', 'busy'], { rules });
  let usedAt = '';
  const showUse = (row: Record<string, unknown>, digits = '') => {
    usedAt ||= new Date(Date.parse(String(row.created_at)) + 60_000)
      .toISOString()
      .slice(0, 'YYYY-MM-DDTHH:MM:SS'.length);
    return { ...row, last_used_at: `${usedAt}${digits}Z` };
  };
  setBetween(async (request, forward) => {
    if (isKeyList(request))
      return await changed(forward, (rows) =>
        rows.flatMap((row) => (row.name === 'one' ? [row, showUse(row, listed)].slice(-times) : [row])),
      );
    if (request.method !== 'DELETE') return await forward();
    const answer = await forward();
    const row = (await answer.json()) as Record<string, unknown>;
    return Response.json(showUse(row, answered), { headers: answer.headers });
  });
  await pass();
  const plan = await makeStoredPlan();
  expect(outcomes(await apply(plan))).toEqual({ one: 'revoked' });
  expect(await openIncidents()).toEqual([]);
});
