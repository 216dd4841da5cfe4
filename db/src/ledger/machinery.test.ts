import { fileURLToPath } from 'node:url';
import { createTestStore, type TestStore } from '@keywarden/testkit/store/test-store';
import { afterAll, beforeAll, expect, inject, test } from 'vitest';
import { listChangedMachinery, machineryFile, readMachinery } from './machinery.ts';

let store: TestStore;
beforeAll(async () => {
  store = await createTestStore(inject('postgresUrl'));
});
afterAll(async () => await store.close());

test('machinery.json is what a new store has; vitest -u writes it after a change of db/functions', async () => {
  const found = await readMachinery(store.sql);
  expect(Object.keys(found).length).toBeGreaterThan(80);
  await expect(`${JSON.stringify(found, null, 2)}\n`).toMatchFileSnapshot(fileURLToPath(machineryFile));
});

test.each([
  [
    'a comparison that finds nothing',
    'ledger_row_faults()',
    `create or replace function keywarden.ledger_row_faults() returns table (type text, subject text, fault text) language sql as $$ select '', '', '' where false $$`,
  ],
  [
    'a description without a column',
    'describe_pause_begun(r pause, salt text)',
    `create or replace function keywarden.describe_pause_begun(r keywarden.pause, salt text) returns text[] language sql stable as $$ select array['pause/1', '', '', '{}'] $$`,
  ],
  [
    'a trigger that is switched off',
    'ledger_pause_begun on pause',
    'alter table keywarden.pause disable trigger ledger_pause_begun',
  ],
  ['a trigger that is gone', 'ledger_pause_begun on pause', 'drop trigger ledger_pause_begun on keywarden.pause'],
  [
    'a function more',
    'ledger_time(at date)',
    `create function keywarden.ledger_time(at date) returns text language sql as $$ select '' $$`,
  ],
  [
    'a trigger more',
    'ledger_other on pause',
    'create trigger ledger_other before insert on keywarden.pause for each row execute function suppress_redundant_updates_trigger()',
  ],
  [
    'a trigger that keeps checkpoints from being stored',
    'withhold on ledger_checkpoint',
    'create trigger withhold before insert on keywarden.ledger_checkpoint for each row execute function suppress_redundant_updates_trigger()',
  ],
  [
    'row security that hides a pause from the apps',
    'row security on pause',
    'alter table keywarden.pause enable row level security; create policy hidden on keywarden.pause for select using (resumed_at is not null)',
  ],
  [
    'a rule that drops what the apps write',
    'rule dropped on pause',
    'create rule dropped as on insert to keywarden.pause do instead nothing',
  ],
])('%s is found', async (_what, name, statement) => {
  const daemon = await store.as('keywarden_daemon');
  expect(await listChangedMachinery(daemon.sql)).toEqual([]);
  let found: string[] = [];
  const undo = new Error('undo');
  const changed = store.sql.begin(async (tx) => {
    await tx.unsafe(statement).simple();
    found = await listChangedMachinery(tx as never);
    throw undo;
  });
  await expect(changed).rejects.toBe(undo);
  expect(found).toEqual([name]);
});

test('a function is found that functions of the same names, in a search path of the database, would show unchanged', async () => {
  const other = await createTestStore(inject('postgresUrl'));
  const changed = 'a source that finds nothing';
  await other.sql
    .unsafe(
      `create schema evil;
      grant usage on schema evil to public;
      create table evil.former as select prosrc from pg_proc where oid = 'keywarden.ledger_time(timestamptz)'::regprocedure;
      grant select on evil.former to public;
      create function evil.json_build_array(source text, language name, definer boolean, volatility "char", config text, result text) returns json language sql
        as $$ select pg_catalog.json_build_array(case when source ~ '${changed}' then (select prosrc from evil.former) else source end,
          language, definer, volatility, config, result) $$;
      do $$ begin execute format('alter database %I set search_path = evil, pg_catalog', current_database()); end $$;
      create or replace function keywarden.ledger_time(at timestamptz) returns text language sql stable
        as $$ select '' /* ${changed} */ $$`,
    )
    .simple();
  other.isTampered();
  const daemon = await other.as('keywarden_daemon');
  // The function would hide the change.
  await daemon.sql.begin(async (tx) => {
    await tx`set local search_path = evil, pg_catalog`;
    expect(await listChangedMachinery(tx as never)).toEqual([]);
  });
  expect(await listChangedMachinery(daemon.sql)).toEqual(['ledger_time(at timestamp with time zone)']);
  await other.close();
});
