import { closeSync, openSync, readFileSync, readSync, statSync } from 'node:fs';
import type { ProvenEvent } from '@keywarden/core/ledger';
import { codeOf, usageError } from '@keywarden/runtime';
import { openArchive } from './archive.ts';
import { verifyEvidence } from './evidence-pack.ts';
import { verifyCopy } from './ledger-copy.ts';
import { verifyOperations } from './operations-pack.ts';
import { type Judge, judgeReceipt, type Verdict, wrong } from './verdict.ts';

/** No receipt is as long; a longer file is not read. */
const longestReceipt = 1_000_000;

/** What a file proves: the event of a receipt (or why it proves none), or the findings in an archive or a copy of a ledger. */
export type Result = { kind: 'receipt'; event: ProvenEvent | string } | { kind: 'archive'; verdict: Verdict };

/** 0: everything is proven. 1: something is not. 2: something is wrong. */
export function rankOf(result: Result): 0 | 1 | 2 {
  if (result.kind === 'receipt') return typeof result.event === 'string' ? 2 : result.event.hidden.length > 0 ? 1 : 0;
  const { wrong: mistakes, unproven, proven } = result.verdict;
  return mistakes.length > 0 ? 2 : unproven.length > 0 || proven.length === 0 ? 1 : 0;
}

/** Checks one file or folder. Throws a UserError if it can be none of the kinds that are checked. */
export async function verifyFile(file: string, judge: Judge): Promise<Result> {
  if (sizeOf(file) === 'folder') return { kind: 'archive', verdict: verifyCopy(file, judge) };
  const start = readStart(file);
  if (start.startsWith('PK')) return { kind: 'archive', verdict: await verifyArchive(file, judge) };
  if (/^[{[]|^"?id"?,/.test(start))
    throw usageError(
      `${file} is an export without receipts; the route /v1/exports/sealed-operations gives operations with theirs.`,
    );
  return { kind: 'receipt', event: judgeReceipt(readReceipt(file), judge) };
}

async function verifyArchive(file: string, judge: Judge): Promise<Verdict> {
  const archive = await openArchive(file);
  try {
    const manifest = JSON.parse(await archive.text('manifest.json')) as unknown;
    const isSealed = typeof manifest === 'object' && manifest !== null && 'kind' in manifest;
    return await (isSealed ? verifyOperations : verifyEvidence)(archive, manifest, judge);
  } catch (error) {
    // Its reader says what is damaged.
    return wrong(error instanceof Error ? error.message : String(error));
  } finally {
    archive.close();
  }
}

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
