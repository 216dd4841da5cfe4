import { until } from '@keywarden/testkit';
import { createTestStore, type TestStore } from '@keywarden/testkit/store/test-store';
import { sql } from 'drizzle-orm';
import { afterAll, beforeAll, expect, inject, test } from 'vitest';
import { readOver } from './reader.ts';

let store: TestStore;
beforeAll(async () => {
  store = await createTestStore(inject('postgresUrl'));
});
afterAll(async () => await store.close());

/** Returns how many statements of the report wait or run in the database for this long. */
const sleeping = async () => {
  const [row] = await store.sql`
    select count(*)::int as n from pg_stat_activity where query like '%pg_sleep(30)%' and state = 'active' and pid <> pg_backend_pid()`;
  return Number(row?.n);
};

test('the query of a client that goes is canceled, and its connection serves the next query', async () => {
  const report = await store.as('keywarden_report');
  const heavy = report.connect({ max: 1 });
  for (let round = 0; round < 5; round += 1) {
    const client = new AbortController();
    const query = readOver(heavy, client.signal).execute(sql`select pg_sleep(30)`);
    await until(async () => (await sleeping()) === 1);
    client.abort();
    await expect(query).rejects.toMatchObject({ code: '57014' });
    expect(await readOver(heavy, new AbortController().signal).execute(sql`select 1 as one`)).toEqual([{ one: 1 }]);
  }
  expect(await sleeping()).toBe(0);
});

test('a query whose client has gone is not sent', async () => {
  const { sql: pool } = await store.as('keywarden_report');
  await expect(readOver(pool, AbortSignal.abort()).execute(sql`select pg_sleep(30)`)).rejects.toMatchObject({
    name: 'AbortError',
  });
  expect(await sleeping()).toBe(0);
});
