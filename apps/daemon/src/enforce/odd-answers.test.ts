import { policySchema } from '@keywarden/core/policy';
import { expect, test } from 'vitest';
import { syncKeys } from '../sync/keys.ts';
import { connectionOf, hurried, neverUsedRule } from '../testing.ts';
import {
  apply,
  bed,
  makeStoredPlan,
  mint,
  openIncidents,
  organization,
  outcomes,
  pass,
  prepare,
  revokedNames,
  store,
  use,
  useApplyBed,
} from './apply-bed.ts';

// A control plane that is not the sandbox: gateways, caches and replicas between answer in ways that its description does not promise.

useApplyBed();

type Answer = (request: { method: string; url: URL }, forward: () => Promise<Response>) => Promise<Response>;

/** What stands between the daemon and the sandbox; each test puts its own there. */
let between: Answer;
const client = {
  time: hurried,
  fetch: (async (input, init) => {
    const url = new URL(input instanceof Request ? input.url : input);
    return await between({ method: init?.method ?? 'GET', url }, async () => await fetch(input, init));
  }) as typeof fetch,
};
const plain: Answer = async (_request, forward) => await forward();
const isKeyList = ({ method, url }: { method: string; url: URL }) =>
  method === 'GET' && url.pathname.endsWith(`/organizations/${organization}/api_keys`);

async function prepareBetween(names: string[], policy: object = { rules: [neverUsedRule] }) {
  between = plain;
  return await prepare(names, { policy: policySchema.parse(policy), client });
}

/** A list's rows, changed. */
async function changed(forward: () => Promise<Response>, change: (rows: Record<string, unknown>[]) => unknown) {
  const response = await forward();
  const { status, headers } = response;
  return new Response(JSON.stringify(change((await response.json()) as Record<string, unknown>[])), {
    status,
    headers,
  });
}

test('R1: a revocation that was answered 429 is judged again before it is repeated', async () => {
  await prepareBetween(['one', 'busy']);
  const plan = await makeStoredPlan();
  let calls = 0;
  between = async ({ method }, forward) => {
    if (method !== 'DELETE') return await forward();
    calls += 1;
    await store.sql`
      with granted as (
        insert into keywarden.exemption (reason, granted_by, granted_at, until) values ('t', 'ada', now(), now() + interval '1 year') returning number)
      insert into keywarden.exemption_key select g.number, k.number from granted g, keywarden.key k where k.name = 'one'`;
    return new Response('{"message": "slow down"}', { status: 429, headers: { 'retry-after': '25' } });
  };
  expect(outcomes(await apply(plan)).one).toMatch(/^skipped: exempt until/);
  expect(calls).toBe(1);
  expect(await revokedNames()).toEqual([]);
});

test('a revocation that a busy control plane turned away is made when it takes it, in the same run', async () => {
  await prepareBetween(['one', 'busy']);
  const plan = await makeStoredPlan();
  let calls = 0;
  between = async ({ method }, forward) => {
    if (method === 'DELETE') calls += 1;
    return method === 'DELETE' && calls < 3 ? new Response('{"message": "busy"}', { status: 503 }) : await forward();
  };
  expect(outcomes(await apply(plan))).toEqual({ one: 'revoked' });
  expect(calls).toBe(3);
});

test.each([302, 303, 308, 408, 410, 418, 499])(
  'R3, R4: a revocation that was done and answered %i is unknown, and takes a place of the quota',
  async (status) => {
    await prepareBetween(['one', 'two', 'three', 'busy'], { rules: [neverUsedRule], quotas: { per_day: 1 } });
    const plan = await makeStoredPlan();
    between = async ({ method }, forward) => {
      const answer = await forward();
      return method === 'DELETE' ? new Response(null, { status, headers: answer.headers }) : answer;
    };
    expect(Object.values(outcomes(await apply(plan)))).toEqual([expect.stringMatching(/^unknown: /)]);
    for (let passes = 0; passes < 3; passes += 1) await apply(await makeStoredPlan());
    expect(await revokedNames()).toHaveLength(1);
  },
);

test('R3: a revocation that was done and answered 403 takes a place of the quota until two listings have told', async () => {
  await prepareBetween(['one', 'two', 'three', 'busy'], { rules: [neverUsedRule], quotas: { per_day: 1 } });
  const plan = await makeStoredPlan();
  between = async ({ method }, forward) => {
    const answer = await forward();
    return method === 'DELETE' ? new Response('{"message": "no"}', { status: 403, headers: answer.headers }) : answer;
  };
  await apply(plan);
  for (let passes = 0; passes < 3; passes += 1) await apply(await makeStoredPlan());
  expect(await revokedNames()).toHaveLength(1);
});

