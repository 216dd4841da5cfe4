import { connectionOf, makeFixture } from '@keywarden/testkit/daemon/fixture';
import { createTestStore } from '@keywarden/testkit/store/test-store';
import { expect, inject, test } from 'vitest';
import { datedAt } from './control-plane-clock.ts';

test('R1: a response whose Date is over five minutes from the control plane’s clock is refused, ahead of it and behind it', async () => {
  const store = await createTestStore(inject('postgresUrl'));
  const fixture = await makeFixture(store);
  const nowMs = Date.UTC(2026, 5, 1);
  // The control plane's clock is a minute ahead of the local one.
  const clock = { skewMs: 60_000, isSandbox: false, time: { ...connectionOf(fixture).time, now: () => nowMs } };
  const connection = { ...connectionOf(fixture), ...clock };
  const dated = (seconds: number | null) =>
    datedAt(connection, seconds === null ? null : nowMs + clock.skewMs + seconds * 1000);
  for (const seconds of [-300, 0, 300])
    expect(dated(seconds)).toBe(new Date(nowMs + 60_000 + seconds * 1000).toISOString());
  for (const seconds of [-301, 301, null]) expect(() => dated(seconds)).toThrow(/Nothing of it is stored/);
  await fixture.close();
  await store.close();
});
