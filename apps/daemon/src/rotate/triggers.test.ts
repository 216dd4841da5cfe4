import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { policySchema } from '@keywarden/core/policy';
import { advanceRotation, exemptionList, listOpenRotations, openPause, readItems } from '@keywarden/db/daemon';
import { requestRotation } from '@keywarden/db/report';
import { exempt } from '@keywarden/testkit/daemon/lineage-fixture';
import {
  ask,
  day,
  everyKey,
  fixture,
  folder,
  openIncidents,
  organization,
  pass,
  prepare,
  project,
  secretOf,
  states,
  store,
  use,
  useRotateFixture,
} from '@keywarden/testkit/daemon/rotate-fixture';
import { makePrincipal } from '@keywarden/testkit/store/principal';
import { expect, test } from 'vitest';
import { planKeys } from '../enforce/plan.ts';

useRotateFixture();

const numberOf = async (name: string) => {
  const [row] = await store.sql`select number from keywarden.key where name = ${name}`;
  return String(row?.number);
};

const inModePlan = () =>
  policySchema.parse({
    rules: [{ name: 'old', older_than: '90d', action: 'rotate', rotation: { sink: 'files' } }],
  });

test("R6: a rule in mode: plan rotates nothing automatically; a person's request does", async () => {
  await prepare(['bot', 'other'], { policy: inModePlan() });
  expect((await pass())?.opened).toEqual([]);
  const { document } = await planKeys(fixture.context, fixture.connections);
  expect(document.reported.map(({ key, action }) => `${action} ${key.name}`)).toContain('rotate bot');
  const { opened } = await ask(['bot']);
  expect(opened).toMatchObject([{ key: { name: 'bot' }, whyNot: null }]);
  expect(await states()).toEqual(['bot: delivered']);
});

test("R10: a store that no person has resumed acts on a person's request only", async () => {
  await prepare(['bot']);
  await store.sql`truncate keywarden.high_water_mark`;
  expect((await pass())?.why).toContain('is an older copy');
  expect(await states()).toEqual([]);
  await ask(['bot']);
  expect(await states()).toEqual(['bot: delivered']);
});

test('R7: while Keywarden is paused nothing is minted, even for a person', async () => {
  await prepare(['bot']);
  await openPause(store, { by: 'ada', reason: 'change freeze' }, { signal: fixture.context.signal });
  expect((await pass())?.why).toContain('change freeze');
  expect((await ask(['bot'])).why).toContain('change freeze');
  expect(await states()).toEqual([]);
});

test("an operator's request in the report is answered once, with a rotation or with the reason for none", async () => {
  await prepare(['bot'], { policy: inModePlan() });
  const report = (await store.as('keywarden_report')).sql;
  const principal = await makePrincipal(store, 'grace');
  const request = async (name: string) =>
    await requestRotation(report, { key: await numberOf(name), principal, reason: 'it leaked' });
  await request('bot');
  await request('bot');
  await pass();
  expect(await states()).toEqual(['bot: delivered']);
  const answers =
    await store.sql`select rotation_number is not null as is_begun, why_not from keywarden.rotation_request_answer order by 1`;
  expect(answers.map((row) => [row.is_begun, row.why_not])).toEqual([
    [false, 'another key of its lineage is in rotation'],
    [true, null],
  ]);
  const [rotation] = await store.sql`select via, requested_by from keywarden.rotation`;
  expect(rotation).toMatchObject({ via: 'report', requested_by: expect.stringMatching(/^grace /) });
});

test('the report may request a rotation, and change nothing else about it', async () => {
  await prepare(['bot']);
  const report = (await store.as('keywarden_report')).sql;
  const refused = { code: '42501' };
  for (const statement of [
    'delete from keywarden.rotation_request',
    "update keywarden.rotation_request set reason = 'x'",
    'insert into keywarden.rotation_request_answer (request_number) values (1)',
    "insert into keywarden.rotation_event values (1, 1, 'planned', now())",
    'update keywarden.rotation set ended_at = now()',
    "update keywarden.rotation_mint set key_id = '1'",
  ])
    await expect(report.unsafe(statement)).rejects.toMatchObject(refused);
});

