import { setTimeout } from 'node:timers/promises';
import { exitCode, print, printableCell, readEnvironment, stopSignal, usageError } from '@keywarden/runtime';
import { copyLedger, isProven } from '../verify/copy-ledger.ts';
import type { OutputOptions } from './output.ts';
import { printJson } from './session.ts';
import { readVerifier, verdictInWords } from './verify.ts';

/** Downloads the ledger of a report into a folder and verifies it, without a store. Exits with 3 if something is not proven. */
export async function copyLedgerCommand(
  report: string,
  folder: string,
  { key, json }: OutputOptions & { key: string[] },
): Promise<number> {
  const { AUDITOR_TOKEN: token } = readEnvironment(process.env);
  if (token === undefined) throw usageError('Set AUDITOR_TOKEN to a token of role auditor of that report.');
  const sleep = async (ms: number, signal: AbortSignal) => await setTimeout(ms, undefined, { signal });
  const source = { report, token, fetch, sleep, signal: stopSignal() };
  const copy = await copyLedger(source, folder, { keys: key.map(readVerifier), nowMs: Date.now() });
  if (json) printJson({ is_proven: isProven(copy), ...copy });
  else print(`${printableCell(folder)}, ${copy.added} events new: ${verdictInWords(copy.verdict)}`);
  return isProven(copy) ? exitCode.done : exitCode.needsPerson;
}
