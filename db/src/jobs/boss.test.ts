import { readFileSync } from 'node:fs';
import { until } from '@keywarden/testkit';
import { createTestStore, type TestStore } from '@keywarden/testkit/store/test-store';
import { afterAll, beforeAll, expect, inject, test, vi } from 'vitest';
import { createBoss, overPostgres } from './boss.ts';
import { installedQueues } from './install.ts';

let store: TestStore;
beforeAll(async () => {
  store = await createTestStore(inject('postgresUrl'));
});
afterAll(async () => await store.close());

test('the schema comment names the version of the library that created the queues', () => {
  const { dependencies } = JSON.parse(readFileSync(new URL('../../package.json', import.meta.url), 'utf8'));
  expect(installedQueues).toMatch(new RegExp(`^pg-boss ${dependencies['pg-boss']}, `));
});

test('at most one job of a kind waits or runs for an account, under the daemon’s role', async () => {
  const { connect } = await store.as('keywarden_daemon');
  const sql = connect({ max: 1, parsesJson: true });
  const boss = createBoss(overPostgres(sql, { listens: true }), { superviseSeconds: 60, listens: true });
  const errors: unknown[] = [];
  boss.on('error', (error) => errors.push(error));
  boss.on('warning', (warning) => errors.push(warning));
  await boss.start();
  const send = (account: string) => boss.send('keys', { account }, { singletonKey: account });
  expect(await send('a')).not.toBeNull();
  expect(await send('a')).toBeNull();
  expect(await send('b')).not.toBeNull();
  const [first] = await boss.fetch('keys');
  expect(first?.data).toEqual({ account: 'a' });
  expect(await send('a')).toBeNull();
  await boss.complete('keys', first?.id ?? '');
  expect(await send('a')).not.toBeNull();
  await boss.stop({ graceful: false, close: false });
  expect(errors).toEqual([]);
});

test('the queues are supervised after the machine’s clock was set back', async () => {
  const { connect } = await store.as('keywarden_daemon');
  const boss = createBoss(overPostgres(connect({ max: 1, parsesJson: true })), { superviseSeconds: 1, listens: false });
  const errors: unknown[] = [];
  boss.on('error', (error) => errors.push(error));
  await boss.start();
  const supervisedAt = async () => {
    const [row] = await store.sql`select max(monitor_claim_on)::text as at from keywarden_jobs.queue`;
    return row?.at as string | null;
  };
  const begun = await supervisedAt();
  await until(async () => (await supervisedAt()) !== begun);
  vi.useFakeTimers({ toFake: ['Date'], now: Date.now() - 3_600_000 });
  try {
    // Twice, because one pass may already have begun.
    for (const seen = new Set([await supervisedAt()]); seen.size < 3; )
      await until(async () => seen.size < seen.add(await supervisedAt()).size);
  } finally {
    vi.useRealTimers();
    await boss.stop({ graceful: false, close: false });
  }
  expect(errors).toEqual([]);
});
