import { createTestStore, type TestStore } from '@keywarden/testkit/store/test-store';
import { afterAll, beforeAll, expect, inject, test } from 'vitest';
import { addMark, readMark } from './high-water-mark.ts';
import { assertCurrent, migrateStore } from './migrate.ts';
import { storeRoles } from './sql.ts';

let store: TestStore;
beforeAll(async () => {
  store = await createTestStore(inject('postgresUrl'));
});
afterAll(async () => await store.close());

/** Leaves the sequences as logical replication does. The last mark has a gap before it, as after a crash of the server, which skips up to 32 numbers. */
async function loseSequences(): Promise<void> {
  await store.sql`
    insert into keywarden.high_water_mark (number, mark, made_by) overriding system value
    select max(number) + 32, gen_random_uuid(), 'daemon' from keywarden.high_water_mark`;
  await store.sql`
    select setval(oid, 1, false) from pg_class where relkind = 'S' and relnamespace = 'keywarden'::regnamespace`;
}

test('R10: while sequences are behind, a new row can get a number that counts as an earlier one', async () => {
  const first = await addMark(store.db, 'daemon');
  await loseSequences();
  // Each statement that is refused takes a number, so the second one succeeds.
  await expect(addMark(store.db, 'daemon')).rejects.toMatchObject({ cause: { code: '23505' } });
  const next = await addMark(store.db, 'daemon');
  expect([await readMark(store.db, first), await readMark(store.db, next)]).toEqual(['followed', 'followed']);
});

test('every process refuses a store whose sequences are behind, until migrate has set them', async () => {
  for (const role of storeRoles)
    await expect(store.as(role)).rejects.toThrow(
      /^\d+ sequences of the database are behind the rows, as after logical replication; run keywarden migrate\.$/,
    );
  expect((await migrateStore(store.sql)).sequences).toBeGreaterThan(1);
  expect(await migrateStore(store.sql)).toEqual({ migrations: 0, functions: 0, sequences: 0 });
  await assertCurrent(store.sql);
  expect(await readMark(store.db, await addMark(store.db, 'daemon'))).toBe('newest');
});

test('the sequence of a single row and that of the migrations are found, and none of an empty table', async () => {
  await store.sql`insert into keywarden.pause (paused_by) values ('ada')`;
  const found = async () =>
    (await store.sql`select sequence::text from keywarden.sequences_behind()`).map((row) => String(row.sequence));
  expect(await found()).toEqual([]);
  await loseSequences();
  const behind = ['pause_number', 'migration_id', 'high_water_mark_number'].map((name) => `keywarden.${name}_seq`);
  expect(await found()).toEqual(expect.arrayContaining(behind));
  expect(await found()).not.toContain('keywarden.exemption_number_seq');
});

test('migrate sets the sequences of a store of an earlier version, too, before it adds a row', async () => {
  await loseSequences();
  await store.sql.unsafe('drop function keywarden.sequences_behind');
  await store.sql`delete from keywarden.repeatable where name like '%sequences_behind%'`;
  expect(await migrateStore(store.sql)).toEqual({
    migrations: 0,
    functions: expect.any(Number),
    sequences: expect.any(Number),
  });
  await assertCurrent(store.sql);
});

test('the highest number of each sequence is read from an index: probes and calls that revoke ask for it', async () => {
  const rows = await store.sql`
    select s.relname as name, exists (
      select from pg_index i where i.indrelid = d.refobjid and i.indkey[0] = d.refobjsubid and i.indpred is null) as "isIndexed"
    from pg_class s join pg_depend d on d.objid = s.oid and d.refclassid = 'pg_class'::regclass and d.deptype in ('a', 'i')
    where s.relkind = 'S' and s.relnamespace = 'keywarden'::regnamespace`;
  expect(rows.length).toBeGreaterThan(30);
  expect(rows.filter(({ isIndexed }) => isIndexed !== true)).toEqual([]);
});