test('R1: a key whose use has an address and no time is not taken for unused', async () => {
  await prepareBetween(['one', 'busy']);
  between = async (request, forward) =>
    isKeyList(request)
      ? await changed(forward, (rows) =>
          rows.map((row) => ({ ...row, last_used_at: null, last_used_from_addr: '203.0.113.7' })),
        )
      : await forward();
  const { document } = await makeStoredPlan();
  expect(document.items).toEqual([]);
  expect(document.held.map(({ key, why }) => [key.name, why.kind])).toEqual([
    ['one', 'unknown'],
    ['busy', 'unknown'],
  ]);
});

test('R1: a key that a list shows twice is judged by its last use', async () => {
  await prepareBetween(['one', 'busy']);
  between = async (request, forward) =>
    isKeyList(request)
      ? await changed(forward, (rows) => [
          ...rows,
          ...rows.map((row) => ({ ...row, last_used_at: null, last_used_from_addr: '' })),
        ])
      : await forward();
  expect((await makeStoredPlan()).document.items.map(({ key }) => key.name)).toEqual(['one']);
});

test('R1, A7: what a cache answers is no listing: nothing is concluded from it, and nothing goes by it', async () => {
  const { one } = await prepareBetween(['one', 'two', 'busy']);
  const plan = await makeStoredPlan();
  let kept: { body: string; headers: Headers } | undefined;
  let asked: string | null = null;
  between = async (request, forward) => {
    if (!isKeyList(request)) return await forward();
    if (kept === undefined) {
      const answer = await forward();
      kept = { body: await answer.text(), headers: new Headers(answer.headers) };
      kept.headers.delete('content-length');
    } else kept.headers.set('age', '300');
    return new Response(kept.body, { headers: kept.headers });
  };
  await syncKeys(bed.context, connectionOf(bed));
  await use(one?.key ?? '');
  expect(outcomes(await apply(plan))).toEqual({
    one: expect.stringContaining('a cache between answered'),
    two: expect.stringContaining('a cache between answered'),
  });
  expect(await revokedNames()).toEqual([]);
  between = async (_request, forward) => await forward();
  bed.context.limiters.clear();
  const original = globalThis.fetch;
  globalThis.fetch = async (input, init) => {
    asked = new Headers(init?.headers).get('cache-control');
    return await original(input, init);
  };
  await syncKeys(bed.context, connectionOf(bed));
  globalThis.fetch = original;
  expect(asked).toBe('no-cache');
});

test('A7: an answer whose Date stands still while time goes by is of a cache, also when it does not say its age', async () => {
  await prepareBetween(['one', 'busy']);
  await makeStoredPlan();
  between = async (request, forward) => {
    const answer = await forward();
    if (!isKeyList(request)) return answer;
    const headers = new Headers(answer.headers);
    headers.set('date', new Date(Date.parse(headers.get('date') ?? '') - 120_000).toUTCString());
    return new Response(await answer.text(), { headers });
  };
  await syncKeys(bed.context, connectionOf(bed));
  const [last] = await store.sql`select doubt from keywarden.key_listing order by number desc limit 1`;
  expect(last?.doubt).toMatch(/^its Date lies 1\d\d s back/);
});

test('A7: a list goes on after an empty page that has a cursor', async () => {
  await prepareBetween(['one', 'two', 'three', 'four', 'busy']);
  await makeStoredPlan();
  between = async (request, forward) => {
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
  };
  for (let passes = 0; passes < 3; passes += 1) await pass();
  const gone = await store.sql`select 1 from keywarden.key where gone_at is not null or missing_since is not null`;
  expect(gone).toEqual([]);
});

test('R2: while the key that a connection is said to use is gone, nothing is revoked where it looks', async () => {
  const { own } = await prepareBetween(['own', 'one', 'busy']);
  const [connection] = bed.context.config.connections;
  if (connection !== undefined) connection.keyId = String(own?.id);
  await bed.reconnect();
  await makeStoredPlan();
  await bed.ask('DELETE', `/organizations/${organization}/api_keys/${own?.id}`);
  for (let listings = 0; listings < 3; listings += 1) {
    await bed.control('POST', 'clock', { advance_seconds: 3700 });
    await bed.reconnect();
    await syncKeys(bed.context, connectionOf(bed));
  }
  const { document } = await makeStoredPlan();
  expect(document.items).toEqual([]);
  expect(document.held.map(({ key, why }) => [key.name, why.kind])).toEqual([['one', 'own_key_unknown']]);
});

