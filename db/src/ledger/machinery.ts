import { readFileSync } from 'node:fs';
import { sha256 } from '@keywarden/core/values';
import { codeOf } from '@keywarden/runtime';
import { readViews } from '../repeatables.ts';
import { isTrue, type Sql, sqlState, type Tx } from '../sql.ts';

// The functions and triggers that record events and compare rows with them belong to the owner of the database, who could replace them by others that find
// nothing; and the other functions and the views, by others that show the apps other approvals or findings. machinery.json has the hash of each function and
// trigger as this version creates it. Row security and rules can hide rows from the apps, or keep them from being written; this version creates none.

/** Functions and triggers by name, each with a hash of its definition. */
export type Machinery = Record<string, string>;

/** The file with the machinery as this version creates it. */
export const machineryFile = new URL('machinery.json', import.meta.url);

/** Returns the functions and triggers of a store, and what may hide rows of any of its tables. */
export async function readMachinery(sql: Sql | Tx): Promise<Machinery> {
  const rows = await sql`
    select format('%s(%s)', p.proname, replace(pg_get_function_identity_arguments(p.oid), 'keywarden.', '')) as name,
      json_build_array(p.prosrc, l.lanname, p.prosecdef, p.provolatile, p.proconfig::text, replace(pg_get_function_result(p.oid), 'keywarden.', ''),
        p.proisstrict, p.prokind, p.proretset, p.proleakproof, pg_get_expr(p.proargdefaults, 0))::text as definition
    from pg_catalog.pg_proc p join pg_catalog.pg_language l on l.oid = p.prolang
    where p.pronamespace = 'keywarden'::regnamespace
    union all
    select format('%s on %s', t.tgname, c.relname),
      json_build_array(p.pronamespace = 'keywarden'::regnamespace, p.proname, t.tgenabled, t.tgtype, encode(t.tgargs, 'hex'), t.tgdeferrable, t.tginitdeferred,
        (select string_agg(a.attname, ',' order by a.attname) from pg_catalog.pg_attribute a where a.attrelid = t.tgrelid and a.attnum = any(t.tgattr)),
        -- Its condition, without the brackets and spaces that versions of Postgres print differently.
        case when t.tgqual is not null then translate(substring(pg_get_triggerdef(t.oid) from ' WHEN (.*) EXECUTE '), '() ', '') end)::text
    from pg_catalog.pg_trigger t join pg_catalog.pg_class c on c.oid = t.tgrelid join pg_catalog.pg_proc p on p.oid = t.tgfoid
    where c.relnamespace = 'keywarden'::regnamespace and not t.tgisinternal and t.tgparentid = 0
    union all
    select format('row security on %s', c.relname), '' from pg_catalog.pg_class c
    where c.relnamespace = 'keywarden'::regnamespace and (c.relrowsecurity or c.relforcerowsecurity)
    union all
    select format('rule %s on %s', r.rulename, c.relname), '' from pg_catalog.pg_rewrite r join pg_catalog.pg_class c on c.oid = r.ev_class
    where c.relnamespace = 'keywarden'::regnamespace and c.relkind in ('r', 'p')
    union all
    select format('operator %s', o.oid::regoperator), '' from pg_catalog.pg_operator o where o.oprnamespace = 'keywarden'::regnamespace
    union all
    select format('function %s like one of Postgres', p.proname), '' from pg_catalog.pg_proc p
    where p.pronamespace = 'keywarden'::regnamespace and exists (select from pg_catalog.pg_proc o where o.pronamespace = 'pg_catalog'::regnamespace and o.proname = p.proname)
    order by 1`;
  return Object.fromEntries(
    rows.map(({ name, definition }) => [String(name), sha256(String(definition)).slice(0, 32)]),
  );
}

/**
 * Returns the names of functions, triggers and views that are not as this version creates them. Functions of other names and triggers of tables without
 * events may be those of an earlier version, or of a cluster.
 */
export async function listChangedMachinery(sql: Sql | Tx): Promise<string[]> {
  if (!('savepoint' in sql)) return await sql.begin(listChangedMachinery);
  // A migration locks this table before it replaces any of them, so none is replaced while it is read.
  await sql`lock table keywarden.repeatable in access share mode`;
  const expected = JSON.parse(readFileSync(machineryFile, 'utf8')) as Machinery;
  const found = await readMachinery(sql);
  const names = new Set(Object.keys(expected).map(nameOf));
  const governed = new Set([
    ...coveredElsewhere,
    ...Object.keys(expected).flatMap((name) => /^ledger_\w+ on (\w+)$/.exec(name)?.[1] ?? []),
  ]);
  const mayBeOther = (name: string) => {
    // A later Postgres may have a function of a name that this version uses: ours is compared with machinery.json.
    const likeOne = /^function (\w+) like one of Postgres$/.exec(name)?.[1];
    if (likeOne !== undefined) return names.has(likeOne);
    const table = / on (\w+)$/.exec(name)?.[1];
    const isOfLedger = /^(describe|ledger)_/.test(table ?? name);
    return !isOfLedger && (isFunction(name) ? !names.has(nameOf(name)) : isTrigger(name) && !governed.has(table ?? ''));
  };
  const changed = [...new Set([...Object.keys(expected), ...Object.keys(found)])].filter(
    (name) => found[name] !== expected[name] && (name in expected || !mayBeOther(name)),
  );
  return [...changed, ...(await listChangedViews(sql))];
}

/** Tables without an event for each row, whose rows are part of other rows' events or have them without a trigger. */
const coveredElsewhere = ['exemption_key', 'review_item', 'migration'];

const isFunction = (name: string) => /^\w+\(/.test(name);
const isTrigger = (name: string) => /^\w+ on \w+$/.test(name);
const nameOf = (name: string) => name.replace(/\(.*$/, '');

/**
 * Returns the names of views that are not as this version creates them. Each version of Postgres prints views in its own way, so each is created again for a
 * moment, and the two texts are compared.
 */
async function listChangedViews(sql: Tx): Promise<string[]> {
  const compare = async (tx: Tx) => {
    const changed: string[] = [];
    for (const { name, text } of readViews()) if (!(await isViewOf(tx, name, text))) changed.push(`view ${name}`);
    throw new Compared(changed);
  };
  try {
    return await sql.savepoint(compare);
  } catch (error) {
    if (error instanceof Compared) return error.changed;
    if (codeOf(error) === sqlState.insufficientPrivilege)
      return ['views, which the daemon cannot compare: GRANT TEMPORARY ON DATABASE ... TO keywarden_daemon'];
    throw error;
  }
}

/** Returns whether a view of the store is the one that a statement creates. */
async function isViewOf(tx: Tx, name: string, text: string): Promise<boolean> {
  try {
    await tx.savepoint(
      async (inner) =>
        await inner.unsafe(text.replace(`create view keywarden.${name} `, `create temporary view ${name} `)),
    );
  } catch (error) {
    // A changed view or function that it reads lacks what it needs.
    if (/^42(?!501)/.test(codeOf(error))) return false;
    throw error;
  }
  return await isTrue(tx`
    select (pg_get_viewdef(o.oid), o.reloptions) is not distinct from (pg_get_viewdef(c.oid), c.reloptions) as is_same
    from pg_catalog.pg_class o left join pg_catalog.pg_class c on c.oid = to_regclass('keywarden.' || ${name})
    where o.oid = ('pg_temp.' || ${name})::regclass`);
}

/** Undoes what a comparison has created. */
class Compared extends Error {
  readonly changed: string[];
  constructor(changed: string[]) {
    super('compared');
    this.changed = changed;
  }
}
