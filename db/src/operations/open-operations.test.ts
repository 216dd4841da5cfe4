import { makeControlPlane, makeProject, makeWireOperation } from '@keywarden/testkit/store/rows';
import { createTestStore } from '@keywarden/testkit/store/test-store';
import { expect, inject, test } from 'vitest';
import { saveOperationPage } from './pages.ts';
import { listOpenOperations } from './walks.ts';

test('A4: of more unfinished operations than a pass asks for, the youngest are always asked for, and each other has its turn', async () => {
  const store = await createTestStore(inject('postgresUrl'));
  const project = await makeProject(store.sql, await makeControlPlane(store.sql));
  const operations = Array.from({ length: 20 }, (_, index) => makeWireOperation(index, { status: 'running' }));
  await saveOperationPage(store.sql, { project, operations });
  const youngestFirst = operations.map(({ id }) => id).toReversed();
  const asked = new Set<string>();
  // A pass leaves out each of the 17 others with a chance of 14 in 17: a hundred passes leave out none.
  for (let passes = 0; passes < 100; passes += 1) {
    const open = await listOpenOperations(store.db, {
      project,
      before: '2100-01-01T00:00:00Z',
      stillSince: '2000-01-01T00:00:00Z',
      limit: 6,
      maxDepth: 15,
    });
    const places = open.map(({ id }) => youngestFirst.indexOf(id));
    expect(places.slice(0, 3)).toEqual([0, 1, 2]);
    expect(places).toEqual(places.toSorted((a, b) => a - b));
    expect(open.map(({ depth }) => depth)).toEqual(places.map((place) => Math.min(place + 1, 15)));
    for (const { id } of open) asked.add(id);
  }
  expect(asked.size).toBe(20);
  await store.close();
});
