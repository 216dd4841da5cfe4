import { readFileSync } from 'node:fs';
import { fillEveryTable } from '@keywarden/testkit/store/fill-every-table';
import { createTestStore, type TestStore } from '@keywarden/testkit/store/test-store';
import { afterAll, beforeAll, expect, inject, test } from 'vitest';
import type { Sql } from './sql.ts';

// docs/ROLES.md against the database, by trying: every kind of statement on every table, view and sequence, and every function, in every role.

const roles = ['keywarden_daemon', 'keywarden_report', 'keywarden_admin'] as const;
const generatedAlways = '428C9';

let store: TestStore;
beforeAll(async () => {
  store = await createTestStore(inject('postgresUrl'));
  store.isTampered();
  await fillEveryTable(store.sql);
});
afterAll(async () => await store.close());

interface Column {
  name: string;
  type: string;
}

/** Returns the columns of each table, view and partition of ours. */
async function readRelations(): Promise<Map<string, Column[]>> {
  const rows = await store.sql`
    select n.nspname || '.' || c.relname as relation, a.attname as name, format_type(a.atttypid, a.atttypmod) as type
    from pg_class c join pg_namespace n on n.oid = c.relnamespace join pg_attribute a on a.attrelid = c.oid
    where n.nspname in ('keywarden', 'keywarden_jobs') and c.relkind in ('r', 'p', 'v') and a.attnum > 0 and not a.attisdropped
    order by 1, a.attnum`;
  return new Map(
    [...Map.groupBy(rows, (row) => String(row.relation))].map(([name, columns]) => [
      name,
      columns.map((row) => ({ name: String(row.name), type: String(row.type) })),
    ]),
  );
}

interface Failure {
  code?: string;
  message: string;
}

/** Returns the failure of a statement in a role, or null if it succeeds; nothing of it stays. */
async function attemptIn(sql: Sql, statement: string): Promise<Failure | null> {
  let failure: Failure | null = null;
  await sql
    .begin(async (tx) => {
      try {
        await tx.unsafe(statement);
      } catch (error) {
        failure = error as Failure; // the driver throws nothing else
      }
      throw new Error('undo');
    })
    .catch(() => undefined);
  return failure;
}

/** Returns the cell of a role in docs/ROLES.md. */
function readDocumented(): Map<string, string[]> {
  const text = readFileSync(new URL('../../docs/ROLES.md', import.meta.url), 'utf8');
  const lines = text.split('\n').filter((line) => line.startsWith('| keywarden'));
  return new Map(
    lines.map((line) => {
      const [name = '', ...cells] = line
        .split('|')
        .slice(1, -1)
        .map((cell) => cell.trim());
      return [name, cells];
    }),
  );
}

/** Returns the columns that a cell permits a privilege on: all, or some. */
function columnsOf(cell: string, privilege: string, all: string[]): string[] {
  const part = cell.split(', ').find((each) => each === privilege || each.startsWith(`${privilege} of `));
  if (part === undefined) return [];
  return part === privilege ? all : part.slice(`${privilege} of `.length).split(' ');
}

test('every statement on every table and view is permitted to each role exactly as docs/ROLES.md says', async () => {
  const documented = readDocumented();
  const wrong: string[] = [];
  let attempts = 0;
  const relations = await readRelations();
  expect(relations.size).toBeGreaterThan(80);
  for (const [index, role] of roles.entries()) {
    const { sql } = await store.as(role);
    for (const [name, columns] of relations) {
      const cell = documented.get(name)?.[index] ?? '';
      const all = columns.map((column) => column.name);
      const expected = (privilege: string) => columnsOf(cell, privilege, all);
      const attempt = async (statement: string, isExpected: boolean) => {
        attempts += 1;
        const failure = await attemptIn(sql, statement);
        // Postgres refuses a write to an identity column before it checks the role.
        const isRight = isExpected ? failure === null || failure.code === generatedAlways : failure !== null;
        if (!isRight) wrong.push(`${role}: ${statement}: ${failure?.message}`);
      };
      await attempt(`delete from ${name} where false`, expected('delete').length > 0);
      await attempt(`truncate ${name}`, cell.includes('truncate'));
      await attempt(`drop table ${name}`, false);
      await attempt(`select 1 from ${name} limit 0`, expected('select').length > 0);
      for (const column of columns) {
        const place = `"${column.name}"`;
        await attempt(`select ${place} from ${name} limit 0`, expected('select').includes(column.name));
        await attempt(
          `update ${name} set ${place} = null::${column.type} where false`,
          expected('update').includes(column.name),
        );
        await attempt(
          `insert into ${name} (${place}) select null::${column.type} where false`,
          expected('insert').includes(column.name),
        );
      }
    }
  }
  expect(wrong).toEqual([]);
  expect(attempts).toBeGreaterThan(5000);
});

test('every function is permitted to each role exactly as docs/ROLES.md says', async () => {
  const documented = readDocumented();
  const functions = await store.sql`
    select n.nspname || '.' || f.proname as name, coalesce((
        select string_agg('null::' || case when y.typnamespace = 'keywarden'::regnamespace then 'keywarden.' || y.typname else format_type(t, null) end, ', '
          order by place) from unnest(f.proargtypes::oid[]) with ordinality as a(t, place) join pg_type y on y.oid = t), '') as args
    from pg_proc f join pg_namespace n on n.oid = f.pronamespace
    where n.nspname in ('keywarden', 'keywarden_jobs') and f.prorettype <> 'trigger'::regtype`;
  expect(functions.length).toBeGreaterThan(30);
  const wrong: string[] = [];
  for (const [index, role] of roles.entries()) {
    const { sql } = await store.as(role);
    for (const row of functions) {
      const isExpected = documented.get(`${String(row.name)}()`)?.[index] === 'execute';
      const statement = `select ${String(row.name)}(${String(row.args)})`;
      // A function may refuse for a reason of its own, with another message.
      const failure = await attemptIn(sql, statement);
      const isRefused = /^permission denied for (function|schema) /.test(failure?.message ?? '');
      if (isRefused === isExpected) wrong.push(`${role}: ${statement}: ${failure?.message}`);
    }
  }
  expect(wrong).toEqual([]);
});

test('each role may use the sequences that docs/ROLES.md lists, and creates nothing', async () => {
  const sequences = await store.sql`
    select n.nspname || '.' || c.relname as name from pg_class c join pg_namespace n on n.oid = c.relnamespace
    where n.nspname in ('keywarden', 'keywarden_jobs') and c.relkind = 'S'`;
  expect(sequences.length).toBeGreaterThan(10);
  const documented = readDocumented();
  const wrong: string[] = [];
  for (const [index, role] of roles.entries()) {
    const { sql } = await store.as(role);
    for (const row of sequences) {
      const name = String(row.name);
      const isExpected = (documented.get(name)?.[index] ?? '') !== '';
      for (const statement of [
        `select nextval('${name}')`,
        `select setval('${name}', 7)`,
        `select last_value from ${name}`,
      ])
        if (((await attemptIn(sql, statement)) === null) !== isExpected) wrong.push(`${role}: ${statement}`);
    }
    for (const statement of [
      'create table keywarden.mine (a int)',
      'create function keywarden.mine() returns void language sql as $$ select $$',
      'create table keywarden_jobs.mine (a int)',
      'create table public.mine (a int)',
      'create schema mine',
      'create role mine',
      `alter role ${role} superuser`,
    ])
      if ((await attemptIn(sql, statement)) === null) wrong.push(`${role}: ${statement}`);
  }
  expect(wrong).toEqual([]);
});
