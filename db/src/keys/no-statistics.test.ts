import { readFactsAt } from '@keywarden/testkit/store/facts';
import { makeControlPlane, makeWireKey } from '@keywarden/testkit/store/rows';
import { createTestStore } from '@keywarden/testkit/store/test-store';
import { expect, inject, test } from 'vitest';
import { openStore } from '../store.ts';
import { saveKeyListing } from './listing.ts';

const keysOfScope = 1000;

test('the facts of keys without statistics in Postgres are read without comparing all keys with all others', async () => {
  const store = await createTestStore(inject('postgresUrl'));
  await store.sql`alter table keywarden.credential set (autovacuum_enabled = false)`;
  const controlPlane = await makeControlPlane(store.sql);
  const at = '2026-06-01T00:00:00Z';
  const scopes = ['one', 'other'];
  for (const organizationId of scopes)
    await saveKeyListing(store.sql, {
      controlPlane,
      scope: `organization:${organizationId}`,
      organizationId,
      connection: 'main',
      run: null,
      listedAt: at,
      begunAt: at,
      keys: Array.from({ length: keysOfScope }, (_, index) => makeWireKey(`${organizationId}-${index}`)),
    });
  // One connection, whose counts are complete once it has sent them.
  const single = await openStore({
    databaseUrl: store.url,
    dataFolder: '',
    applicationName: 'tests',
    migrations: 'none',
    maxConnections: 1,
  });
  const countRead = async () => {
    await single.sql`select pg_stat_force_next_flush()`;
    const [row] = await single.sql`
      select t.seq_tup_read + sum(i.idx_tup_read) as n from pg_stat_user_tables t join pg_stat_user_indexes i using (relid)
      where t.relname = 'credential' group by t.seq_tup_read`;
    return Number(row?.n);
  };
  const before = await countRead();
  expect((await readFactsAt(single, at)).keys).toHaveLength(scopes.length * keysOfScope);
  const read = (await countRead()) - before;
  expect(read).toBeGreaterThan(scopes.length * keysOfScope);
  expect(read).toBeLessThan(30 * scopes.length * keysOfScope);
  await single.close();
  await store.close();
});
