import { advanceRotation, listOpenRotations } from '@keywarden/db/daemon';
import {
  day,
  fixture,
  organization,
  pass,
  prepare,
  rotating,
  states,
  store,
  useRotateFixture,
} from '@keywarden/testkit/daemon/rotate-fixture';
import { expect, test } from 'vitest';

useRotateFixture();

test('a rule with its own schedule begins rotations at its times, each once, and catches up missed ones', async () => {
  await prepare(['bot', 'other'], { policy: rotating({ schedule: '0 9 1 * *' }) });
  await pass();
  expect(await states()).toEqual([]); // a time before the rule existed does not count
  await pass(3 * 31 * day);
  expect(await states()).toHaveLength(1); // one key goes first, and the time is not over
  await pass();
  expect(await states()).toHaveLength(2);
  const slots = await store.sql`select slot from keywarden.rotation_slot`;
  expect(slots).toHaveLength(2);
  await fixture.ask('POST', `/organizations/${organization}/api_keys`, { key_name: 'late' });
  await pass();
  expect((await states()).toSorted()).toEqual(['bot: overlapping', 'other: overlapping']);
});

test('a rule whose schedule has no time before now begins at its first one', async () => {
  await prepare(['bot']);
  const startMs = Date.UTC(new Date(Date.now() + 100 * day * 1000).getUTCFullYear() + 1, 0, 1, 9);
  const schedule = `0 0 9 1 1 * ${new Date(startMs).getUTCFullYear()}`;
  fixture.context.config.policy = rotating({ schedule });
  await pass();
  expect(await states()).toEqual([]);
  await pass(Math.round((startMs - Date.now()) / 1000) - 100 * day + 3700);
  expect(await states()).toEqual(['bot: delivered']);
});

test('a stalled rotation is none of the open ones that the policy allows at once', async () => {
  await prepare(['bot', 'other'], { policy: { ...rotating(), quotas: { open_rotations: 1 } } });
  await pass();
  expect((await pass())?.opened.map(({ whyNot }) => whyNot)).toContain('the policy allows 1 open rotation at once');
  expect(await states()).toHaveLength(1);
  const [open] = await listOpenRotations(store.db);
  if (open === undefined) throw new Error('no rotation is open');
  const move = { to: 'stalled', why: 'its sink could not be checked', isIncident: true } as const;
  await advanceRotation(store.sql, open, { event: 'decided', move, at: open.since });
  await pass();
  const found = (await states()).map((each) => each.split(': ')[1]);
  expect(new Set(found)).toEqual(new Set(['delivered', 'stalled']));
});
