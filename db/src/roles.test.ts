import { readFileSync } from 'node:fs';
import { makeControlPlane, makeProject, makeWireOperation } from '@keywarden/testkit/store/rows';
import { createTestStore, type TestStore } from '@keywarden/testkit/store/test-store';
import { afterAll, beforeAll, expect, inject, test } from 'vitest';
import { makeOperationPartitions, saveOperationPage } from './daemon.ts';
import type { Sql } from './sql.ts';

let store: TestStore;
let daemon: Sql;
let report: Sql;
let project: string;
beforeAll(async () => {
  store = await createTestStore(inject('postgresUrl'));
  daemon = (await store.as('keywarden_daemon')).sql;
  report = (await store.as('keywarden_report')).sql;
  const controlPlane = await makeControlPlane(daemon);
  project = await makeProject(daemon, controlPlane);
  await makeOperationPartitions(daemon, ['2026-05']);
  await saveOperationPage(daemon, { project, operations: [makeWireOperation(1)] });
});
afterAll(async () => await store.close());

const expectRefused = async (sql: Sql, statement: string) =>
  await expect(sql.unsafe(statement)).rejects.toMatchObject({ code: '42501' });

const appRoles = ['keywarden_daemon', 'keywarden_report', 'keywarden_admin'];

const history = [
  'operation',
  'operation_version',
  'operation_2026_05',
  'operation_coverage',
  'completed_walk',
  'operation_drop',
  'operation_retention',
];
const addedTo = [
  'key_listing',
  'key_observation',
  'finding',
  'plan_approval',
  'revocation_intent',
  'revocation_outcome',
  'access_log',
  'plan_rejection',
  'review',
  'review_item',
  'review_decision',
  'review_signature',
];

test.each([...history, ...addedTo])('neither role can delete anything from %s', async (table) => {
  for (const sql of [daemon, report]) {
    await expectRefused(sql, `delete from keywarden.${table}`);
    await expectRefused(sql, `truncate keywarden.${table}`);
    await expectRefused(sql, `drop table keywarden.${table}`);
  }
});

test.each(history)('neither role can write %s except through the functions that keep every version', async (table) => {
  for (const sql of [daemon, report]) {
    await expectRefused(sql, `insert into keywarden.${table} select * from keywarden.${table}`);
    const column = {
      operation_retention: 'keep',
      operation_drop: 'month',
      operation_coverage: 'known',
      completed_walk: 'reached',
    }[table];
    await expectRefused(sql, `update keywarden.${table} set ${column ?? 'status'} = ${column ?? 'status'}`);
  }
});

test.each(addedTo)('%s only gets new rows, and existing rows never change', async (table) => {
  const column = {
    key_listing: 'why_suspect',
    key_observation: 'event',
    finding: 'reason',
    plan_approval: 'approved_by',
    revocation_intent: 'connection',
    revocation_outcome: 'outcome',
    access_log: 'path',
    plan_rejection: 'reason',
    review: 'title',
    review_item: 'findings',
    review_decision: 'reason',
    review_signature: 'signed_by',
  }[table];
  for (const sql of [daemon, report]) await expectRefused(sql, `update keywarden.${table} set ${column} = ${column}`);
  const { count } = await store.sql.unsafe(`update keywarden.${table} set ${column} = ${column}`);
  expect(count).toBe(0);
});

test('the daemon cannot move an operation to another project, or mark one as walked further than it is', async () => {
  for (const column of ['id', 'created_at', 'walked_at', 'first_seen_at']) {
    await expectRefused(daemon, `update keywarden.project set ${column} = ${column}`);
  }
});

test('the same statement succeeds for the owner, so the refusals come from the roles', async () => {
  const { count } = await store.sql`update keywarden.operation set status = status`;
  expect(count).toBe(1);
});

test('the report can read, and cannot write anything that the daemon writes', async () => {
  expect(await report`select status from keywarden.operation`).toHaveLength(1);
  await expectRefused(report, `insert into keywarden.control_plane (base_url) values ('x')`);
  await expectRefused(report, `update keywarden.project set name = 'x'`);
  const granted = await store.sql`
    select table_name as name from information_schema.role_table_grants
    where grantee = 'keywarden_report' and privilege_type in ('INSERT', 'UPDATE', 'DELETE', 'TRUNCATE') order by 1`;
  expect(granted).toEqual([]);
  await expectRefused(report, 'update keywarden.exemption set until = until');
  await expectRefused(report, `select keywarden.make_operation_partitions('{2030-01-01}')`);
  await expectRefused(report, `select keywarden.drop_operation_month('2026-05-01', 'x')`);
});

