import { makeControlPlane, makeProject, makeWireOperation } from '@keywarden/testkit/store/rows';
import { createTestStore, type TestStore } from '@keywarden/testkit/store/test-store';
import { afterAll, beforeAll, expect, inject, test } from 'vitest';
import type { Sql } from '../sql.ts';
import { saveOperationPage } from './pages.ts';
import { makeOperationPartitions } from './partitions.ts';

let store: TestStore;
let sql: Sql;
let project: string;
beforeAll(async () => {
  store = await createTestStore(inject('postgresUrl'));
  sql = (await store.as('keywarden_daemon')).sql;
  project = await makeProject(sql, await makeControlPlane(sql));
});
afterAll(async () => await store.close());

/** Returns each month of some years, as YYYY-MM. */
const monthsOfYears = (from: number, to: number) =>
  Array.from({ length: 12 * (to - from) }, (_, at) => new Date(Date.UTC(from, at)).toISOString().slice(0, 7));

test('a session that reads operations while a month is added sees its rows afterwards', async () => {
  await makeOperationPartitions(sql, monthsOfYears(2010, 2018));
  const blind: string[] = [];
  for (const month of monthsOfYears(2018, 2026)) {
    // A new session reads which partitions there are, one after the other. Meanwhile another is added.
    const readers = Array.from({ length: 6 }, () => store.connect({ max: 1 }));
    await Promise.all(readers.map(async (reader) => await reader`select`));
    const reads = readers.map(async (reader) => await reader`select count(*) from keywarden.operation`);
    await Promise.all([makeOperationPartitions(sql, [month], 100), ...reads]);
    await saveOperationPage(sql, {
      project,
      operations: [makeWireOperation(1, { createdAt: `${month}-15T00:00:00Z` })],
    });
    const seen = await Promise.all(
      readers.map(async (reader) => {
        const [row] =
          await reader`select count(*)::int as n from keywarden.operation where created_at = ${`${month}-15T00:00:00Z`}`;
        await reader.end();
        return row?.n;
      }),
    );
    if (seen.some((n) => n !== 1)) blind.push(month);
  }
  expect(blind).toEqual([]);
});
