import { readdirSync, readFileSync } from 'node:fs';
import { sha256 } from '@keywarden/core/values';
import { codeOf, storeError } from '@keywarden/runtime';
import { hasTable, isTrue, type Sql, storeRoles } from './sql.ts';

// Functions, views, triggers, roles and grants: each file in db/functions defines one of them. When the hash of a file has changed, all are
// applied again in the order of their names, and so they are after each migration.

interface Repeatable {
  name: string;
  text: string;
  sha256: string;
}

/** Views of earlier versions. They may read views that are dropped. */
const formerViews = ['keywarden.control_plane_present', 'keywarden.key_line'];

/** Functions of earlier versions. The names of a function's parameters cannot be changed otherwise, so current ones may be among them. */
export const formerFunctions = [
  'keywarden.approve_plan(text, text)',
  'keywarden.ledger_kinds()',
  'keywarden.ledger_related(text, bigint, bigint)',
  'keywarden.lock_review(bigint)',
  // Before it had `unread`.
  `keywarden.save_operation_page(bigint, uuid[], text[], text[], text[], text[], bigint[], text[], timestamptz[], timestamptz[], timestamptz[], bigint[],
    jsonb[], timestamptz, timestamptz, tstzrange, timestamptz, timestamptz, text, timestamptz, timestamptz, boolean)`,
  // Before it had `places`.
  `keywarden.save_operation_page(bigint, uuid[], text[], text[], text[], text[], bigint[], text[], timestamptz[], timestamptz[], timestamptz[], bigint[],
    jsonb[], timestamptz, timestamptz, tstzrange, jsonb, timestamptz, timestamptz, text, timestamptz, timestamptz, boolean)`,
  // Before its arrays had the names of the columns.
  `keywarden.save_operation_page(bigint, uuid[], text[], text[], text[], text[], bigint[], text[], timestamptz[], timestamptz[], timestamptz[], bigint[],
    jsonb[], integer[], timestamptz, timestamptz, tstzrange, jsonb, timestamptz, timestamptz, text, timestamptz, timestamptz, boolean)`,
];

const folder = new URL('../functions/', import.meta.url);
let read: Repeatable[] | undefined;

function readRepeatables(): Repeatable[] {
  read ??= readdirSync(folder)
    .filter((name) => name.endsWith('.sql'))
    .toSorted()
    .map((name) => {
      const text = readFileSync(new URL(name, folder), 'utf8');
      return { name, text, sha256: sha256(text) };
    });
  return read;
}

/** Returns each view, with the statement that creates it. */
export function readViews(): { name: string; text: string }[] {
  return readRepeatables().flatMap(({ text }) => {
    const name = /^create view keywarden\.(\w+)/m.exec(text)?.[1];
    return name === undefined ? [] : [{ name, text }];
  });
}

/** Returns the text of one file. */
export function readRepeatable(name: string): string {
  const found = readRepeatables().find((each) => each.name === name);
  if (found === undefined) throw new Error(`db/functions has no ${name}`);
  return found.text;
}

export const countRepeatables = () => readRepeatables().length;

/** Returns whether a database with our schema lacks a role or its rights. A backup has no roles, and may be restored without its grants. */
export async function lacksGrants(sql: Sql): Promise<boolean> {
  return await isTrue(sql`
    select exists (select from pg_namespace n where n.nspname = 'keywarden' and ${storeRoles.length} > (
      select count(*) from pg_roles r where r.rolname = any(${[...storeRoles]}) and has_schema_privilege(r.oid, n.oid, 'usage')))`);
}

/** Returns the number of files that the database lacks, has in another version, or has although they no longer exist. */
export async function countStaleRepeatables(sql: Sql): Promise<number> {
  const isThere = await hasTable(sql, 'keywarden.repeatable');
  const applied = isThere ? await sql`select name, sha256 from keywarden.repeatable` : [];
  const known = new Map(applied.map((row) => [String(row.name), String(row.sha256)]));
  const ours = readRepeatables();
  const gone = [...known.keys()].filter((name) => !ours.some((each) => each.name === name));
  return ours.filter(({ name, sha256 }) => known.get(name) !== sha256).length + gone.length;
}

/** Returns the views of this version and of earlier ones. One with changed columns cannot be replaced. */
export const listViewsToDrop = () => [...formerViews, ...readViews().map(({ name }) => `keywarden.${name}`)];

/** Applies all files, in the transaction of a session that has dropped the views. */
export async function applyRepeatables(session: Sql): Promise<void> {
  const files = readRepeatables();
  const rows = files.map(({ name, sha256 }) => `('${name}', '${sha256}')`);
  const steps = [
    `drop function if exists ${formerFunctions.join(', ')}`,
    ...files.map(({ text }) => text.trimEnd().replace(/;$/, '')),
    // Rows from before the ledger are recorded together with its triggers, or neither is there.
    'select keywarden.begin_ledger()',
    'delete from keywarden.repeatable',
    `insert into keywarden.repeatable (name, sha256) values ${rows.join(', ')}`,
  ];
  await session.unsafe(steps.join(';\n')).simple();
}

const dependentObjects = '2BP01';

/** Throws a UserError if a foreign object depends on a view of ours; any other error as it is. */
export function refuseDependents(error: unknown): never {
  if (codeOf(error) !== dependentObjects) throw error;
  throw storeError(
    "Other views or functions depend on Keywarden's views; drop them, run keywarden migrate, and create them again.",
    { cause: error },
  );
}
