import { saveEnforcementState } from '@keywarden/db/daemon';
import { readLastListing } from '@keywarden/db/report';
import { type Fixture, listCredentials, makeCredential, makeFixture, plan } from '@keywarden/testkit/report/fixture';
import { unzipSync } from 'fflate';
import { afterEach, beforeEach, expect, inject, test } from 'vitest';

// What a reader from outside found: answers that were right by their own statement, and wrong beside another page or a later day.

let fixture: Fixture;
beforeEach(async () => {
  fixture = await makeFixture(inject('postgresUrl'));
});
afterEach(async () => await fixture.close());

const page = async (path: string, as = 'operator') =>
  (await fixture.ask(path, { as, headers: { accept: 'text/html' } })).text;
const report = { rules: [{ name: 'never-used', never_used_for: '30d', action: 'report' as const }] };

async function evidenceOf(control: string, from: string, to: string): Promise<Record<string, string>> {
  const answer = await fixture.app.request(`/v1/evidence?control=${control}&from=${from}&to=${to}`, {
    headers: { authorization: `Bearer ${fixture.tokens.auditor}` },
  });
  const files = unzipSync(new Uint8Array(await answer.arrayBuffer()));
  return Object.fromEntries(Object.entries(files).map(([name, bytes]) => [name, Buffer.from(bytes).toString()]));
}

test('a plan that is made again is the newest one, on every page', async () => {
  const { sql } = fixture.store;
  const key = fixture.keys['9007199254740993'] ?? '';
  // Two keys that nothing holds.
  await sql`update keywarden.rotation set ended_at = now()`;
  await sql`update keywarden.connection set own_key_id = '13'`;
  const first = await plan(fixture.daemon);
  await sql`update keywarden.credential set missing_since = now() where number = ${key}`;
  const second = await plan(fixture.daemon);
  await sql`update keywarden.credential set missing_since = null where number = ${key}`;
  expect(await plan(fixture.daemon)).toBe(first);
  expect(second).not.toBe(first);
  expect(await page('/')).toContain(`plan ${first}`);
  expect(await page('/')).not.toContain(`plan ${second}`);
});

test('P2: a walk over findings never goes on in another plan, which would lose findings or show them twice', async () => {
  const first = await plan(fixture.daemon, report);
  const next = async () => {
    const { body } = await fixture.ask('/v1/findings?limit=1');
    const cursor = String(body.next_cursor);
    return { plan: body.items[0]?.plan_id, cursor };
  };
  const statusOf = async (cursor: string) => (await fixture.ask(`/v1/findings?limit=1&cursor=${cursor}`)).status;
  const ofFirst = await next();
  expect([ofFirst.plan, await statusOf(ofFirst.cursor)]).toEqual([first, 200]);
  const second = await plan(fixture.daemon, { rules: [{ ...report.rules[0], name: 'other' }] });
  const ofSecond = await next();
  expect([ofSecond.plan, await statusOf(ofSecond.cursor)]).toEqual([second, 200]);
  expect(await statusOf(ofFirst.cursor)).toBe(400);
  expect(await page(`/findings?cursor=${ofFirst.cursor}`)).toContain('This is its first page.');
  // The findings of a plan that is made again come before the cursor, so that its list would end here.
  expect(await plan(fixture.daemon, report)).toBe(first);
  expect(await statusOf(ofSecond.cursor)).toBe(400);
});

test('a token of one organization reads no reason that was written for several', async () => {
  const keys = [fixture.keys['9007199254740993'], fixture.keys['13']];
  const body = { keys, reason: 'CONFIDENTIAL merger', for: '30d' };
  expect((await fixture.ask('/v1/exemptions', { as: 'operator', method: 'POST', body })).status).toBe(201);
  for (const policy of [undefined, report]) {
    await plan(fixture.daemon, policy);
    expect((await fixture.ask('/v1/findings', { as: 'operator' })).text).toContain('CONFIDENTIAL');
    for (const path of ['/v1/findings', '/v1/exports/findings', '/v1/exemptions'])
      expect((await fixture.ask(path, { as: 'acme' })).text).not.toContain('CONFIDENTIAL');
    for (const path of ['/', '/findings', `/keys/${keys[0]}`])
      expect(await page(path, 'acme')).not.toContain('CONFIDENTIAL');
  }
  // The successor of such a key is exempt too, and is in no exemption.
  await fixture.store.sql`
    update keywarden.finding f set disposition = 'held', hold_kind = 'exempt', why_held = 'exempt by ada: CONFIDENTIAL (exemption 99999999999999999999); by ada: CONFIDENTIAL (exemption ' || (select max(number) from keywarden.exemption) || ')'
    where key_number in (select number from keywarden.credential where id = '12')`;
  expect((await fixture.ask('/v1/findings', { as: 'acme' })).text).not.toContain('CONFIDENTIAL');
});

