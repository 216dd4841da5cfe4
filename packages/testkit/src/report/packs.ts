import { createHash } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseVerifier } from '@keywarden/core/ledger';
import { copyLedger as copyLedgerOf, rankOf, verifyFiles } from '@keywarden/daemon';
import { csvCell, writeCsv } from '@keywarden/runtime';
import { strFromU8, strToU8, unzipSync, zipSync } from 'fflate';
import type { Fixture } from './fixture.ts';

/** The files of an archive, as texts. */
export type Files = Record<string, string>;

/** Downloads an archive of the report. */
export async function download({ app, tokens }: Fixture, path: string): Promise<Uint8Array> {
  const response = await app.request(path, { headers: { authorization: `Bearer ${tokens.auditor}` } });
  if (response.status !== 200) throw new Error(`${path} answered ${response.status}: ${await response.text()}`);
  return new Uint8Array(await response.arrayBuffer());
}

export const unpack = (bytes: Uint8Array): Files =>
  Object.fromEntries(Object.entries(unzipSync(bytes)).map(([name, file]) => [name, strFromU8(file)]));

export const pack = (files: Files): Uint8Array =>
  zipSync(Object.fromEntries(Object.entries(files).map(([name, text]) => [name, strToU8(text)])));

export const linesOf = (text: string) => text.split('\n').filter((line) => line !== '');

interface Part {
  file: string;
}

/** Writes what the files are into the manifest of an archive of operations, as somebody who forges it does. */
export function amend(files: Files): Files {
  const manifest = JSON.parse(files['manifest.json'] ?? '') as {
    retention: Part;
    projects: { seals: Part; operations: Part }[];
  };
  const describe = ({ file }: Part) => {
    const text = files[file] ?? '';
    return { file, records: linesOf(text).length, sha256: createHash('sha256').update(text).digest('hex') };
  };
  const amended = {
    ...manifest,
    retention: describe(manifest.retention),
    projects: manifest.projects.map((each) => ({
      ...each,
      seals: describe(each.seals),
      operations: describe(each.operations),
    })),
  };
  return { ...files, 'manifest.json': `${JSON.stringify(amended, null, 2)}\n` };
}

/** Changes the file whose name matches. Throws an Error if nothing changed. */
export function change(files: Files, name: RegExp, edit: (text: string) => string): Files {
  const found = Object.keys(files).find((each) => name.test(each)) ?? '';
  const edited = edit(files[found] ?? '');
  if (edited === files[found]) throw new Error(`${found} did not change`);
  return { ...files, [found]: edited };
}

export const editLines = (edit: (lines: string[]) => string[]) => (text: string) =>
  edit(linesOf(text))
    .map((line) => `${line}\n`)
    .join('');

/** Edits each row of a table. */
export const editRows = (edit: (row: Record<string, unknown>) => object) =>
  editLines((lines) => lines.map((line) => JSON.stringify(edit(JSON.parse(line) as Record<string, unknown>))));

/** Edits a file of an evidence archive, each copy of it, the CSV files beside these, and their hashes in the manifest, as somebody who forges it does. */
export const forge = (name: RegExp, edit: (text: string) => string) => (files: Files) => {
  const [found = '', text = ''] = Object.entries(files).find(([each]) => name.test(each)) ?? [];
  return replaceFiles(files, (file) => (files[file] === text ? editOf(found, text, edit) : null));
};

/** Edits one file of an evidence archive, the CSV file beside it, and their hashes in the manifest; other files with the same text stay. */
export const forgeOne = (name: RegExp, edit: (text: string) => string) => (files: Files) => {
  const [found = '', text = ''] = Object.entries(files).find(([each]) => name.test(each)) ?? [];
  return replaceFiles(files, (file) => (file === found ? editOf(found, text, edit) : null));
};

function editOf(file: string, text: string, edit: (text: string) => string): string {
  const edited = edit(text);
  if (edited === text) throw new Error(`${file} did not change`);
  return edited;
}

