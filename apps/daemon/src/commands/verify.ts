import { systemTime } from '@keywarden/core/client';
import { type ProvenEvent, parseVerifier, type Verifier } from '@keywarden/core/ledger';
import { countOf } from '@keywarden/core/values';
import { exitCode, printableCell, readEnvironment, stopSignal, usageError } from '@keywarden/runtime';
import { copyLedger } from '../verify/copy/copy-ledger.ts';
import { instantOf, type ReceiptResult, type Result, rankOf, rankOfVerdict, type Verdict } from '../verify/verdict.ts';
import { verifyFiles } from '../verify/verify-file.ts';
import { describeCommand } from './command.ts';

export const verifyCommand = describeCommand({
  name: 'verify',
  about: 'Check receipts, exported files and copies of a ledger offline, with its public key',
  arguments: [
    [
      '<file...>',
      'receipts, archives of evidence or of operations, exports beside their receipts, folders with a copy of the ledger',
    ],
  ],
  required: { '--key <key...>': 'public keys of the ledger and of its witnesses' },
  output: 'result',
  examples: [
    'approval.tlog-proof --key keywarden/0123456789ab+01234567+AQ==...',
    'keywarden-operations-all-2026-01-01-2026-03-31.zip --key keywarden/0123456789ab+01234567+AQ==...',
    'export.tlog-proof keywarden-keys.csv --key keywarden/0123456789ab+01234567+AQ==...',
  ],
  needsPerson: 'something is not proven: a gap, a day without a seal, or personal data that is not shown',
  async run(files, { key }) {
    const options = { keys: key.map(readVerifier), nowMs: Date.now() };
    const results = await verifyFiles(files, options);
    const worst = Math.max(...results.map(({ result }) => rankOf(result)));
    return {
      json: results.map(({ file, result }) => ({ file, ...asJson(result) })),
      text: results.map(({ file, result }) => `${printableCell(file)}: ${inWords(result)}`).join('\n\n'),
      code: worst === 2 ? exitCode.failed : worst === 1 ? exitCode.needsPerson : exitCode.done,
    };
  },
});

export const copyLedgerCommand = describeCommand({
  name: 'copy-ledger',
  about: 'Download the ledger of a report into a folder, or continue a copy, and verify it',
  arguments: [
    ['<report>', 'the address of a report, for which AUDITOR_TOKEN is a token of role auditor'],
    ['<folder>', 'a new folder, or one with an earlier copy'],
  ],
  required: { '--key <key...>': 'public keys of the ledger and of its witnesses' },
  output: 'result',
  examples: ['https://keywarden.example ledger --key keywarden/0123456789ab+01234567+AQ==...'],
  needsPerson: 'something is not proven: a witness has not cosigned, or the folder has other files',
  async run(report, folder, { key }) {
    const { AUDITOR_TOKEN: token } = readEnvironment(process.env);
    if (token === undefined) throw usageError('Set AUDITOR_TOKEN to a token of role auditor of that report.');
    const source = { report, token, fetch, sleep: systemTime.sleep, signal: stopSignal() };
    const copy = await copyLedger(source, folder, { keys: key.map(readVerifier), nowMs: Date.now() });
    const isProven = rankOfVerdict(copy.verdict) === 0;
    return {
      json: { is_proven: isProven, ...copy },
      text: `${printableCell(folder)}, ${countOf(copy.added, 'new event')}: ${verdictInWords(copy.verdict)}`,
      needsPerson: !isProven,
    };
  },
});

function asJson(result: Result): object {
  if (result.kind === 'archive') return { is_proven: rankOf(result) === 0, ...result.verdict };
  const { event, unproven } = result;
  return typeof event === 'string'
    ? { is_proven: false, proven: false, why: event }
    : { is_proven: rankOf(result) === 0, proven: true, ...event, unproven };
}

function readVerifier(text: string): Verifier {
  const verifier = parseVerifier(text);
  if (verifier === null)
    throw usageError(`"${text}" is no public key of a ledger or witness; keywarden ledger prints the key.`);
  return verifier;
}

function inWords(result: Result): string {
  if (result.kind === 'receipt')
    return typeof result.event === 'string'
      ? `NOT PROVEN: ${printableCell(result.event)}.`
      : eventInWords(result.event, result);
  return verdictInWords(result.verdict);
}

/** Returns a verdict as text: each sentence once, with how often it was found. */
export function verdictInWords(verdict: Verdict): string {
  const { proven, unproven, wrong: mistakes } = verdict;
  const lines = (heading: string, sentences: string[]) => {
    const all = counted(sentences);
    return all.length === 0
      ? []
      : [heading, ...all.slice(0, mostShown).map((each) => `  ${printableCell(each)}`), ...more(all)];
  };
  return [
    proven.length === 0 && mistakes.length === 0 ? 'not proven.' : headings[rankOfVerdict(verdict)],
    ...lines('Contradicts the ledger:', mistakes),
    ...lines('Proven:', proven),
    ...lines('Not proven:', unproven),
  ].join('\n');
}

/** A wrong key gives the same sentence for each line of an archive. */
const counted = (sentences: string[]) =>
  [...Map.groupBy(sentences, (each) => each)].map(([each, { length }]) =>
    length === 1 ? each : `${each} (${countOf(length, 'time')})`,
  );

const headings = ['proven.', 'proven in part.', 'NOT PROVEN.'] as const;
const mostShown = 50;
const more = (all: string[]) =>
  all.length > mostShown ? [`  and ${all.length - mostShown} more (--json has all)`] : [];

function eventInWords(event: ProvenEvent, result: ReceiptResult): string {
  const { unproven } = result;
  const { type, subject, at, recorded, content, personal, hidden, index, size, origin, witnesses } = event;
  const values = Object.entries(content).flatMap(([name, value]) =>
    value === null || typeof value === 'string' ? [`${name}: ${value ?? 'none'}`] : [],
  );
  const lines = [
    `${type} of ${subject} is event ${index}, counted from 0, of the ${size} in the ledger ${origin}.`,
    `The database recorded it at ${recorded}, by its own clock. Its row says that it was at ${at}.`,
    ...values,
    ...Object.entries(personal).map(([name, value]) => `${name}: ${value}`),
    ...hidden.map((name) => `${name}: not shown; only its salted hash is proven`),
    ...(witnesses.length === 0
      ? ['No witness of the given keys has cosigned: the ledger’s own key is the only proof of the time.']
      : witnesses.map(({ name, time }) => `Cosigned by ${name} at ${instantOf(time)}.`)),
    ...unproven.map((each) => `Not proven: ${each}.`),
  ];
  // A text may have lines that look like ours.
  return [headings[rankOf(result)], ...lines.map((line) => `  ${printableCell(line)}`)].join('\n');
}
