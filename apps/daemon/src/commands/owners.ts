import { readFileSync } from 'node:fs';
import { type Assignment, assignOwners, listLiveKeys, type NamedKey } from '@keywarden/db/daemon';
import { codeOf, exitCode, print, usageError } from '@keywarden/runtime';
import { CsvError, parse } from 'csv-parse/sync';
import { z } from 'zod';
import { governed } from '../enforce/high-water-mark.ts';
import { makeKeyFinder } from './choose-keys.ts';
import type { CommandOf } from './command.ts';
import { userName } from './common.ts';
import type { OutputOptions } from './output.ts';
import { printJson, storeOnly, withContext } from './session.ts';

export const ownerSetCommand: CommandOf = {
  name: 'owner set',
  about: 'Assign an owner to one key',
  arguments: { '<key>': 'the id of the key' },
  options: { '--owner <name>': 'an email address or a name; the default is the creator of the key' },
  output: 'result',
  examples: ['1234567 --owner ada@example.com'],
  run: runOwnerSet,
};

/** Assigns a key's owner. Without an owner, the key's creator is its owner again. */
async function runOwnerSet(key: string, { owner, json }: OutputOptions & { owner?: string }): Promise<number> {
  if (owner?.trim() === '')
    throw usageError('The owner must not be empty; omit --owner to make the creator the owner.');
  return await withContext(async (context) => {
    const { store } = context;
    const { number, name } = makeKeyFinder(await listLiveKeys(store.db, { withOthers: true }))(key);
    const assignments = [{ key: number, owner: owner ?? null }];
    await governed(context, () => assignOwners(store.sql, { assignments, source: 'assignment', by: userName() }));
    if (json) printJson({ key_id: key, owner: owner ?? null });
    else print(`The owner of key ${key} "${name}" is ${owner ?? 'its creator'}.`);
    return exitCode.done;
  }, storeOnly);
}

export const ownerImportCommand: CommandOf = {
  name: 'owner import',
  about: 'Assign the owners in a CSV file with the columns key_id and owner: all of them, or none',
  arguments: { '<file>': 'the CSV file' },
  output: 'result',
  examples: ['owners.csv'],
  run: runOwnerImport,
};

/**
 * Imports owners from a CSV file with the columns key_id and owner, and scope where ids are not unique. Imports all rows or none.
 */
async function runOwnerImport(file: string, { json }: OutputOptions): Promise<number> {
  const rows = readRows(file);
  return await withContext(async (context) => {
    const { store } = context;
    const findKey = makeKeyFinder(await listLiveKeys(store.db, { withOthers: true }));
    const assignments = rows.map((row) => toAssignment(row, findKey));
    refuseTwice(rows, assignments);
    await governed(context, () => assignOwners(store.sql, { assignments, source: 'import', by: userName() }));
    if (json) printJson({ assigned: assignments.length });
    else print(`Assigned owners to ${assignments.length} keys from ${file}.`);
    return exitCode.done;
  }, storeOnly);
}

const rowSchema = z.strictObject({
  key_id: z.string().min(1, 'key_id is empty'),
  owner: z.string(),
  scope: z.string().optional(),
});

interface Row extends z.output<typeof rowSchema> {
  line: number;
}

function readRows(file: string): Row[] {
  try {
    const records: unknown = parse(readFileSync(file, 'utf8'), { columns: true, trim: true, bom: true, info: true });
    return z
      .array(z.object({ record: z.unknown(), info: z.object({ lines: z.int() }) }))
      .parse(records)
      .map(({ record, info }) => readRow(file, record, info.lines));
  } catch (error) {
    if (error instanceof CsvError) throw usageError(`${file} is not valid CSV: ${error.message}.`);
    if (['ENOENT', 'EACCES', 'EISDIR'].includes(codeOf(error)))
      throw usageError(`${file} cannot be read (${codeOf(error)}); specify a CSV file.`);
    throw error;
  }
}

function readRow(file: string, record: unknown, line: number): Row {
  const parsed = rowSchema.safeParse(record);
  if (parsed.success) return { ...parsed.data, line };
  const [issue] = parsed.error.issues;
  throw usageError(
    `${file}, line ${line}: ${issue?.path.join('.') || 'the columns'}: ${issue?.message}; its columns are key_id, owner and, if needed, scope.`,
  );
}

/** Throws if two rows assign the same key, since either could be the intended one. */
function refuseTwice(rows: Row[], assignments: Assignment[]): void {
  const lines = new Map<string, number>();
  for (const [index, { key }] of assignments.entries()) {
    const line = rows[index]?.line ?? 0;
    const before = lines.get(key);
    if (before !== undefined) throw usageError(`Lines ${before} and ${line} name the same key; keep one of them.`);
    lines.set(key, line);
  }
}

function toAssignment({ key_id: id, owner, scope, line }: Row, findKey: (name: string) => NamedKey): Assignment {
  const name = scope === undefined || scope === '' ? id : `${scope}/${id}`;
  try {
    return { key: findKey(name).number, owner: owner === '' ? null : owner };
  } catch (error) {
    throw usageError(`Line ${line}: ${error instanceof Error ? error.message : ''}`);
  }
}