test('T4: a key in rotation is held, and no rule counts it twice; afterwards its lineage keeps its owner and exemptions', async () => {
  const policy = policySchema.parse({
    enforcement: { organizations: { '*': { mode: 'enforce' } } },
    rules: [
      {
        name: 'old',
        older_than: '90d',
        action: 'rotate',
        mode: 'enforce',
        rotation: { sink: 'files' },
        match: { name: 'b*' },
      },
      { name: 'number', more_than: { number: 2, per: 'organization' }, action: 'report' },
      { name: 'gone-quiet', never_used_for: '1d', action: 'revoke' },
    ],
  });
  const { bot } = await prepare(['bot', 'other'], { policy });
  await store.sql`insert into keywarden.key_owner (key_number, owner, source, assigned_by) values (${await numberOf('bot')}, 'team-a', 'assignment', 'ada')`;
  await store.sql`
    with granted as (
      insert into keywarden.exemption (rules, reason, granted_by, granted_at, until)
      values ('{number}', 'test', 'ada', now(), now() + interval '10 years') returning number)
    insert into keywarden.exemption_key select number, ${await numberOf('bot')} from granted`;
  await pass();
  await pass(2 * day);
  const { document, facts } = await planKeys(fixture.context, fixture.connections);
  const held = document.held.filter(({ why }) => why.kind === 'in_rotation').map(({ key }) => key.name);
  expect(held.map((name) => name.replace(/kw-\w+/, 'kw')).toSorted()).toEqual(['bot', 'bot kw-1']);
  expect(document.reported.flatMap(({ findings }) => findings).filter(({ rule }) => rule === 'number')).toEqual([]);
  const successor = facts.keys.find(({ name }) => name.startsWith('bot kw-'));
  expect(successor).toMatchObject({ owner: 'team-a', exemptions: [{ rules: ['number'] }] });
  for (let days = 0; days < 9; days += 1) {
    await use(secretOf(bot.id));
    await pass(day);
  }
  expect(await states()).toEqual(['bot: retired']);
  const after = (await planKeys(fixture.context, fixture.connections)).facts.keys.find(({ name }) =>
    name.startsWith('bot kw-'),
  );
  expect(after).toMatchObject({ owner: 'team-a', exemptions: [{ rules: ['number'] }], lineage: { rotation: null } });
  const shown = async (name: string) =>
    await readItems(fixture.context.store.db, exemptionList({ key: await numberOf(name) }, null), 9);
  expect(await shown(after?.name ?? '')).toMatchObject([{ rules: ['number'], keys: [{ name: 'bot' }] }]);
  expect(await shown('other')).toEqual([]);
});

test('T4: the next rotation continues the lineage: its sink path, its name, its owner', async () => {
  const { bot } = await prepare(['bot']);
  for (let days = 0; days < 130; days += 10) {
    await pass(day);
    await use(secretOf(bot.id));
    await pass(9 * day);
  }
  const lineages = await store.sql`select distinct lineage_number from keywarden.rotation`;
  expect(lineages).toHaveLength(1);
  expect((await states()).length).toBe(2);
  const live = (await everyKey()).filter(({ revoked_at: revoked }) => revoked === null).map(({ name }) => name);
  expect(live.every((name) => /^bot( kw-\w{8}-1)?$/.test(name))).toBe(true);
  expect(await use(secretOf(bot.id))).toBe(200);
});

test('a key that cannot be rotated gets a reason', async () => {
  await prepare(['bot'], { policy: inModePlan() });
  await fixture.ask('POST', `/organizations/${organization}/api_keys`, { key_name: 'scoped', project_id: project });
  await fixture.ask('POST', '/api_keys', { key_name: 'mine' });
  await pass(day, { acts: false });
  const { opened } = await ask(['scoped', 'mine', 'bot']);
  expect(opened.map(({ key, whyNot }) => [key.name, whyNot])).toEqual([
    ['bot', null],
    ['mine', null],
    ['scoped', null],
  ]);
  const [own] = await store.sql`select name from keywarden.key where id = '1'`;
  const { opened: refused } = await ask([String(own?.name)]);
  expect(refused.map(({ whyNot }) => whyNot)).toEqual([
    'connection main itself uses it and does not take it from a file; set api_key_file',
  ]);
  expect((await ask(['scoped'])).moved.map(({ rotation }) => rotation.state)).toEqual(['delivered']); // the same rotation
  await fixture.ask('POST', `/organizations/${organization}/api_keys`, { key_name: 'new' });
  await pass(day, { acts: false });
  const unknown = await ask(['new'], 'nowhere');
  expect(unknown.opened.map(({ whyNot }) => whyNot)).toEqual(['there is no sink nowhere in the configuration']);
});

