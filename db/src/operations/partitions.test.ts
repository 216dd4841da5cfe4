import { makeControlPlane, makeProject, makeWireOperation } from '@keywarden/testkit/store/rows';
import { createTestStore, type TestStore } from '@keywarden/testkit/store/test-store';
import { afterAll, beforeAll, expect, inject, test } from 'vitest';
import type { Sql } from '../sql.ts';
import { saveOperationPage } from './pages.ts';
import { makeOperationPartitions, makePartitionsAhead } from './partitions.ts';

let store: TestStore;
let sql: Sql;
let project: string;
beforeAll(async () => {
  store = await createTestStore(inject('postgresUrl'));
  sql = (await store.as('keywarden_daemon')).sql;
  project = await makeProject(sql, await makeControlPlane(sql));
});
afterAll(async () => await store.close());

const months = async () => {
  const rows =
    await sql`select relname from pg_class where relkind = 'r' and relname ~ '^operation(_version)?_\\d' order by 1`;
  return rows.map(({ relname }) => String(relname));
};
const page = (createdAt: string) => ({ project, operations: [makeWireOperation(1, { createdAt })] });

test('a month is not added while a transaction reads operations: a page waits, one call says so, and the months ahead are left to the next pass', async () => {
  await makeOperationPartitions(sql, ['2026-05']);
  const before = await months();
  const reader = store.connect({ max: 1 });
  const { promise: isRead, resolve: end } = Promise.withResolvers<undefined>();
  const { promise: reads, resolve: begun } = Promise.withResolvers<undefined>();
  const reading = reader.begin(async (tx) => {
    await tx`select count(*) from keywarden.operation`;
    begun(undefined);
    await isRead;
  });
  await reads;
  const sessions = [1, 2].map(() => store.connect({ max: 1 }));
  for (const session of sessions)
    await expect(makeOperationPartitions(session, ['2026-06', '2026-07'])).rejects.toThrow(
      'The database cannot add a month of operations (one of 2026-06, 2026-07) while a long transaction uses them',
    );
  await makePartitionsAhead(sql, '2026-06-11T00:00:00Z');
  expect(await months()).toEqual(before);
  // A month that exists needs no lock.
  await makeOperationPartitions(sql, ['2026-05']);
  expect(await saveOperationPage(sql, page('2026-05-02T00:00:00Z'))).toMatchObject({ inserted: 1 });
  const waiting = saveOperationPage(sql, page('2026-04-02T00:00:00Z'));
  await expect(Promise.race([waiting, makeOperationPartitions(sql, ['2026-04'])])).rejects.toThrow(
    'cannot add a month of operations (2026-04)',
  );
  end(undefined);
  await reading;
  await reader.end();
  expect(await waiting).toMatchObject({ inserted: 1 });
  // Both know from their first attempt that there is no such month, and one waits while the other creates it.
  await Promise.all(sessions.map(async (session) => await makeOperationPartitions(session, ['2026-06'])));
  const added = ['2026_04', '2026_05', '2026_06'];
  expect(await months()).toEqual(
    ['operation', 'operation_version'].flatMap((of) => added.map((month) => `${of}_${month}`)),
  );
  await makePartitionsAhead(sql, '2026-06-11T00:00:00Z');
  expect((await months()).filter((name) => name.startsWith('operation_20')).map((name) => name.slice(-7))).toEqual([
    '2025_12',
    '2026_01',
    '2026_02',
    '2026_03',
    '2026_04',
    '2026_05',
    '2026_06',
    '2026_07',
    '2026_08',
  ]);
  for (const session of sessions) await session.end();
});
