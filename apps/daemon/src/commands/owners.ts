import { readFileSync } from 'node:fs';
import { countOf } from '@keywarden/core/values';
import { type Assignment, assignOwners, listLiveKeys, type NamedKey } from '@keywarden/db/daemon';
import { codeOf, usageError } from '@keywarden/runtime';
import { CsvError, parse } from 'csv-parse/sync';
import { z } from 'zod';
import { betweenMarks } from '../enforce/high-water-mark.ts';
import { makeKeyFinder } from './choose-keys.ts';
import { describeCommand } from './command.ts';
import { userName } from './common.ts';
import { storeOnly, withContext } from './with-context.ts';

export const ownerSetCommand = describeCommand({
  name: 'owner set',
  about: 'Assign an owner to one key',
  arguments: [['<key>', 'the id of the key']],
  options: { '--owner <name>': 'an email address or a name; the default is the creator of the key' },
  output: 'result',
  examples: ['1234567 --owner ada@example.com'],
  needs: storeOnly,
  async run(context, key, { owner }) {
    const { store } = context;
    const { number, name } = makeKeyFinder(await listLiveKeys(store.db, { withOthers: true }))(key);
    const assignments = [{ key: number, owner: owner ?? null }];
    await betweenMarks(context, () => assignOwners(store.sql, { assignments, source: 'assignment', by: userName() }));
    return {
      json: { key_id: key, owner: owner ?? null },
      text: `The owner of key ${key} "${name}" is ${owner ?? 'its creator'}.`,
    };
  },
});

export const ownerImportCommand = describeCommand({
  name: 'owner import',
  about: 'Assign the owners in a CSV file with the columns key_id and owner: all of them, or none',
  arguments: [['<file>', 'the CSV file']],
  output: 'result',
  examples: ['owners.csv'],
  async run(file) {
    const rows = readRows(file);
    if (rows.length === 0) throw usageError(`${file} has no rows; it needs the columns key_id and owner.`);
    return await withContext(async (context) => {
      const { store } = context;
      const findKey = makeKeyFinder(await listLiveKeys(store.db, { withOthers: true }));
      const assignments = rows.map((row) => toAssignment(row, findKey));
      refuseTwice(rows, assignments);
      await betweenMarks(context, () => assignOwners(store.sql, { assignments, source: 'import', by: userName() }));
      const text = `Assigned owners to ${countOf(assignments.length, 'key')} from ${file}.`;
      return { json: { assigned: assignments.length }, text };
    }, storeOnly);
  },
});

const rowSchema = z.strictObject({
  key_id: z.string().min(1, 'key_id is empty'),
  owner: z.string().regex(/^\P{Cc}*$/u, 'owner has a control character'),
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