test('evidence of a past period does not show findings of later: it says that they are not kept', async () => {
  const { sql } = fixture.store;
  const id = await plan(fixture.daemon, report);
  await sql`update keywarden.plan set created_at = '2026-05-10', last_made_at = '2026-05-10', findings_at = '2026-05-10' where id = ${id}`;
  await sql`update keywarden.finding set made_at = '2026-05-10' where plan_id = ${id}`;
  const read = async () => await evidenceOf('nist-800-53:AC-2(3)', '2026-05-01', '2026-05-20');
  const table = 'nist-800-53_AC-2(3)/03-findings.ndjson';
  const before = await read();
  expect(before[table]).not.toBe('');
  await sql`
    insert into keywarden.credential (control_plane_number, scope, id, kind, organization_id, name, creator_id, created_at, first_seen_at, present_since)
    select control_plane_number, scope, '777', kind, organization_id, 'made later', creator_id, '2026-04-25', '2026-05-25', '2026-05-25'
    from keywarden.credential where id = '9007199254740993'`;
  expect(await plan(fixture.daemon, report)).toBe(id);
  const after = await read();
  expect(after[table]).toBe('');
  expect(after['summary.md']).toContain(`Plan ${id} was made again after the period, with other findings.`);
});

test('evidence of a past period keeps its newest plan when an older one is made again later', async () => {
  const { sql } = fixture.store;
  const named = (name: string) => ({ rules: [{ ...report.rules[0], name }] });
  const made = async (name: string, day: string) => {
    const id = await plan(fixture.daemon, named(name));
    await sql`update keywarden.plan set created_at = ${day}::date, last_made_at = ${day}::date, findings_at = ${day}::date where id = ${id}`;
    await sql`update keywarden.finding set made_at = ${day}::date where plan_id = ${id}`;
  };
  await made('old-rule', '2026-05-02');
  await made('new-rule', '2026-05-08');
  const read = async () =>
    (await evidenceOf('nist-800-53:AC-2(3)', '2026-05-01', '2026-05-20'))['nist-800-53_AC-2(3)/03-findings.ndjson'];
  const before = await read();
  expect(before).toContain('new-rule');
  await plan(fixture.daemon, named('old-rule'));
  expect(await read()).toBe(before);
});

test('a sign-in leads to a page of this site only', async () => {
  for (const next of ['/.//evil.example/x', '//here//evil.example', '/..//evil.example']) {
    const answer = await fixture.app.request('http://localhost/sign-in', {
      method: 'POST',
      headers: { origin: 'http://localhost', host: 'localhost', 'content-type': 'application/x-www-form-urlencoded' },
      body: new URLSearchParams({ token: fixture.tokens.viewer ?? '', next }).toString(),
    });
    expect([answer.status, answer.headers.get('location')]).toEqual([303, '/']);
  }
});

test('an export of all reviews has the gaps of each', async () => {
  const asked = { title: 'old', keys: { as_of: '2026-05-01T00:00:00Z' } };
  const { id } = (await fixture.ask('/v1/reviews', { as: 'auditor', method: 'POST', body: asked })).body;
  const trailerOf = (text: string) =>
    (JSON.parse(text.trim().split('\n').at(-1) ?? '') as { trailer: { holes: object[] } }).trailer;
  const one = trailerOf(
    (await fixture.ask(`/v1/exports/reviews?review=${String(id)}&format=ndjson`, { as: 'auditor' })).text,
  );
  const all = trailerOf((await fixture.ask('/v1/exports/reviews?format=ndjson', { as: 'auditor' })).text);
  expect(one.holes).not.toEqual([]);
  expect(all.holes).toEqual(one.holes.map((hole) => ({ review_id: id, ...hole })));
});

