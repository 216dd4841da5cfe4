import { createTestStore } from '@keywarden/testkit/store/test-store';
import { expect, inject, test } from 'vitest';
import { finishRun, hasFinishedRun, startRun } from './runs.ts';

test('a run that finished in the last hours counts, unless a clock that was ahead dated it in the future', async () => {
  const store = await createTestStore(inject('postgresUrl'));
  const daemon = await store.as('keywarden_daemon');
  const isRecent = async () => await hasFinishedRun(daemon.db, { kind: 'operations', connection: 'main', hours: 20 });
  const moveEnds = async (by: string) =>
    await store.sql`update keywarden.sync_run set finished_at = finished_at + ${by}::interval`;
  const run = await startRun(daemon.sql, { kind: 'operations', connection: 'main' });
  expect(await isRecent()).toBe(false);
  await finishRun(daemon.db, run, { status: 'finished', counts: {} });
  expect(await isRecent()).toBe(true);
  await moveEnds('-21 hours');
  expect(await isRecent()).toBe(false);
  await moveEnds('1 year');
  expect(await isRecent()).toBe(false);
  await store.close();
});
