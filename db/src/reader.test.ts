import { until } from '@keywarden/testkit';
import { createTestStore, type TestStore } from '@keywarden/testkit/store/test-store';
import { sql } from 'drizzle-orm';
import { afterAll, beforeAll, expect, inject, test } from 'vitest';
import { z } from 'zod';
import { listOf, pageSizes, readPage, readPageText } from './list.ts';
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

test.each([
  ['the dashboard', readPage, pageSizes.dashboard, [sql`n.number > ${0}`]],
  ['the API', readPageText, pageSizes.usual, [sql`n.number > ${0}`]],
  ['a script', readPageText, pageSizes.most, [sql`n.number > ${0}`]],
  ['a list without a filter', readPage, pageSizes.usual, []],
])('Postgres plans a page of the usual size of %s once, also in a large store', async (_of, read, limit, where) => {
  const pool = (await store.as('keywarden_report')).connect({ max: 1 });
  const list = listOf(z.strictObject({ number: z.string(), others: z.string() }), 'n', {
    from: sql`(select g as number from generate_series(1, 30000) g) n`,
    item: { others: sql`(select count(*)::text from generate_series(1, 1000) o where o < n.number)` },
    where,
    order: { 'n.number': 'bigint' },
  });
  const reader = readOver(pool);
  for (let page = 0; page < 30; page += 1) await read(reader, list, { limit, after: null });
  const [plans] = await pool`
    select custom_plans::int as each_time, generic_plans::int as once from pg_prepared_statements
    where statement like '%generate_series(1, 30000)%' and statement not like '%pg_prepared_statements%'`;
  // The first two are not prepared. Then, if there are values, five are planned with them, to compare.
  const compared = where.length * 5;
  expect(plans).toEqual({ each_time: compared, once: 28 - compared });
});