test('P3: an export of a project or plan that does not exist is no complete file', async () => {
  for (const path of ['operations?project_id=quiet-rivr', 'findings?plan_id=p-000000000000'])
    expect((await fixture.ask(`/v1/exports/${path}`, { as: 'operator' })).status).toBe(404);
  // To this token, a project of another organization does not exist.
  expect((await fixture.ask('/v1/exports/operations?project_id=bold-moon', { as: 'acme' })).status).toBe(404);
  expect((await fixture.ask('/v1/exports/operations?project_id=quiet-river', { as: 'acme' })).status).toBe(200);
});

test('P3: a time range whose end is before its beginning gives no empty list or file that looks complete', async () => {
  const swapped = 'from=2026-05-02T00:00:00%2B00:00&to=2026-05-01T00:00:00Z';
  for (const path of [
    `/v1/operations?${swapped}`,
    `/v1/exports/operations?${swapped}`,
    `/v1/evidence?${swapped}`,
    '/v1/exports/sealed-operations?from=2026-05-02&to=2026-05-01',
    '/operations?from=2026-05-02&to=2026-05-01',
  ]) {
    const answer = await fixture.ask(path, { as: 'operator' });
    expect([path, answer.status, answer.text]).toEqual([
      path,
      400,
      expect.stringContaining('from, to: the end is before the beginning.'),
    ]);
  }
});

test('P2: keys with names of any length are paged by name', async () => {
  await fixture.store.sql`update keywarden.credential set name = repeat('😀', 3000) || id`;
  const ids: string[] = [];
  for (let cursor = ''; ; ) {
    const { status, body } = await fixture.ask(`/v1/keys?sort=name&limit=1${cursor}`);
    expect(status).toBe(200);
    ids.push(...(body.items as unknown as { id: string }[]).map(({ id }) => id));
    if (body.next_cursor === null) break;
    cursor = `&cursor=${body.next_cursor}`;
  }
  expect(new Set(ids).size).toBe(ids.length);
  expect(ids.length).toBeGreaterThan(2);
});

test('P2: uses from addresses of any length are paged: a client can send a header of any length and characters', async () => {
  const key = fixture.keys['12'] ?? '';
  await fixture.store.sql`
    insert into keywarden.key_use (key_number, hour, address, first_used_at, last_used_at)
    select ${key}::bigint, date_trunc('hour', at), repeat(chr(1), 499) || n, at, at
    from generate_series(1, 3) n, (select '2026-05-01T00:00:00Z'::timestamptz as at) t`;
  const first = await fixture.ask(`/v1/keys/${key}/uses?limit=1`);
  const second = await fixture.ask(`/v1/keys/${key}/uses?limit=1&cursor=${first.body.next_cursor}`);
  expect([second.status, second.body.items.length]).toEqual([200, 1]);
  expect(second.body.items).not.toEqual(first.body.items);
});

test('P1: JSON is read under every form of its content type; another type is refused with a sentence', async () => {
  const send = async (type: string) => {
    const answer = await fixture.app.request('/v1/exemptions', {
      method: 'POST',
      headers: { authorization: `Bearer ${fixture.tokens.operator}`, 'content-type': type },
      body: JSON.stringify({ keys: [fixture.keys['12']], reason: 'r', for: '1d' }),
    });
    return answer.status;
  };
  for (const type of ['application/json ; charset=utf-8', 'application/json;', 'Application/JSON; charset="utf-8"'])
    expect(await send(type)).toBe(201);
  for (const type of ['application/json-seq', 'application/json-patch+json', 'text/plain'])
    expect(await send(type)).toBe(415);
});

test('a method that an address does not take is answered with those that it takes; a client that refuses gzip gets none', async () => {
  const authorization = `Bearer ${fixture.tokens.operator}`;
  for (const [method, path] of [
    ['PUT', '/v1/keys'],
    ['DELETE', `/v1/keys/${fixture.keys['12']}`],
  ] as const) {
    const answer = await fixture.app.request(path, { method, headers: { authorization } });
    expect([answer.status, answer.headers.get('allow')]).toEqual([405, 'GET, HEAD']);
  }
  expect((await fixture.app.request('/nowhere', { method: 'PUT', headers: { authorization } })).status).toBe(404);
  const encodingFor = async (accepted: string) => {
    const headers = { authorization, 'accept-encoding': accepted };
    const answer = await fixture.app.request('/v1/exports/keys', { headers });
    await answer.arrayBuffer();
    return answer.headers.get('content-encoding');
  };
  expect(await encodingFor('br, gzip;q=0')).toBeNull();
  expect(await encodingFor('br, gzip;q=0.5')).toBe('gzip');
});

