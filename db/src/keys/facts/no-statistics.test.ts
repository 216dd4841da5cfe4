import { readFactsAt } from '@keywarden/testkit/store/facts';
import { makeControlPlane, makeWireKey } from '@keywarden/testkit/store/rows';
import { openWithoutStatistics } from '@keywarden/testkit/store/rows-read';
import { createTestStore } from '@keywarden/testkit/store/test-store';
import { expect, inject, test } from 'vitest';
import { saveKeyListing } from '../listings/save.ts';

const keysOfScope = 1000;

test('the facts of keys without statistics in Postgres are read without comparing all keys with all others', async () => {
  const store = await createTestStore(inject('postgresUrl'));
  const single = await openWithoutStatistics(store.url, 'credential');
  const controlPlane = await makeControlPlane(store.sql);
  const at = '2026-06-01T00:00:00Z';
  const scopes = ['one', 'other'];
  for (const organizationId of scopes)
    await saveKeyListing(single.sql, {
      controlPlane,
      scope: `organization:${organizationId}`,
      organizationId,
      connection: 'main',
      run: null,
      listedAt: at,
      begunAt: at,
      keys: Array.from({ length: keysOfScope }, (_, index) => makeWireKey(`${organizationId}-${index}`)),
    });
  const read = await single.countRead(async () =>
    expect((await readFactsAt(single, at)).keys).toHaveLength(scopes.length * keysOfScope),
  );
  expect(read).toBeGreaterThan(scopes.length * keysOfScope);
  expect(read).toBeLessThan(30 * scopes.length * keysOfScope);
  await single.close();
  await store.close();
});