test('the daemon cannot make a key in use look unused, or invent an approval of the report', async () => {
  const [{ number: key } = {}] = await daemon`
    insert into keywarden.credential (control_plane_number, scope, id, kind, name, creator_id, created_at, last_used_at, first_seen_at, present_since)
    select number, 'organization:o', '1', 'organization', 'k', 'u', '2026-05-01', '2026-05-03T10:00Z', '2026-05-03', '2026-05-03'
    from keywarden.control_plane limit 1 returning number`;
  await daemon`insert into keywarden.key_use (key_number, hour, address, first_used_at, last_used_at)
    values (${String(key)}, '2026-05-03T10:00Z', '', '2026-05-03T10:00Z', '2026-05-03T10:30Z')`;
  for (const statement of [
    'update keywarden.credential set last_used_at = null',
    `update keywarden.credential set last_used_at = '2026-01-01'`,
    'update keywarden.credential set first_seen_at = now()',
    'update keywarden.credential set id = id || number',
    `update keywarden.key_use set last_used_at = '2026-05-03T10:10Z'`,
    'update keywarden.key_use set first_used_at = now()',
    `update keywarden.key_use set address = 'x'`,
  ])
    await expectRefused(daemon, statement);
  await daemon`update keywarden.credential set last_used_at = '2026-05-04T10:00Z' where number = ${String(key)}`;
  for (let times = 0; times < 2; times += 1)
    await daemon`update keywarden.key_use set last_used_at = '2026-05-03T10:40Z' where key_number = ${String(key)}`;
  await daemon`insert into keywarden.plan (id, sha256, document, item_count, held_count, reported_count) values ('p', '', '{}', 1, 0, 0)`;
  const approve = (via: string, at: string) =>
    `insert into keywarden.plan_approval (plan_id, approved_by, via, approved_at) values ('p', 'somebody', '${via}', ${at})`;
  await expectRefused(daemon, approve('report', 'now()'));
  await expectRefused(daemon, approve('command line', `now() - interval '1 day'`));
  await expectRefused(daemon, approve('command line', `now() + interval '1 minute'`));
  await daemon.begin(async (tx) => {
    await tx.unsafe(approve('command line', 'now()'));
    const [approval] = await tx`select approved_at > now() as "isLater" from keywarden.plan_approval`;
    expect(approval).toEqual({ isLater: true });
  });
});

test('keywarden_admin ends tokens and sessions for good, and lets none of them in again', async () => {
  const admin = (await store.as('keywarden_admin')).sql;
  await admin`insert into keywarden.report_token (name, role, token_hash) values ('grace', 'operator', 'of grace')`;
  await report`select keywarden.open_session('of grace', 'a session', '', '')`;
  await admin`update keywarden.report_session set ended_at = now(), ended_by = 'ada'`;
  await admin`update keywarden.report_token set revoked_at = now(), revoked_by = 'ada' where name = 'grace'`;
  for (const statement of [
    'update keywarden.report_session set ended_at = null',
    `update keywarden.report_token set revoked_at = null where name = 'grace'`,
    `update keywarden.report_token set revoked_at = now() + interval '1 day' where name = 'grace'`,
  ])
    await expectRefused(admin, statement);
});

// Postgres compares intervals with months of 30 days: this one is longer than a year, and ends in the future.
test.each(["interval '0'", "interval '-8000 months 240366 days'", 'null'])(
  'the daemon forgets no access of the last year, and no attempt of the last 30 days: before %s',
  async (before) => {
    await store.sql`
      insert into keywarden.access_log (request_id, address, method, path, query, status, event)
      values (gen_random_uuid(), '127.0.0.1', 'GET', '/', '', 200, 'request')`;
    await daemon`
      insert into keywarden.job_run (job_id, kind, account, attempt, replica)
      values (gen_random_uuid(), 'sync', 'main', 1, gen_random_uuid())`;
    await daemon.unsafe(`select keywarden.forget_accesses(${before}), keywarden.forget_old_jobs(${before})`);
    const kept = store.sql`select from keywarden.access_log where at > now() - interval '1 minute'`;
    expect(await kept).not.toEqual([]);
    expect(await store.sql`select from keywarden.job_run`).not.toEqual([]);
  },
);

test('the daemon creates partitions of plausible months only', async () => {
  for (const month of ['1999-12-01', '0001-01-01', '2090-01-01', 'infinity'])
    await expect(daemon`select keywarden.make_operation_partitions(${[month]}::text[]::date[])`).rejects.toMatchObject({
      code: '22008',
    });
  const [row] =
    await store.sql`select count(*)::int as n from pg_class where relkind = 'r' and relname ~ '^operation_\\d'`;
  expect(row?.n).toBe(1);
});