test('a plan that is superseded after its approval is still to be seen, and can be rejected', async () => {
  const { sql } = fixture.store;
  await sql`update keywarden.rotation set ended_at = now()`;
  await sql`update keywarden.connection set own_key_id = '13'`;
  const first = await plan(fixture.daemon);
  expect((await fixture.ask(`/v1/plans/${first}/approvals`, { as: 'operator', method: 'POST' })).status).toBe(201);
  await sql`update keywarden.credential set missing_since = now() where number = ${fixture.keys['9007199254740993'] ?? ''}`;
  expect(await plan(fixture.daemon)).not.toBe(first);
  expect(await page('/')).toMatch(new RegExp(`Plan ${first} is approved and (waits|blocked)`));
  const shown = await page(`/plans/${first}`);
  expect(shown).toContain('Its approval still stands');
  expect(shown).toContain(`Reject plan ${first}`);
  expect(shown).not.toContain(`Approve plan ${first}`);
});

test('the numbers of the overview are those of the lists behind them', async () => {
  await fixture.store.sql`update keywarden.credential set missing_since = now() where id = '12'`;
  const overview = await page('/', 'viewer');
  const tiles = [...overview.matchAll(/<a href="(\/keys\?[^"]*)"><strong>(\d+)<\/strong>/g)];
  expect(tiles.length).toBeGreaterThan(2);
  for (const [, href = '', count] of tiles) {
    const { items } = (await fixture.ask(`/v1${href.replaceAll('&amp;', '&')}&limit=100`, { as: 'viewer' })).body as {
      items: unknown[];
    };
    expect([href, items.length]).toEqual([href, Number(count)]);
  }
  expect(overview).toContain('Keys were last listed');
});

test('a store in which nothing was ever listed proves no inventory', async () => {
  const empty = await makeFixture(inject('postgresUrl'), { isEmpty: true });
  try {
    const headers = { authorization: `Bearer ${empty.tokens.auditor}`, accept: 'text/html' };
    const text = async (path: string) => await (await empty.app.request(path, { headers })).text();
    expect(await text('/')).toContain('No keys have been listed yet');
    for (const page of ['keys', 'credentials', 'operations', 'projects', 'runs'])
      expect(await text(`/${page}`)).toMatch(/class="empty">There is no .*(daemon|keywarden sync)/);
    expect(await text('/keys?state=active')).toContain('Nothing matches the filter.');
    expect(await text('/keys?creator_id=x')).toContain('Nothing matches the filter.');
    expect(await text('/operations?action=x')).toContain('See Coverage for the times');
    const last = (await text('/v1/exports/keys')).trim().split('\n').at(-1) ?? '';
    expect(JSON.parse(last)).toMatchObject({ trailer: { holes: [{ scope: 'every scope', from: null, to: null }] } });
  } finally {
    await empty.close();
  }
});

test('evidence for no control is refused, and is not that for all', async () => {
  const answer = await fixture.ask('/v1/evidence?control=', { as: 'auditor' });
  expect(answer.status).toBe(400);
  expect(answer.text).toContain('choose at least one control');
});

test('a rotation without a sink can be requested only for the key of a connection, whose file is its sink', async () => {
  const state = { whyNotApproved: null, whyNotAutomatic: null, approvalsSince: null, nextAt: null, sinks: 0 };
  await saveEnforcementState(fixture.daemon.db, 'machine', state);
  const ask = async (id: string) => {
    const body = { key: fixture.keys[id], reason: 'yearly' };
    return (await fixture.ask('/v1/rotation-requests', { as: 'operator', method: 'POST', body })).status;
  };
  expect([await ask('12'), await ask('13')]).toEqual([202, 422]);
});

test('a later listing of other credentials is no listing of keys', async () => {
  const { db } = fixture.daemon;
  const before = await readLastListing(db);
  const keys = [makeCredential({ kind: 'role', id: 'br-main/app', name: 'app' })];
  await listCredentials(fixture, { organizationId: 'acme', listedAt: '2099-01-01T00:00:00Z', keys });
  expect(before).not.toBeNull();
  expect(await readLastListing(db)).toBe(before);
});
