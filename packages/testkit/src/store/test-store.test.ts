import { expect, inject, test } from 'vitest';
import { createTestStore } from './test-store.ts';

test('the events of a new store are as old as the store, and not as the run: after an hour they would stop automatic enforcement', async () => {
  const before = Date.now();
  const store = await createTestStore(inject('postgresUrl'));
  const [row] = await store.sql`
    select count(*)::int as events, min(extract(epoch from recorded_at)::float8 * 1000) as first from keywarden.ledger_event`;
  await store.close();
  expect(row?.events).toBeGreaterThan(0);
  expect(row?.first).toBeGreaterThanOrEqual(before);
});