test('a month has its bounds in UTC under any settings of a session', async () => {
  await daemon.begin(async (tx) => {
    await tx`select set_config('DateStyle', 'SQL', true), set_config('TimeZone', '<+05>-03', true)`;
    await tx`select keywarden.make_operation_partitions('{2026-07-01}')`;
  });
  const bounds = store.sql`
    select pg_get_expr(relpartbound, oid) as bounds from pg_class where relname = 'operation_2026_07'`;
  expect(await bounds).toEqual([
    { bounds: "FOR VALUES FROM ('2026-07-01 00:00:00+00') TO ('2026-08-01 00:00:00+00')" },
  ]);
});

test('the daemon cannot extend its own permissions, because retention and functions belong to the owner', async () => {
  await expectRefused(daemon, `insert into keywarden.operation_retention (keep) values ('300 days')`);
  await expectRefused(daemon, 'create table keywarden.mine (a int)');
  await expectRefused(
    daemon,
    `create or replace function keywarden.forget_open_walk(bigint) returns void language sql as 'select'`,
  );
});

const privileges = ['select', 'insert', 'update', 'delete', 'truncate', 'references', 'trigger', 'usage'];

/**
 * Returns what each role may do with every table, view, partition with grants of its own, sequence and function, in the form of docs/ROLES.md. It
 * reads the catalog, so a new object cannot be missing.
 */
async function readGrants(): Promise<string[]> {
  const rows = await store.sql`
    with roles as (select * from unnest(${appRoles}::text[]) with ordinality as r(role, place)
    ), relations as (
      select n.nspname || '.' || c.relname as name, c.oid, c.relkind = 'S' as is_sequence from pg_class c
        join pg_namespace n on n.oid = c.relnamespace
      where n.nspname in ('keywarden', 'keywarden_jobs') and c.relkind in ('r', 'p', 'v', 'm', 'f', 'S')
        and (not c.relispartition and c.relkind <> 'S' or exists (
          select from aclexplode(c.relacl) a where a.grantee::regrole::text = any(${appRoles})))
    ), may as (
      select t.name, r.place, string_agg(p.privilege || coalesce(columns.list, ''), ', ' order by p.place) as list
      from relations t cross join roles r
        cross join unnest(${privileges}::text[]) with ordinality as p(privilege, place)
        cross join lateral (select case
          when t.is_sequence then p.privilege in ('select', 'update', 'usage') and has_sequence_privilege(r.role, t.oid, p.privilege)
          else p.privilege <> 'usage' and has_table_privilege(r.role, t.oid, p.privilege) end as whole) w
        left join lateral (
          select ' of ' || string_agg(a.attname, ' ' order by a.attnum) as list from pg_attribute a
          where not w.whole and not t.is_sequence and p.privilege in ('select', 'insert', 'update', 'references') and a.attrelid = t.oid
            and a.attnum > 0 and not a.attisdropped and has_column_privilege(r.role, t.oid, a.attnum, p.privilege)
        ) columns on true
      where w.whole or columns.list is not null
      group by t.name, r.place
    ), functions as (
      select n.nspname || '.' || f.proname || '()' as name, f.oid from pg_proc f join pg_namespace n on n.oid = f.pronamespace
      where n.nspname in ('keywarden', 'keywarden_jobs') and f.prorettype <> 'trigger'::regtype
    )
    select t.name, array_agg(coalesce(m.list, '') order by r.place) as cells, 0 as place
      from relations t cross join roles r left join may m on m.name = t.name and m.place = r.place group by t.name
    union all
    select f.name, array_agg(case when has_function_privilege(r.role, f.oid, 'execute') then 'execute' else '' end order by r.place), 1
      from functions f cross join roles r group by f.name, f.oid
    order by place, name`;
  return rows.map(({ name, cells }) => `| ${name} | ${(cells as string[]).join(' | ')} |`);
}

test('no function of ours is granted to public', async () => {
  const open = await store.sql`
    select f.oid::regprocedure::text as name from pg_proc f, aclexplode(coalesce(f.proacl, acldefault('f', f.proowner))) a
    where f.pronamespace::regnamespace::text in ('keywarden', 'keywarden_jobs') and a.grantee = 0`;
  expect(open).toEqual([]);
});

test('no search path of a session, and no temporary table, changes what a function of ours means', async () => {
  const open = await store.sql`
    select f.oid::regprocedure::text as name from pg_proc f join pg_language l on l.oid = f.prolang
    where f.pronamespace = 'keywarden'::regnamespace and (f.prosecdef or l.lanname = 'plpgsql')
      and not coalesce(f.proconfig, '{}') && '{"search_path=pg_catalog, pg_temp","search_path=keywarden, pg_temp"}'`;
  expect(open).toEqual([]);
});

test('docs/ROLES.md lists what each role may do with every table and function', async () => {
  const text = readFileSync(new URL('../../docs/ROLES.md', import.meta.url), 'utf8');
  const documented = text.split('\n').filter((line) => line.startsWith('| keywarden'));
  expect(documented).toEqual(await readGrants());
});
