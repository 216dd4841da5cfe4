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
  [
    'a view that shows an approval that no person gave',
    'view standing_approval',
    `create or replace view keywarden.standing_approval as select 1::bigint as number, id as plan_id, 'ada'::text as approved_by, 'ada'::text as person,
      'report'::text as via, now() as approved_at from keywarden.plan`,
  ],
  ['a view that is gone', 'view review_verdict', 'drop view keywarden.review_verdict'],
  [
    'a view that reads with the rights of its owner',
    'view newest_plan',
    'alter view keywarden.newest_plan reset (security_invoker)',
  ],
  [
    'a function that accepts every credential',
    'require_holder(credential text, needed text, sees_all boolean)',
    `do $$ begin execute replace(pg_get_functiondef('keywarden.require_holder'::regproc), 'KW002', 'KW009'); end $$`,
  ],
  [
    'a function that another of its name hides',
    'approve_plan(credential text, plan character varying)',
    `create function keywarden.approve_plan(credential text, plan varchar) returns bigint language sql as $$ select 1::bigint $$`,
  ],
  [
    'a trigger that changes a row before it is recorded',
    'aaa on pause',
    'create trigger aaa before insert on keywarden.pause for each row execute function suppress_redundant_updates_trigger()',
  ],
  [
    'a trigger that runs a function of the same name, but of another schema',
    'approvals_are_made on plan_approval',
    `create schema evil; create function evil.refuse_invented_approval() returns trigger language plpgsql as $$ begin new.approved_by := 'ada'; return new; end $$;
      create or replace trigger approvals_are_made before insert on keywarden.plan_approval for each row execute function evil.refuse_invented_approval()`,
  ],
  [
    'a trigger whose condition is never true',
    'use_is_kept on key_use',
    'create or replace trigger use_is_kept before update on keywarden.key_use for each row when (false) execute function keywarden.refuse_lost_use()',
  ],
  [
    'a trigger that no longer sees every column',
    'ledger_is_kept on ledger_event',
    `do $$ begin execute replace(replace(pg_get_triggerdef(oid), 'CREATE TRIGGER', 'CREATE OR REPLACE TRIGGER'), 'BEFORE UPDATE', 'BEFORE UPDATE OF type')
      from pg_trigger where tgname = 'ledger_is_kept'; end $$`,
  ],
  [
    'a trigger that adds a key to an exemption',
    'widen on exemption_key',
    'create trigger widen before insert on keywarden.exemption_key for each row execute function suppress_redundant_updates_trigger()',
  ],
  [
    'a function that does nothing if an argument is null',
    'reject_plan(credential text, rejected_plan text, why text)',
    'alter function keywarden.reject_plan strict',
  ],
  [
    'a function that comes before one of Postgres for some values',
    'function upper like one of Postgres',
    `create function keywarden.upper(tstzrange) returns timestamptz language sql as $$ select '-infinity'::timestamptz $$`,
  ],
  [
    'an operator that comes before one of Postgres for some values',
    'operator keywarden.<@(timestamp with time zone,tstzrange)',
    `create function keywarden.of_an_owner(timestamptz, tstzrange) returns boolean language sql as $$ select false $$;
      create operator keywarden.<@ (leftarg = timestamptz, rightarg = tstzrange, function = keywarden.of_an_owner)`,
  ],
])('%s is found', async (_what, name, statement) => {
  const daemon = await store.as('keywarden_daemon');
  expect(await listChangedMachinery(daemon.sql)).toEqual([]);
  let found: string[] = [];
  const undo = new Error('undo');
  const changed = store.sql.begin(async (tx) => {
    await tx.unsafe(statement).simple();
    found = await listChangedMachinery(tx);
    throw undo;
  });
  await expect(changed).rejects.toBe(undo);
  expect(found).toEqual([name]);
});

test('a view that cannot be compared because of a changed one is named, beside everything else that changed', async () => {
  const undo = new Error('undo');
  let found: string[] = [];
  const changed = store.sql.begin(async (tx) => {
    await tx
      .unsafe(
        `alter view keywarden.standing_approval rename column person to persons;
        alter function keywarden.ledger_row_faults() volatile`,
      )
      .simple();
    found = await listChangedMachinery(tx);
    throw undo;
  });
  await expect(changed).rejects.toBe(undo);
  expect(found).toContain('ledger_row_faults()');
  expect(found.filter((name) => name.startsWith('view '))).toContain('view standing_approval');
});

test('functions of earlier versions, and triggers of tables without events, are no change', async () => {
  const undo = new Error('undo');
  let found: string[] = [];
  const left = store.sql.begin(async (tx) => {
    await tx
      .unsafe(
        `create function keywarden.of_an_earlier_version() returns int language sql as 'select 1';
        create trigger of_a_cluster before insert on keywarden.schedule_slot for each row execute function suppress_redundant_updates_trigger()`,
      )
      .simple();
    found = await listChangedMachinery(tx);
    throw undo;
  });
  await expect(left).rejects.toBe(undo);
  expect(found).toEqual([]);
});

test('views that the daemon may not compare are named, with what is missing', async () => {
  const other = await createTestStore(inject('postgresUrl'));
  const daemon = await other.as('keywarden_daemon');
  const run = async (statement: string) =>
    await other.sql.unsafe(`do $$ begin execute format('${statement}', current_database()); end $$`);
  await run('revoke temporary on database %I from public');
  expect(await listChangedMachinery(daemon.sql)).toEqual([expect.stringContaining('GRANT TEMPORARY ON DATABASE')]);
  await run('grant temporary on database %I to keywarden_daemon');
  expect(await listChangedMachinery(daemon.sql)).toEqual([]);
  await other.close();
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
      create function evil.json_build_array(source text, language name, definer boolean, volatility "char", config text, result text,
          strict boolean, kind "char", is_set boolean, leakproof boolean, defaults text) returns json language sql
        as $$ select pg_catalog.json_build_array(case when source ~ '${changed}' then (select prosrc from evil.former) else source end,
          language, definer, volatility, config, result, strict, kind, is_set, leakproof, defaults) $$;
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
    expect(await listChangedMachinery(tx)).toEqual([]);
  });
  expect(await listChangedMachinery(daemon.sql)).toEqual(['ledger_time(at timestamp with time zone)']);
  await other.close();
});
