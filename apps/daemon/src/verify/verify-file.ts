import { closeSync, openSync, readFileSync, readSync, statSync } from 'node:fs';
import { isRecordedAtItsTime, type ProvenEvent } from '@keywarden/core/ledger';
import { codeOf, usageError } from '@keywarden/runtime';
import { type Archive, openArchive } from './archive.ts';
import type { Beside } from './copy-readers.ts';
import { verifyEvidence } from './evidence-pack.ts';
import { parseOnce } from './json.ts';
import { verifyCopy } from './ledger-copy.ts';
import { verifyOperations } from './operations-pack.ts';
import {
  type ArchiveResult,
  damageInWords,
  type Judge,
  judgeReceipt,
  missingWitnesses,
  type Result,
  wrong,
} from './verdict.ts';

/** No receipt is as long; a longer file is not read. */
const longestReceipt = 1_000_000;

/**
 * Checks files and folders, in their order. Everything that is beside a copy of a whole ledger is compared with that copy too. Throws a UserError if one can be
 * none of the kinds that are checked.
 */
export async function verifyFiles(files: string[], judge: Judge): Promise<{ file: string; result: Result }[]> {
  const results = new Map<string, Result>();
  for (const file of files) if (sizeOf(file) !== 'folder') results.set(file, await verifyFile(file, judge));
  const beside = [...results].flatMap(([file, result]) => besideOf(file, result) ?? []);
  for (const file of files)
    if (!results.has(file))
      results.set(file, {
        kind: 'archive',
        verdict: verifyCopy(file, judge, beside),
        head: null,
        seals: new Map(),
      });
  return files.flatMap((file) => {
    const result = results.get(file);
    return result === undefined ? [] : [{ file, result }];
  });
}

function besideOf(file: string, result: Result): Beside | null {
  if (result.kind === 'archive') {
    const { head, seals, events, sealedDays } = result;
    return head === null ? null : { file, head, seals, events, sealedDays };
  }
  return typeof result.event === 'string' ? null : { file, head: result.event, seals: new Map() };
}

async function verifyFile(file: string, judge: Judge): Promise<Result> {
  const start = readStart(file);
  if (start.startsWith('PK')) return await verifyArchive(file, judge);
  if (/^[{[]|^"?id"?,/.test(start))
    throw usageError(
      `${file} is an export without receipts; the route /v1/exports/sealed-operations gives operations with theirs.`,
    );
  const event = judgeReceipt(readReceipt(file), judge);
  const unproven =
    typeof event === 'string' ? [] : [...missingWitnesses(event.witnesses, judge.keys), ...lateness(event)];
  return { kind: 'receipt', event, unproven };
}

async function verifyArchive(file: string, judge: Judge): Promise<ArchiveResult> {
  let archive: Archive | undefined;
  try {
    archive = await openArchive(file);
    const manifest = parseOnce(await archive.text('manifest.json'));
    const isSealed = typeof manifest === 'object' && manifest !== null && 'kind' in manifest;
    return await (isSealed ? verifyOperations : verifyEvidence)(archive, manifest, judge);
  } catch (error) {
    return { kind: 'archive', verdict: wrong(damageInWords(error)), head: null, seals: new Map() };
  } finally {
    archive?.close();
  }
}

/** A later event of a row has the time of the row, and a receipt does not show whether an earlier one recorded it in time. */
const lateness = (event: ProvenEvent): string[] =>
  isRecordedAtItsTime(event) ? [] : ['its time: it was not recorded within an hour of it'];

function sizeOf(file: string): number | 'folder' {
  try {
    const found = statSync(file);
    return found.isDirectory() ? 'folder' : found.size;
  } catch (error) {
    throw usageError(
      `${file} cannot be read (${codeOf(error)}); name a receipt, an archive, or the folder of a copy of the ledger.`,
    );
  }
}

function readStart(file: string): string {
  const opened = openSync(file, 'r');
  try {
    const bytes = Buffer.alloc(16);
    return bytes.subarray(0, readSync(opened, bytes)).toString('latin1');
  } finally {
    closeSync(opened);
  }
}

function readReceipt(file: string): string {
  if (Number(sizeOf(file)) > longestReceipt)
    throw usageError(`${file} is no archive, and larger than a receipt can be; name a receipt.`);
  return readFileSync(file, 'utf8');
}
