import { createTestStore } from '@keywarden/testkit/store/test-store';
import { expect, inject, test } from 'vitest';
import { live } from './live.ts';

test('T1 to T4: with late, partial and no adoption, leavers and faults, no consumer holds only dead keys', async () => {
  const store = await createTestStore(inject('postgresUrl'));
  const end = await live(store, { keys: 12, days: 125, seed: 2 });
  await store.close();
  expect(end).toMatchObject({ outages: [], unexplained: [], unknown: [] });
  expect(end.retired).toBeGreaterThan(6);
});