test('R7: an organization whose rows no store can hold does not keep the others from being listed', async () => {
  await prepareBetween(['one', 'busy']);
  await bed.control('POST', 'generate', { organizations: 1, projects: 1, keys: 3, operations: 0 });
  for (const row of [
    { id: '9223372036854775808' },
    { created_at: '2026-02-30T00:00:00Z' },
    { created_at: '2026-01-01T00:00:00+99:99' },
  ]) {
    await store.sql`delete from keywarden.key_listing`;
    between = async (request, forward) =>
      isKeyList(request) ? await changed(forward, (rows) => [{ ...rows[0], ...row }]) : await forward();
    await expect(syncKeys(bed.context, connectionOf(bed))).rejects.toThrow(
      /The keys of 1 of 3 scopes .* the others are stored/,
    );
    const listed = await store.sql`select distinct scope from keywarden.key_listing`;
    expect(listed).toHaveLength(2);
  }
});

test('a Date a year ahead is refused aloud, and later listings are stored', async () => {
  await prepareBetween(['one', 'busy']);
  const answersAhead: Answer = async (_request, forward) => {
    const answer = await forward();
    const headers = new Headers(answer.headers);
    headers.set('date', new Date(Date.now() + 365 * 86_400_000).toUTCString());
    headers.set('server', 'another');
    return new Response(await answer.text(), { status: answer.status, headers });
  };
  between = answersAhead;
  await bed.reconnect();
  await expect(syncKeys(bed.context, connectionOf(bed))).rejects.toThrow(
    /nothing is stored through it until both agree/,
  );
  between = plain;
  await bed.reconnect();
  expect((await makeStoredPlan()).document.items.map(({ key }) => key.name)).toEqual(['one']);
});

const leavers = { rules: [{ name: 'left', creator_left: true, action: 'revoke', even_in_use: true }] };

/** The organization's members as another list has them: without the creators of its keys, or with them. */
const membersWithout =
  (isLeft: () => boolean): Answer =>
  async (request, forward) => {
    if (!request.url.pathname.endsWith('/members')) return await forward();
    const answer = await forward();
    const body = (await answer.json()) as { members: { member: { user_id: string } }[] };
    const creators = await store.sql`select creator_id from keywarden.key`;
    const members = body.members.filter(
      ({ member }) => !isLeft() || !creators.some((row) => row.creator_id === member.user_id),
    );
    return new Response(JSON.stringify({ ...body, members }), {
      headers: { date: answer.headers.get('date') ?? '', 'content-type': 'application/json' },
    });
  };

async function prepareLeaver() {
  await prepareBetween(['one', 'busy'], leavers);
  await bed
    .control('POST', 'generate', { organizations: 0, projects: 0, keys: 0, operations: 0 })
    .catch(() => undefined);
  let isLeft = true;
  await syncKeys(bed.context, connectionOf(bed));
  between = membersWithout(() => isLeft);
  for (let listings = 0; listings < 3; listings += 1) {
    await bed.control('POST', 'clock', { advance_seconds: 3700 });
    await bed.reconnect();
    await syncKeys(bed.context, connectionOf(bed));
  }
  return { comeBack: () => (isLeft = false) };
}

test('R1: whoever was added again before the plan is applied has not left', async () => {
  const { comeBack } = await prepareLeaver();
  const plan = await makeStoredPlan();
  expect(plan.document.items.length).toBeGreaterThan(0);
  comeBack();
  const applied = await apply(plan);
  expect(applied.items.map(({ outcome }) => outcome)).not.toContain('revoked');
  expect(await revokedNames()).toEqual([]);
});

test('R1: where members can be listed no more, who has left is unknown once that evidence is old', async () => {
  await prepareLeaver();
  const forbid: Answer = async ({ url }, forward) =>
    url.pathname.endsWith('/members') ? new Response('{"message": "no"}', { status: 403 }) : await forward();
  between = forbid;
  const plan = await makeStoredPlan();
  expect(Object.values(outcomes(await apply(plan)))).toContainEqual(expect.stringContaining('members'));
  await pass(3 * 86_400);
  const { document } = await makeStoredPlan();
  expect(document.items).toEqual([]);
  expect(await revokedNames()).toEqual([]);
});

