import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import type { Sql } from '../sql.ts';

// The functions and triggers that record events and compare rows with them belong to the owner of the database, who could replace them by others that find
// nothing. machinery.json has the hash of each as this version creates it. Row security and rules can hide rows from the apps, or keep them from being
// written; this version creates none.

/** Functions and triggers by name, each with a hash of its definition. */
export type Machinery = Record<string, string>;

/** The file with the machinery as this version creates it. */
export const machineryFile = new URL('machinery.json', import.meta.url);

/** Returns the functions and triggers of the ledger in a store, and what may hide rows of any of its tables. */
export async function readMachinery(sql: Sql): Promise<Machinery> {
  const rows = await sql`
    select format('%s(%s)', p.proname, replace(pg_get_function_identity_arguments(p.oid), 'keywarden.', '')) as name,
      json_build_array(p.prosrc, l.lanname, p.prosecdef, p.provolatile, p.proconfig::text, replace(pg_get_function_result(p.oid), 'keywarden.', ''))::text as definition
    from pg_catalog.pg_proc p join pg_catalog.pg_language l on l.oid = p.prolang
    where p.pronamespace = 'keywarden'::regnamespace
      and (p.proname ~ '^(describe|ledger)_' or p.proname in ('append_event', 'begin_ledger', 'personal_data_of', 'place_events', 'record_event', 'record_events', 'refuse_changed_event'))
    union all
    select format('%s on %s', t.tgname, c.relname),
      json_build_array(p.proname, t.tgenabled, t.tgtype, encode(t.tgargs, 'hex'), t.tgdeferrable, t.tginitdeferred, t.tgqual is null)::text
    from pg_catalog.pg_trigger t join pg_catalog.pg_class c on c.oid = t.tgrelid join pg_catalog.pg_proc p on p.oid = t.tgfoid
    where c.relnamespace = 'keywarden'::regnamespace and (t.tgname ~ '^ledger_' or c.relname ~ '^ledger_') and not t.tgisinternal
    union all
    select format('row security on %s', c.relname), '' from pg_catalog.pg_class c
    where c.relnamespace = 'keywarden'::regnamespace and (c.relrowsecurity or c.relforcerowsecurity)
    union all
    select format('rule %s on %s', r.rulename, c.relname), '' from pg_catalog.pg_rewrite r join pg_catalog.pg_class c on c.oid = r.ev_class
    where c.relnamespace = 'keywarden'::regnamespace and c.relkind in ('r', 'p')
    order by 1`;
  return Object.fromEntries(
    rows.map(({ name, definition }) => [
      String(name),
      createHash('sha256').update(String(definition)).digest('hex').slice(0, 32),
    ]),
  );
}

/** Returns the names of functions and triggers of the ledger that are not as this version creates them. */
export async function listChangedMachinery(sql: Sql): Promise<string[]> {
  const expected = JSON.parse(readFileSync(machineryFile, 'utf8')) as Machinery;
  const found = await readMachinery(sql);
  return [...new Set([...Object.keys(expected), ...Object.keys(found)])].filter(
    (name) => found[name] !== expected[name],
  );
}
