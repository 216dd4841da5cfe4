import { readFileSync, statSync } from 'node:fs';
import { type ProvenEvent, parseVerifier, type Verifier, verifyReceipt } from '@keywarden/core/ledger';
import { codeOf, exitCode, print, printableCell, usageError } from '@keywarden/runtime';
import type { OutputOptions } from './output.ts';
import { printJson } from './session.ts';

/** No receipt is as long; a longer file is not read. */
const longestFile = 1_000_000;

/** Checks receipts with the public key of the ledger, without a store. Exits with 1 if one is not proven, and with 3 if one hides personal data. */
export function verifyCommand(files: string[], { key, json }: OutputOptions & { key: string[] }): number {
  const keys = key.map(readVerifier);
  const results = files.map((file) => ({ file, result: verifyReceipt(readReceipt(file), keys) }));
  if (json)
    printJson(
      results.map(({ file, result }) =>
        typeof result === 'string' ? { file, proven: false, why: result } : { file, proven: true, ...result },
      ),
    );
  else print(results.map(({ file, result }) => verdictInWords(file, result)).join('\n\n'));
  if (results.some(({ result }) => typeof result === 'string')) return exitCode.failed;
  return results.some(({ result }) => typeof result !== 'string' && result.hidden.length > 0)
    ? exitCode.needsPerson
    : exitCode.done;
}

function readVerifier(text: string): Verifier {
  const verifier = parseVerifier(text);
  if (verifier === null)
    throw usageError(`"${text}" is no public key of a ledger or witness; keywarden ledger prints the key.`);
  return verifier;
}

function readReceipt(file: string): string {
  try {
    if (statSync(file).size > longestFile) throw usageError(`${file} is larger than a receipt can be; name a receipt.`);
    return readFileSync(file, 'utf8');
  } catch (error) {
    if (codeOf(error) === 'usage') throw error;
    throw usageError(`${file} cannot be read (${codeOf(error)}); name a receipt.`);
  }
}

function verdictInWords(file: string, result: ProvenEvent | string): string {
  if (typeof result === 'string') return `${printableCell(file)}: NOT PROVEN: ${result}.`;
  const { type, subject, at, recorded, content, personal, hidden, index, size, origin, witnesses } = result;
  // A text may have lines that look like ours.
  const values = Object.entries(content).flatMap(([name, value]) =>
    value === null || typeof value === 'string' ? [`  ${name}: ${value === null ? 'none' : printableCell(value)}`] : [],
  );
  return [
    `${printableCell(file)}: proven.`,
    `  ${type} of ${printableCell(subject)} is event ${index} of ${size} in the ledger ${origin}.`,
    `  It happened at ${at}, and the database recorded it at ${recorded}, by its own clock.`,
    ...values,
    ...Object.entries(personal).map(([name, value]) => `  ${name}: ${printableCell(value)}`),
    ...hidden.map((name) => `  ${name}: not shown; only its salted hash is proven`),
    witnesses.length === 0
      ? '  No witness has cosigned: the ledger’s own key is the only proof of the time.'
      : witnesses
          .map(({ name, time }) => `  Cosigned by ${name} at ${new Date(time * 1000).toISOString()}.`)
          .join('\n'),
  ].join('\n');
}
