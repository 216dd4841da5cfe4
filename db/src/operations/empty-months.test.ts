import { makeControlPlane, makeProject, makeWireOperation } from '@keywarden/testkit/store/rows';
import { openWithoutStatistics } from '@keywarden/testkit/store/rows-read';
import { createTestStore } from '@keywarden/testkit/store/test-store';
import { expect, inject, test } from 'vitest';
import { saveOperationPage } from './pages.ts';
import { makeOperationPartitions } from './partitions.ts';

const rowsOfPage = 600;

const pageOf = (rows: number, createdAt?: string) =>
  Array.from({ length: rows }, (_, index) =>
    makeWireOperation(rows - index, createdAt === undefined ? {} : { createdAt }),
  );

test('a session that began in empty months reads few rows for each row of a page, once they are full', async () => {
  const store = await createTestStore(inject('postgresUrl'));
  await makeOperationPartitions(store.sql, ['2026-05', '2026-06']);
  const single = await openWithoutStatistics(store.url, 'operation');
  const controlPlane = await makeControlPlane(store.sql);
  const first = await makeProject(store.sql, controlPlane);
  const save = async (project: string, createdAt?: string, rows = rowsOfPage) =>
    await saveOperationPage(single.sql, { project, operations: pageOf(rows, createdAt) });
  // Postgres keeps a plan from the sixth time on.
  for (let count = 0; count < 10; count += 1) await save(first, undefined, 2);
  const projects = Array.from({ length: 3 }, async () => await makeProject(store.sql, controlPlane));
  for (const project of await Promise.all(projects)) await save(project);
  const again = async () => expect(await save(first)).toEqual({ inserted: 0, changed: 0 });
  await save(first);
  expect(await single.countRead(again)).toBeLessThan(10 * rowsOfPage);
  // Rows of one instant have places, too.
  const at = '2026-06-01T00:00:00Z';
  await save(first, at);
  const more = async () => expect(await save(first, at, rowsOfPage + 1)).toEqual({ inserted: 1, changed: 0 });
  expect(await single.countRead(more)).toBeLessThan(10 * rowsOfPage);
  await single.close();
  await store.close();
});