/** Replaces files by their new texts, and describes them in the manifest. */
function replaceFiles(files: Files, textOf: (file: string) => string | null): Files {
  const replaced = new Map<string, string>();
  for (const file of Object.keys(files)) {
    const text = textOf(file);
    if (text === null) continue;
    replaced.set(file, text);
    const csv = file.replace(/\.ndjson$/, '.csv');
    if (csv !== file && files[csv] !== undefined) replaced.set(csv, csvOf(files[csv], text));
  }
  const manifest: unknown = JSON.parse(files['manifest.json'] ?? '', (_key, value: { file?: string } | null) => {
    const text = replaced.get(value?.file ?? '');
    return text === undefined ? value : { ...value, sha256: createHash('sha256').update(text).digest('hex') };
  });
  return { ...files, ...Object.fromEntries(replaced), 'manifest.json': JSON.stringify(manifest) };
}

/** Returns a table as CSV with the columns of a former file; that file if the table has another form. */
function csvOf(former: string, table: string): string {
  const names = (former.split('\r\n')[0] ?? '').split(',');
  try {
    const rows = linesOf(table).map((line) => names.map((name) => csvCell(valueAt(JSON.parse(line), name))));
    return writeCsv([names, ...rows]);
  } catch {
    return former;
  }
}

/** Returns the value of a column: a field, or one of a nested object, whose name comes before it. */
function valueAt(value: unknown, name: string): unknown {
  const fields = Object.entries(value ?? {});
  const [outer, inner] = fields.find(([field]) => field === name || name.startsWith(`${field}_`)) ?? [];
  return outer === undefined || outer === name ? inner : valueAt(inner, name.slice(outer.length + 1));
}

/** Leaves files out of an evidence archive and its manifest. */
export function leaveOutFiles(files: Files, name: RegExp): Files {
  const manifest = JSON.parse(files['manifest.json'] ?? '') as {
    files: { file: string }[];
    attachments: { file: string }[];
  };
  const isKept = ({ file }: { file: string }) => !name.test(file);
  const kept = Object.entries(files).filter(([file]) => isKept({ file: file.replace(/\.csv$/, '.ndjson') }));
  const left = { ...manifest, files: manifest.files.filter(isKept), attachments: manifest.attachments.filter(isKept) };
  return { ...Object.fromEntries(kept), 'manifest.json': JSON.stringify(left) };
}

/** Writes a file and verifies it. Returns 0 if everything is proven, 1 if not, 2 if something is wrong; and what was found, in words. */
export async function verifyBytes(
  folder: string,
  bytes: Uint8Array | string,
  publicKey: string,
  nowMs = Date.now(),
): Promise<{ rank: number; words: string }> {
  const file = join(folder, 'given');
  writeFileSync(file, bytes);
  return await verifyPath(file, publicKey, nowMs);
}

export async function verifyPath(file: string, publicKey: string, nowMs = Date.now()) {
  const [result] = await verifyTogether([file], [publicKey], nowMs);
  if (result === undefined) throw new Error('there is no result');
  return result;
}

/** Verifies files and folders together, in their order. */
export async function verifyTogether(files: string[], publicKeys: string[], nowMs = Date.now()) {
  const keys = publicKeys.flatMap((text) => parseVerifier(text) ?? []);
  const results = await verifyFiles(files, { keys, nowMs });
  return results.map(({ result }) => ({ rank: rankOf(result), words: JSON.stringify(result) }));
}

/** Downloads the whole ledger as its routes serve it, into a folder. */
export async function copyLedger({ app, tokens, ledger }: Fixture, folder: string): Promise<void> {
  await copyLedgerOf(
    {
      report: 'http://127.0.0.1',
      token: tokens.auditor ?? '',
      fetch: async (url, init) => await app.request(url, init),
      sleep: () => Promise.resolve(),
      signal: new AbortController().signal,
    },
    folder,
    { keys: [ledger.publicKey].flatMap((text) => parseVerifier(text) ?? []), nowMs: Date.now() },
  );
}
