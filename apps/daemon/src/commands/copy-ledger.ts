import { setTimeout } from 'node:timers/promises';
import { exitCode, print, printableCell, readEnvironment, stopSignal, usageError } from '@keywarden/runtime';
import { copyLedger } from '../verify/copy-ledger.ts';
import type { OutputOptions } from './output.ts';
import { printJson } from './session.ts';

/** Downloads the ledger of a report into a folder, without a store. */
export async function copyLedgerCommand(report: string, folder: string, { json }: OutputOptions): Promise<number> {
  const { REPORT_TOKEN: token, ALLOW_HTTP: allowsHttp } = readEnvironment(process.env);
  if (token === undefined) throw usageError('Set REPORT_TOKEN to a token of role auditor of that report.');
  const copy = await copyLedger(
    {
      report,
      token,
      allowsHttp,
      fetch,
      sleep: async (ms, signal) => await setTimeout(ms, undefined, { signal }),
      signal: stopSignal(),
    },
    folder,
  );
  if (json) printJson(copy);
  else
    print(
      `${printableCell(folder)} has ${copy.size} events of ${printableCell(copy.origin)}, ${copy.added} of them new. Nothing is checked yet: pass the folder to keywarden verify.`,
    );
  return exitCode.done;
}
