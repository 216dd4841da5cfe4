import { createTestStore } from '@keywarden/testkit/store/test-store';
import { expect, inject, test } from 'vitest';
import { listBlockers } from './silence.ts';

test('a session that a person left in a transaction is named while statements wait for its locks, and no session that waits itself', async () => {
  const store = await createTestStore(inject('postgresUrl'));
  const daemon = await store.as('keywarden_daemon');
  await store.sql`insert into keywarden.work_fence (name, fence) values ('a', 1)`;
  const person = await store.sql.reserve();
  await person`begin`;
  const [{ pid, name } = {}] = await person`
    update keywarden.work_fence set fence = 2 returning pg_backend_pid() as pid, session_user as name`;
  const waiting = [2, 3].map(async (fence) => await daemon.sql`update keywarden.work_fence set fence = ${fence}`);
  await store.untilBlocked(...waiting);
  expect(await listBlockers(daemon.sql)).toEqual([]);
  expect(await listBlockers(daemon.sql, { waitedMs: 0 })).toEqual([
    expect.stringMatching(
      `^a statement has waited \\d+ seconds? for a lock of session ${String(pid)} of the user ${String(name)}: end its transaction, or run SELECT pg_terminate_backend\\(${String(pid)}\\) as a superuser$`,
    ),
  ]);
  await person`commit`;
  person.release();
  await Promise.all(waiting);
  expect(await listBlockers(daemon.sql, { waitedMs: 0 })).toEqual([]);
  await store.close();
});