test('a name with what a terminal obeys stays one cell of its table', async () => {
  await prepareBetween(['busy']);
  await mint('x\u001b[2K\u202Ey');
  const { renderTable } = await import('../commands/table.ts');
  await syncKeys(bed.context, connectionOf(bed));
  const rows = await store.sql`select name from keywarden.key where name like 'x%'`;
  expect(
    renderTable(
      ['NAME'],
      rows.map((row) => [String(row.name)]),
    ),
  ).toBe(String.raw`NAME
x\u{1b}[2K\u{202e}y`);
});

test('R1: an id that comes back with another creation time or creator is another key: it has none of the old one’s age, use, owner or exemptions', async () => {
  const { one } = await prepareBetween(['one', 'busy']);
  await makeStoredPlan();
  await store.sql`
    with granted as (
      insert into keywarden.exemption (reason, granted_by, granted_at, until) values ('t', 'ada', now(), now() + interval '1 year') returning number)
    insert into keywarden.exemption_key select g.number, k.number from granted g, keywarden.key k where k.name = 'busy'`;
  const hourAgo = async () => {
    const { now } = await bed.control<{ now: string }>('GET', 'clock');
    return new Date(Date.parse(now) - 3_600_000).toISOString();
  };
  const createdAt = await hourAgo();
  between = async (request, forward) =>
    isKeyList(request)
      ? await changed(forward, (rows) =>
          rows.map((row) => (row.id === one?.id ? { ...row, created_at: createdAt, name: 'new' } : row)),
        )
      : await forward();
  for (let passes = 0; passes < 3; passes += 1) await pass();
  const { document } = await makeStoredPlan();
  expect(document.items).toEqual([]);
  const rows = await store.sql`
    select name, gone_at is null as is_there, superseded_at is null as has_id from keywarden.key where id = ${String(one?.id)} order by number`;
  expect(rows.map((row) => ({ ...row }))).toEqual([
    { name: 'one', is_there: false, has_id: false },
    { name: 'new', is_there: true, has_id: true },
  ]);
  expect(await openIncidents()).toEqual(['key_changed']);
  // A month later it is as old as the rule wants, and nobody has looked.
  await pass(31 * 86_400);
  await pass();
  const held = (await makeStoredPlan()).document.held.map(({ key, why }) => [key.name, why.kind]);
  expect(held).toContainEqual(['new', 'identity_changed']);
  await store.sql`update keywarden.incident set closed_at = now(), closed_by = 'ada'`;
  expect((await makeStoredPlan()).document.items.map(({ key }) => key.name)).toContain('new');
  // What was there before, with all that it had, is there again when its record is.
  between = plain;
  await pass();
  const [again] =
    await store.sql`select name, gone_at from keywarden.key where id = ${String(one?.id)} and superseded_at is null`;
  expect(again).toMatchObject({ name: 'one', gone_at: null });
});

test('R1: a key whose creation cannot be is not judged by its age, and is when a later list says better', async () => {
  await prepareBetween(['one', 'busy']);
  for (const createdAt of ['0001-01-01T00:00:00Z', '2999-01-01T00:00:00Z', '2001-01-01T00:00:00Z']) {
    await store.sql`truncate keywarden.key, keywarden.key_listing, keywarden.incident cascade`;
    between = async (request, forward) =>
      isKeyList(request)
        ? await changed(forward, (rows) => rows.map((row) => ({ ...row, created_at: createdAt })))
        : await forward();
    const { document } = await makeStoredPlan();
    expect(document.items).toEqual([]);
    expect(document.held.map(({ key, why }) => [key.name, why.kind])).toContainEqual(['one', 'unknown']);
  }
  between = plain;
  await store.sql`truncate keywarden.key, keywarden.key_listing, keywarden.incident cascade`;
  between = async (request, forward) =>
    isKeyList(request)
      ? await changed(forward, (rows) => rows.map((row) => ({ ...row, created_at: '0001-01-01T00:00:00Z' })))
      : await forward();
  await makeStoredPlan();
  between = plain;
  expect((await makeStoredPlan()).document.items.map(({ key }) => key.name)).toEqual(['one']);
});
