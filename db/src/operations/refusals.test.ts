import { findMutableCases, findRefusals } from '@keywarden/testkit/store/distributed-statements';
import { expect, test } from 'vitest';

// Counter-tests of what distributed-statements.test.ts judges statements by: each of these is found.

const refused = [
  ['a join without a limit', 'select 1 from keywarden.operation o join keywarden.key k on true'],
  [
    'a lateral join over another table',
    'select 1 from keywarden.key k, lateral (select 1 from keywarden.operation o limit k.number) x',
  ],
  [
    'a subquery in the select list',
    'select (select count(*) from keywarden.operation o where o.id = k.id) from keywarden.key k',
  ],
  [
    'a correlated subquery',
    'select (select max(w.day) from keywarden.completed_walk w where w.day < o.created_at) from keywarden.operation o',
  ],
  [
    'a page that is limited after a join',
    'select 1 from (select * from keywarden.operation) o join keywarden.project p on true limit 5',
  ],
  [
    'a join of two distributed tables',
    'select 1 from keywarden.operation o join keywarden.operation_version v on v.id = o.id',
  ],
  ['a row lock', 'select 1 from keywarden.operation for update'],
  [
    'a delete that reads another distributed table',
    'delete from keywarden.operation_pruned where id in (select id from keywarden.operation)',
  ],
  [
    'a joined common table expression',
    'with c as (select * from keywarden.operation) select 1 from c join keywarden.key k on true',
  ],
  ['an insert into a table of another kind', 'insert into keywarden.plan select id from keywarden.operation'],
  [
    'an update of a table of another kind',
    'update keywarden.plan set id = o.id from (select * from keywarden.operation) o',
  ],
  ['a merge', 'merge into keywarden.operation o using keywarden.key k on true when matched then delete'],
  ['a table created from it', 'create table x as select * from keywarden.operation'],
  ['a query in a cursor', 'declare c cursor for select 1 from keywarden.operation_2026_05 o, unnest(array[1]) u'],
] as const;
test.each(refused)('counter-test: %s is found', (_name, statement) => {
  expect(findRefusals(statement)).not.toEqual([]);
});

test.each([
  `update keywarden.project set gone_at = case when missing_since > $1::timestamptz - interval '1 day' then null else now() end`,
  'update keywarden.project set name = coalesce(name, created_at::text)',
  'delete from keywarden.completed_walk where coalesce(began_at, current_timestamp) > reached',
  'insert into keywarden.completed_walk as w select 1 on conflict (day) do update set began_at = coalesce(w.began_at, now())',
])('counter-test: a setting-dependent expression within a case is found: %s', (statement) => {
  expect(findMutableCases(statement)).not.toEqual([]);
});
