import { exemptionList, grantExemption, readItems } from '@keywarden/db/daemon';
import {
  apply,
  day,
  fixture,
  makeStoredPlan,
  mint,
  openIncidents,
  organization,
  outcomes,
  pass,
  revokedNames,
  store,
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
import { connectionOf } from '@keywarden/testkit/daemon/fixture';
import { expect, test } from 'vitest';
import { syncKeys } from '../sync/keys.ts';

// These records contradict themselves or earlier ones: ids that return, members who come and go.

useApplyFixture();

test('R7: an unreadable row stops every conclusion about its organization only; the row is kept, and all others are listed', async () => {
  await prepareBetween(['one', 'busy']);
  await fixture.controls.generate({ organizations: 1, projects: 1, keys: 3, operations: 0 });
  const odd = [
    { id: '9223372036854775808' },
    { created_at: '2026-02-30T00:00:00Z' },
    { created_at: '2026-01-01T00:00:00+99:99' },
    { last_used_at: '2026-06-30T23:59:60Z' },
  ];
  const kept: Record<string, unknown>[] = [];
  for (const row of odd) {
    await store.sql`delete from keywarden.key_listing`;
    setBetween(async (request, forward) =>
      isKeyList(request)
        ? await changed(forward, (rows) => [...rows.slice(1), { ...rows[0], ...row }])
        : await forward(),
    );
    await syncKeys(fixture.context, connectionOf(fixture));
    const listings = await store.sql`select scope, why_suspect from keywarden.key_listing`;
    expect(new Set(listings.map(({ scope }) => scope)).size).toBe(3);
    expect(listings.flatMap(({ why_suspect: why }) => why ?? [])).toEqual([
      expect.stringMatching(/^1 of its rows cannot be read/),
    ]);
    expect((await makeStoredPlan()).document.items).toEqual([]);
    const [last] = await store.sql`select list, why from keywarden.rejected_row order by last_seen_at desc limit 1`;
    kept.push(last ?? {});
  }
  expect(kept.map(({ list, why }) => `${String(list)}: ${String(why)}`)).toEqual([
    expect.stringMatching(/^keys: id /),
    expect.stringMatching(/^keys: created_at not an RFC 3339 time/),
    expect.stringMatching(/^keys: created_at /),
    expect.stringMatching(/^keys: last_used_at /),
  ]);
  setBetween(plain);
  expect((await makeStoredPlan()).document.items.map(({ key }) => key.name)).toEqual(['one']);
});

test('a Date a year ahead is refused with an error, and later listings are stored', async () => {
  await prepareBetween(['one', 'busy']);
  const answersAhead: Answer = async (_request, forward) => {
    const answer = await forward();
    const headers = new Headers(answer.headers);
    headers.set('date', new Date(Date.now() + 365 * 86_400_000).toUTCString());
    headers.set('server', 'another');
    return new Response(await answer.text(), { status: answer.status, headers });
  };
  setBetween(answersAhead);
  await fixture.reconnect();
  await expect(syncKeys(fixture.context, connectionOf(fixture))).rejects.toThrow(
    /^Nothing is stored through connection main, because the control plane's clock is \d+ s ahead of this machine's/,
  );
  const nextYear = new Date(Date.now() + 300 * 86_400_000).toISOString();
  const [members] = await store.sql`
    select count(*)::int as count from keywarden.member_listing where listed_at > ${nextYear}`;
  expect(members?.count).toBe(0);
  setBetween(plain);
  await fixture.reconnect();
  expect((await makeStoredPlan()).document.items.map(({ key }) => key.name)).toEqual(['one']);
});

test("R1: a key that another organization's list also shows stays; an exemption for one record covers the other", async () => {
  await prepareBetween(['one', 'busy']);
  await fixture.controls.generate({ organizations: 1, projects: 1, keys: 0, operations: 0 });
  const { organizations } = await fixture.ask<{ organizations: { id: string }[] }>('GET', '/users/me/organizations');
  const other = organizations.find(({ id }) => id !== organization)?.id;
  await fixture.ask('POST', `/organizations/${other}/api_keys`, { key_name: 'of the other' });
  setBetween(async ({ method, url }, forward) => {
    if (method !== 'GET' || !url.pathname.endsWith(`/organizations/${other}/api_keys`)) return await forward();
    const asked = new URL(url.href.replace(String(other), organization));
    return await fetch(asked, { headers: { authorization: `Bearer ${fixture.sandbox.adminKey}` } });
  });
  const plan = await makeStoredPlan();
  expect(plan.document.items).toEqual([]);
  expect(plan.document.held.map(({ why }) => why.text)).toEqual([
    expect.stringMatching(/also shows it/),
    expect.stringMatching(/also shows it/),
  ]);
  const [ghost] =
    await store.sql`select number from keywarden.key where name = 'one' and organization_id = ${String(other)}`;
  const exemption = { rules: null, pattern: null, reason: 'needed', grantedBy: 'ada' };
  const at = { grantedAt: new Date().toISOString(), until: new Date(Date.now() + 400 * 86_400_000).toISOString() };
  await grantExemption(fixture.context.store.sql, { ...exemption, ...at, keys: [String(ghost?.number)] });
  setBetween(plain);
  for (let listings = 0; listings < 2; listings += 1) await makeStoredPlan();
  const last = await makeStoredPlan();
  expect(last.document.items).toEqual([]);
  expect(last.document.held.map(({ why }) => why.text)).toEqual([expect.stringMatching(/^exempt until/)]);
  const shown = exemptionList({ key: last.document.held[0]?.key.number }, null);
  expect(await readItems(fixture.context.store.db, shown, 9)).toHaveLength(1);
});

const leavers = { rules: [{ name: 'left', creator_left: true, action: 'revoke', even_in_use: true }] };

/** Returns the organization's members as another list shows them: without the creators of its keys, or with them. */
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

async function prepareLeaver(names = ['one', 'busy']) {
  await prepareBetween(names, leavers);
  await fixture.controls.generate({ organizations: 0, projects: 0, keys: 0, operations: 0 }).catch(() => undefined);
  let isLeft = true;
  await syncKeys(fixture.context, connectionOf(fixture));
  setBetween(membersWithout(() => isLeft));
  for (let listings = 0; listings < 3; listings += 1) {
    await fixture.controls.advance(3700);
    await fixture.reconnect();
    await syncKeys(fixture.context, connectionOf(fixture));
  }
  return { comeBack: () => (isLeft = false) };
}

test('R1: a creator who was added again before the plan is applied has not left', async () => {
  const { comeBack } = await prepareLeaver();
  const plan = await makeStoredPlan();
  expect(plan.document.items.length).toBeGreaterThan(0);
  comeBack();
  const applied = await apply(plan);
  expect(applied.items.map(({ outcome }) => outcome)).not.toContain('revoked');
  expect(await revokedNames()).toEqual([]);
});

test('R1: a creator who was added again over a minute after the members were listed for an earlier key has not left', async () => {
  const { comeBack } = await prepareLeaver(['one', 'two', 'busy']);
  const plan = await makeStoredPlan();
  let waitedMs = 0;
  const [connection] = fixture.connections;
  if (connection === undefined) throw new Error('there is no connection');
  const time = { ...connection.time, now: () => connection.time.now() + waitedMs };
  fixture.connections = [{ ...connection, time }];
  const answer = membersWithout(() => waitedMs === 0);
  setBetween(async (request, forward) => {
    if (request.method !== 'DELETE') return await answer(request, forward);
    const revoked = await forward();
    await fixture.controls.advance(61);
    waitedMs = 61_000;
    comeBack();
    return revoked;
  });
  expect((await apply(plan)).items.map(({ outcome }) => outcome)).toEqual(['revoked', 'skipped']);
  expect(await revokedNames()).toHaveLength(1);
});

test('R1: a list that names the members of another organization does not show who has left', async () => {
  await prepareBetween(['one', 'busy'], leavers);
  await syncKeys(fixture.context, connectionOf(fixture));
  let orgId: string | undefined = 'org-another';
  setBetween(async (request, forward) => {
    if (!request.url.pathname.endsWith('/members')) return await forward();
    const { headers } = await forward();
    const members = Array.from({ length: 20 }, (_, index) => {
      const id = `00000000-0000-4000-b000-0000000000${10 + index}`;
      return { member: { id, user_id: id, org_id: orgId, role: 'admin' }, user: { email: 'a@company.example' } };
    });
    return Response.json({ members }, { headers: { date: headers.get('date') ?? '' } });
  });
  const flagged = async (seconds?: number) => {
    for (let listings = 0; listings < 3; listings += 1) await pass(seconds);
    return (await makeStoredPlan()).document.items.map(({ key }) => key.name).toSorted();
  };
  expect(await flagged()).toEqual([]);
  // A service that does not name the organization is believed after a day, because all members of before are absent.
  orgId = undefined;
  expect(await flagged()).toEqual([]);
  expect(await flagged(day)).toEqual(['one']);
});

test.each([200, 500])(
  'R1: a list of members that cannot be read, with status %i, does not show again who has left',
  async (status) => {
    await prepareLeaver();
    const plan = await makeStoredPlan();
    expect(plan.document.items.length).toBeGreaterThan(0);
    setBetween(async (request, forward) => {
      const answer = await forward();
      if (!request.url.pathname.endsWith('/members')) return answer;
      const { members } = (await answer.json()) as { members: object[] };
      if (status === 500) return Response.json({ message: 'no' }, { status });
      const odd = [...members.slice(1), { ...members[0], member: null }];
      return Response.json({ members: odd }, { headers: { date: answer.headers.get('date') ?? '' } });
    });
    expect(Object.values(outcomes(await apply(plan)))).toContainEqual(expect.stringContaining('members'));
    expect(await revokedNames()).toEqual([]);
  },
);

test('R1: when members can no longer be listed, who has left is unknown once that evidence is old', async () => {
  await prepareLeaver();
  const forbid: Answer = async ({ url }, forward) =>
    url.pathname.endsWith('/members') ? new Response('{"message": "no"}', { status: 403 }) : await forward();
  setBetween(forbid);
  const plan = await makeStoredPlan();
  expect(Object.values(outcomes(await apply(plan)))).toContainEqual(expect.stringContaining('members'));
  await pass(3 * 86_400);
  const { document } = await makeStoredPlan();
  expect(document.items).toEqual([]);
  expect(await revokedNames()).toEqual([]);
});

test('a name with terminal control characters stays one cell of its table', async () => {
  await prepareBetween(['busy']);
  await mint('x\u001b[2K\u202Ey');
  const { renderTable } = await import('../commands/table.ts');
  await syncKeys(fixture.context, connectionOf(fixture));
  const rows = await store.sql`select name from keywarden.key where name like 'x%'`;
  expect(
    renderTable(
      ['NAME'],
      rows.map((row) => [String(row.name)]),
    ),
  ).toBe(String.raw`NAME
x\u{1b}[2K\u{202e}y`);
});

test("R1: an id that returns with another creation time or creator is a new key without the old one's age, use, owner or exemptions", async () => {
  const { one } = await prepareBetween(['one', 'busy']);
  await makeStoredPlan();
  await store.sql`
    with granted as (
      insert into keywarden.exemption (reason, granted_by, granted_at, until) values ('t', 'ada', now(), now() + interval '1 year') returning number)
    insert into keywarden.exemption_key select g.number, k.number from granted g, keywarden.key k where k.name = 'busy'`;
  const hourAgo = async () => {
    const now = await fixture.controls.now();
    return new Date(Date.parse(now) - 3_600_000).toISOString();
  };
  const createdAt = await hourAgo();
  setBetween(async (request, forward) =>
    isKeyList(request)
      ? await changed(forward, (rows) =>
          rows.map((row) => (row.id === one?.id ? { ...row, created_at: createdAt, name: 'new' } : row)),
        )
      : await forward(),
  );
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
  // A month later the key is as old as the rule requires, and nothing was listed meanwhile.
  await pass(31 * 86_400);
  await pass();
  const held = (await makeStoredPlan()).document.held.map(({ key, why }) => [key.name, why.kind]);
  expect(held).toContainEqual(['new', 'identity_changed']);
  await store.sql`update keywarden.incident set closed_at = now(), closed_by = 'ada'`;
  expect((await makeStoredPlan()).document.items.map(({ key }) => key.name)).toContain('new');
  // When the old record returns, the old key exists again with everything it had.
  setBetween(plain);
  await pass();
  const [again] =
    await store.sql`select name, gone_at from keywarden.key where id = ${String(one?.id)} and superseded_at is null`;
  expect(again).toMatchObject({ name: 'one', gone_at: null });
});
