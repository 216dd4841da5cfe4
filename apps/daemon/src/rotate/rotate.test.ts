import {
  day,
  everyKey,
  liveNames,
  openIncidents,
  pass,
  prepare,
  secretOf,
  states,
  use,
  useRotateFixture,
} from '@keywarden/testkit/daemon/rotate-fixture';
import { expect, test } from 'vitest';

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
