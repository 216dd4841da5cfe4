import { rotate, syncKeys } from '@keywarden/daemon';
import { lateConnection } from '@keywarden/testkit/daemon/fixture';
import {
  day,
  everyKey,
  fixture,
  liveNames,
  openIncidents,
  pass,
  prepare,
  rotating,
  secretOf,
  states,
  store,
  use,
  useRotateFixture,
} from '@keywarden/testkit/daemon/rotate-fixture';
import { expect, test } from 'vitest';
import { disarmMachine } from '../enforce/high-water-mark.ts';

useRotateFixture();

test('T1: an old key is retired only when its successor is used and it has been quiet', async () => {
  const { bot } = await prepare(['bot', 'other']);
  const first = await pass();
  expect(first?.why).toBeNull();
  expect(await states()).toHaveLength(1); // one key goes first in each scope
  await pass();
  expect(await states()).toHaveLength(2);
  const secret = secretOf(bot.id);
  expect(await use(secret)).toBe(200);
  for (let days = 0; days < 6; days += 1) {
    await use(bot.key); // a consumer that has not read the new secret
    await use(secret);
    await pass(day);
  }
  expect(await states()).toContain('bot: overlapping');
  for (let days = 0; days < 8; days += 1) {
    await use(secret);
    await pass(day);
  }
  expect(await states()).toContain('bot: retired');
  expect(await use(bot.key)).toBe(401);
  expect(await use(secret)).toBe(200);
  expect((await everyKey()).length).toBe(4);
  expect(await liveNames()).toContain('other');
  expect(await openIncidents()).toEqual([
    ['rotation_stalled', 'other', 'no use of its successor was observed within 14 days'],
  ]);
});

/** Prepares a rotation that is due to be retired, and retires it through a limiter that gives its permit late, after `meanwhile`. */
async function retireLate(
  policy: object,
  meanwhile: () => Promise<unknown>,
): Promise<{ key: string; permits: number }> {
  const { bot } = await prepare(['bot'], { policy: { ...rotating(), ...policy } });
  await pass();
  const secret = secretOf(bot.id);
  for (let days = 0; days < 6; days += 1) {
    await use(secret);
    await pass(day);
  }
  await use(secret);
  await fixture.controls.advance(2 * day);
  await fixture.reconnect();
  const { late, permits } = lateConnection(fixture, meanwhile);
  await syncKeys(fixture.context, late);
  await rotate(fixture.context, [late]);
  return { key: bot.key, permits: permits() };
}

test('R1, T1: a retirement whose rate limiter permit comes late is judged again before it is sent', async () => {
  const { key, permits } = await retireLate({}, async () => {
    await store.sql`
      with granted as (
        insert into keywarden.exemption (reason, granted_by, granted_at, until) values ('t', 'ada', now(), now() + interval '1 year') returning number)
      insert into keywarden.exemption_key select g.number, k.number from granted g, keywarden.key k where k.name = 'bot'`;
  });
  expect(permits).toBe(1);
  expect(await states()).toEqual(['bot: retiring']);
  expect(await liveNames()).toHaveLength(2);
  // The next passes find that the old key is still there, and wait for the exemption's end.
  await pass();
  await pass();
  expect(await states()).toEqual(['bot: adopted']);
  expect(await use(key)).toBe(200);
});

test('R3: a retirement whose permit comes late is not held by the quota that it uses itself', async () => {
  await retireLate({ quotas: { per_day: 1 } }, () => Promise.resolve());
  expect(await states()).toEqual(['bot: retired']);
});

test('R10: disarm stops a retirement whose permit comes late', async () => {
  const { key, permits } = await retireLate({}, () => Promise.resolve(disarmMachine(fixture.context)));
  expect(permits).toBe(1);
  expect(await states()).toEqual(['bot: retiring']);
  expect(await use(key)).toBe(200);
});

/** Opens the incident of a use in flight in the scope of the keys. */
const openUseInFlight = async () =>
  await store.sql`
    insert into keywarden.incident (kind, key_number, detail, scope)
    select 'used_in_flight', number, '{}', control_plane_number || '/' || scope from keywarden.key where name = 'bot'`;

test('R5: an old key stays if an incident of a use in flight is opened in its scope before its revocation', async () => {
  const { key } = await retireLate({}, openUseInFlight);
  expect(await states()).toEqual(['bot: retiring']);
  expect(await use(key)).toBe(200);
});

test('T1: a retirement that is held for longer than an adoption may take is an incident, and takes place once nothing holds it', async () => {
  await retireLate({}, openUseInFlight);
  for (const seconds of [3700, 3700, 15 * day]) await pass(seconds);
  expect(await states()).toEqual(['bot: stalled']);
  expect(await openIncidents()).toContainEqual([
    'rotation_stalled',
    'bot',
    'an incident of its scope is open; see keywarden incidents',
  ]);
  await store.sql`update keywarden.incident set closed_at = now() where kind = 'used_in_flight'`;
  await pass();
  await pass();
  expect(await states()).toEqual(['bot: retired']);
});
