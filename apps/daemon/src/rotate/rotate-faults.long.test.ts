import { age, exempt, expectWhole, fault, list, live, revocation } from '@keywarden/testkit/daemon/lineage-fixture';
import {
  day,
  fixture,
  liveNames,
  openIncidents,
  pass,
  prepare,
  secretOf,
  states,
  store,
  use,
  useRotateFixture,
} from '@keywarden/testkit/daemon/rotate-fixture';
import type { Fault } from '@keywarden/testkit/sandbox/controls';
import { expect, test } from 'vitest';

useRotateFixture();

test.each<[string, Fault[]]>([
  ...[400, 401, 403, 404, 409, 423, 429, 500, 503].map((status): [string, Fault[]] => [
    `status ${status} to the mint`,
    [{ ...fault, kind: 'status', status }],
  ]),
  ['a lost response to the mint', [{ ...fault, kind: 'lose_response' }]],
  ['a cut answer to the mint', [{ ...fault, kind: 'truncate' }]],
  ['a mint that is cut before the work', [{ ...fault, kind: 'drop' }]],
  ['two lost responses to mints', [{ ...fault, times: 2, kind: 'lose_response' }]],
  ['the listing before the mint failing', [{ ...list, after: 2, times: 1, kind: 'status', status: 503 }]],
])('T2: %s: the rotation completes, and no key is left over', async (_name, faults) => {
  const { bot } = await prepare(['bot', 'survivor']);
  await exempt('survivor');
  await fixture.controls.setFaults(faults);
  await pass();
  await live(bot);
  await expectWhole(bot);
});

test.each<[string, Fault]>([
  ...[401, 403, 404, 409, 423, 429, 500, 503].map((status): [string, Fault] => [
    `status ${status}`,
    { ...revocation, kind: 'status', status },
  ]),
  ['a lost response', { ...revocation, kind: 'lose_response' }],
  ['a cut answer', { ...revocation, kind: 'truncate' }],
  ['a connection that is cut before the work', { ...revocation, kind: 'drop' }],
])('T1, R4: %s to the retirement: the old key is retired once', async (_name, kind) => {
  const { bot } = await prepare(['bot', 'survivor']);
  await exempt('survivor');
  await pass();
  const secret = secretOf(bot.id);
  for (let days = 0; days < 5; days += 1) {
    await use(secret);
    await pass(day);
  }
  await fixture.controls.setFaults([kind]);
  for (let days = 0; days < 4; days += 1) {
    await use(secret);
    await age();
    await pass(day);
  }
  await live(bot, 4);
  await expectWhole(bot);
});

test('R1, R6: the policy must still request an automatic rotation at its last step', async () => {
  const { bot } = await prepare(['bot', 'survivor']);
  await exempt('survivor');
  await pass();
  const secret = secretOf(bot.id);
  await exempt('bot');
  for (let days = 0; days < 12; days += 1) {
    await use(secret);
    await pass(day);
  }
  const last = await pass();
  expect(last?.moved.map(({ waits }) => waits)).toEqual([expect.stringContaining('it is exempt from old until')]);
  expect(await liveNames()).toContain('bot');
  await store.sql`update keywarden.exemption set ended_at = now()`;
  await use(secret);
  await pass(day);
  expect(await use(bot.key)).toBe(401);
});

test('a busy control plane refuses no retirement: it is tried in each pass', async () => {
  const { bot } = await prepare(['bot', 'survivor']);
  await exempt('survivor');
  await pass();
  const secret = secretOf(bot.id);
  await fixture.controls.setFaults([{ ...revocation, times: 1000, kind: 'status', status: 423 }]);
  for (let days = 0; days < 9; days += 1) {
    await use(secret);
    await pass(day);
  }
  for (let passes = 0; passes < 6; passes += 1) await pass();
  expect(await openIncidents()).toEqual([]);
  const [tries] = await store.sql`select count(*)::int as n from keywarden.revocation_intent`;
  expect(tries?.n).toBeGreaterThan(4);
  await fixture.controls.setFaults([]);
  await pass();
  expect(await liveNames()).not.toContain('bot');
});

test('a control plane that stays busy for days refuses the retirement: that opens an incident, and is tried once a day', async () => {
  const { bot } = await prepare(['bot', 'survivor']);
  await exempt('survivor');
  await pass();
  const secret = secretOf(bot.id);
  await fixture.controls.setFaults([{ ...revocation, times: 1000, kind: 'status', status: 423 }]);
  for (let days = 0; days < 14; days += 1) {
    await use(secret);
    await age();
    await pass(day);
  }
  const count = async () => await store.sql`select count(*)::int as n from keywarden.revocation_intent`;
  const before = await count();
  for (let passes = 0; passes < 3; passes += 1) await pass();
  expect(await count()).toEqual(before);
  expect(await openIncidents()).toEqual([
    ['rotation_stalled', 'bot', 'the control plane refuses to revoke the old key'],
  ]);
  await live(bot, 3);
  await expectWhole(bot);
});

test('a retirement that is refused repeatedly opens an incident, and is tried once a day', async () => {
  const { bot } = await prepare(['bot', 'survivor']);
  await exempt('survivor');
  await pass();
  const secret = secretOf(bot.id);
  await fixture.controls.setFaults([{ ...revocation, times: 100, kind: 'status', status: 403 }]);
  for (let days = 0; days < 9; days += 1) {
    await use(secret);
    await pass(day);
  }
  for (let passes = 0; passes < 6; passes += 1) await pass();
  expect(await openIncidents()).toEqual([
    ['rotation_stalled', 'bot', 'the control plane refuses to revoke the old key'],
  ]);
  const [tries] = await store.sql`select count(*)::int as n from keywarden.revocation_intent`;
  expect(tries?.n).toBe(3);
  await live(bot, 3);
  await expectWhole(bot);
});

test('a retirement whose answer was lost, in an organization that is not listed any more, opens an incident, and settles when it is listed again', async () => {
  const { bot } = await prepare(['bot', 'survivor']);
  await exempt('survivor');
  await pass();
  const secret = secretOf(bot.id);
  await fixture.controls.setFaults([{ ...revocation, kind: 'lose_response' }]);
  while (!(await states()).includes('bot: retiring')) {
    await use(secret);
    await pass(day);
  }
  await fixture.controls.setFaults([{ ...list, times: 1000, kind: 'status', status: 404 }]);
  await pass(13 * day);
  expect(await openIncidents()).toEqual([]);
  await pass(2 * day);
  expect(await openIncidents()).toEqual([
    ['rotation_stalled', 'bot', 'no listing shows whether the old key is revoked'],
  ]);
  await pass(day);
  await live(bot, 4);
  await expectWhole(bot);
});
