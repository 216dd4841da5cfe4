import { createHash } from 'node:crypto';
import { csvCell, writeCsv } from '@keywarden/runtime';
import type { Archive } from '../archive.ts';
import { parseOnce } from '../json.ts';
import { addSentence, type Verdict } from '../verdict.ts';

// The CSV files of an evidence archive, compared with the tables that they repeat.

/** Rows that are written at once, and the length of their lines after which they are. */
const batch = 500;
const longestBatch = 1_000_000;

interface HashedFile {
  file: string;
  sha256: string;
}

/** Compares each CSV file with the table beside it, of the same name. Returns the files that have exactly its rows; those of other files are wrong. */
export async function compareCsvFiles(archive: Archive, listed: HashedFile[], verdict: Verdict): Promise<Set<string>> {
  const same = new Set<string>();
  for (const { file, sha256 } of listed) {
    const table = file.replace(/\.csv$/, '.ndjson');
    if (table === file || !listed.some((each) => each.file === table)) continue;
    if ((await hashAsCsv(archive, { table, csv: file })) === sha256) same.add(file);
    else addSentence(verdict.wrong, `${file} does not have the rows of ${table}`);
  }
  if (same.size > 0) verdict.proven.push(`${same.size} CSV files have exactly the rows of the tables beside them`);
  return same;
}

/** Returns the SHA-256 of a table written as CSV, with the columns of a CSV file; null if these lack a field of a row. */
async function hashAsCsv(archive: Archive, { table, csv }: { table: string; csv: string }): Promise<string | null> {
  let columns: string[] | undefined;
  await archive.eachLine(csv, (line) => {
    columns ??= line.trimEnd().split(',');
  });
  const names = columns ?? [];
  const hash = createHash('sha256').update(writeCsv([names]));
  let isWhole = true;
  let rows: ReturnType<typeof csvCell>[][] = [];
  let length = 0;
  const flush = () => {
    if (rows.length > 0) hash.update(writeCsv(rows));
    [rows, length] = [[], 0];
  };
  await archive.eachLine(table, (line) => {
    const cells = new Map<string, ReturnType<typeof csvCell>>();
    isWhole &&= addCells(cells, { value: parseOnce(line), prefix: '', names });
    rows.push(names.map((name) => cells.get(name) ?? null));
    length += line.length;
    if (rows.length === batch || length > longestBatch) flush();
  });
  flush();
  return isWhole ? hash.digest('hex') : null;
}

interface Nested {
  value: unknown;
  /** The names of the objects around it, as columns have them. */
  prefix: string;
  names: string[];
}

/** Adds the cell of each field of an object. Those of a nested object have its name before theirs. Returns false if no column is that of a field, or of two. */
function addCells(cells: Map<string, ReturnType<typeof csvCell>>, { value, prefix, names }: Nested): boolean {
  return Object.entries(value ?? {}).every(([name, field]: [string, unknown]) => {
    const column = `${prefix}${name}`;
    if (names.includes(column)) {
      if (cells.has(column)) return false;
      cells.set(column, csvCell(field));
      return true;
    }
    if (field !== null && typeof field !== 'object') return false;
    const isNested = names.some((each) => each.startsWith(`${column}_`));
    return isNested && addCells(cells, { value: field, prefix: `${column}_`, names });
  });
}