test("an organization's key mints nothing: only personal ones can", async () => {
  const { bot } = await prepare(['bot', 'other'], { policy: inModePlan() });
  const [connection] = fixture.context.config.connections;
  if (connection !== undefined) Object.assign(connection, { apiKey: bot.key, keyId: String(bot.id) });
  await pass(day, { acts: false });
  const { opened } = await ask(['other']);
  expect(opened.map(({ whyNot }) => whyNot)).toEqual([
    'only a personal key of an administrator of its organization can mint another, and no connection has one',
  ]);
});

test('a rotation that a person gave up is not begun again, and does not delay others', async () => {
  await prepare(['bot', 'other']);
  await pass();
  const [first] = await listOpenRotations(store.db);
  if (first === undefined) throw new Error('no rotation has begun');
  await advanceRotation(store.sql, first, { event: 'given_up', by: 'ada', at: first.since });
  const next = await pass(2 * day);
  expect(next?.opened.map(({ whyNot }) => whyNot)).toContainEqual(
    expect.stringContaining('ada gave up its last rotation'),
  );
  expect((await listOpenRotations(store.db)).map(({ key }) => key.name)).toEqual(
    ['bot', 'other'].filter((name) => name !== first.key.name),
  );
  await ask([first.key.name]);
  expect(await listOpenRotations(store.db)).toHaveLength(2);
});

test('two lineages with one path in a sink: the second is not delivered there', async () => {
  await prepare(['bot', 'other'], { sinks: [{ name: 'files', kind: 'file', path: join(folder, 'one') }] });
  await pass();
  const second = await pass();
  expect(second?.opened.map(({ whyNot }) => whyNot)).toContainEqual(
    expect.stringContaining('another key has been delivered to'),
  );
  expect(await states()).toHaveLength(1);
});

test('not adopted in time: an incident and one notice, and both keys stay; if adopted later, the rotation continues', async () => {
  const received: string[] = [];
  const server = createServer((request, response) => {
    let text = '';
    request.setEncoding('utf8').on('data', (part: string) => (text += part));
    request.on('end', () => {
      received.push(text);
      response.writeHead(204).end();
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/hook`;
  const { bot } = await prepare(['bot'], {
    channels: [{ name: 'chat', format: 'slack', url, secret: null, checkpoints: false }],
  });
  await pass();
  for (let days = 0; days < 20; days += 5) {
    await use(bot.key);
    await pass(5 * day);
  }
  expect(await states()).toEqual(['bot: stalled']);
  expect(await openIncidents()).toEqual([
    ['rotation_stalled', 'bot', 'no use of its successor was observed within 14 days'],
  ]);
  expect(received).toHaveLength(1);
  expect(received[0]).toContain('no use of its successor was observed within 14 days');
  expect(await use(bot.key)).toBe(200);
  const secret = secretOf(bot.id);
  for (let days = 0; days < 30; days += 1) {
    await use(secret);
    await pass(day);
  }
  expect(await states()).toEqual(['bot: retired']);
  expect(await openIncidents()).toEqual([]);
  expect(received).toHaveLength(1);
  server.close();
});

test('R5: an old key that is used while it is retired opens the incident, and nothing else of its scope is retired or opened', async () => {
  const { bot, other } = await prepare(['bot', 'other', 'third']);
  await exempt('third');
  await pass();
  await pass();
  for (let days = 0; days < 6; days += 1) {
    for (const key of [bot, other]) await use(secretOf(key.id));
    await pass(day);
  }
  await fixture.controls.setFaults([
    { method: 'GET', path: '/organizations/{org_id}/api_keys', kind: 'late_last_used', latency_ms: 60_000 },
  ]);
  for (let days = 0; days < 2; days += 1) {
    for (const key of [bot, other]) await use(secretOf(key.id));
    await pass(day, { acts: false });
  }
  await fixture.controls.advance(4000);
  await use(bot.key);
  await use(other.key);
  await store.sql`update keywarden.exemption set ended_at = now()`;
  expect((await pass(1))?.opened).toEqual([]);
  const ends = (await states()).toSorted();
  expect(ends.filter((state) => state.endsWith('retired'))).toHaveLength(1);
  expect((await openIncidents()).map(([kind]) => kind)).toEqual(['used_in_flight']);
});
