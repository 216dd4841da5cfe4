import { closeSync, createReadStream, openSync, readFileSync, readSync, statSync } from 'node:fs';
import { isRecordedAtItsTime, type ProvenEvent, type Verifier } from '@keywarden/core/ledger';
import { codeOf, usageError } from '@keywarden/runtime';
import { type Archive, hashStream, openArchive } from './archive.ts';
import { readHead, verifyCopy } from './copy/ledger-copy.ts';
import type { Beside } from './copy/readers.ts';
import { textOf } from './evidence/events.ts';
import { verifyEvidence } from './evidence/pack.ts';
import { parseOnce } from './json.ts';
import { verifyOperations } from './operations-pack.ts';
import {
  type ArchiveResult,
  addSentence,
  checkReceipt,
  damageInWords,
  missingWitnesses,
  type ReceiptResult,
  type Result,
  type VerifyOptions,
  withoutHead,
  wrong,
} from './verdict.ts';

/** No receipt is longer, with the largest policy that a report accepts; a longer file is not read. */
const longestReceipt = 64_000_000;

/**
 * Checks files and folders, in their order. A file beside the receipt of its export is compared with that, and everything beside a copy of a whole ledger with
 * the copy too. Throws a UserError if one can be none of the kinds that are checked.
 */
export async function verifyFiles(
  files: string[],
  options: VerifyOptions,
): Promise<{ file: string; result: Result }[]> {
  assertOtherWitnesses(options.keys);
  const results = new Map<string, Result>();
  const kinds = new Map(files.map((file) => [file, kindOf(file)]));
  const ofKind = (...wanted: (string | undefined)[]) => files.filter((file) => wanted.includes(kinds.get(file)));
  for (const file of ofKind('receipt')) results.set(file, verifyReceipt(file, options));
  const exports = [...results.values()].flatMap(exportOf);
  const used = new Set<ProvenEvent>();
  const others = ofKind('archive', 'rows', 'other');
  for (const file of others) {
    const hash = exports.length > 0 ? await hashStream(createReadStream(file)) : '';
    const exported = exports.filter(({ event }) => event.content.sha256 === hash).map(({ event }) => event);
    for (const event of exported) used.add(event);
    if (kinds.get(file) === 'archive') results.set(file, addExport(await verifyArchive(file, options), exported));
    else if (exported[0] !== undefined) results.set(file, verdictOfExport(exported[0]));
    else if (kinds.get(file) === 'rows' && ofKind('receipt').length === 0)
      throw usageError(
        `${file} is an export without receipts; name the receipt of this export beside it (/v1/exports/SHA256/receipt), or use /v1/exports/sealed-operations, which gives operations with theirs.`,
      );
    else if (kinds.get(file) === 'rows' || exports.length > 0) results.set(file, withoutHead(wrong(isNotExported)));
    else results.set(file, verifyReceipt(file, options));
  }
  for (const { event, unproven } of exports)
    if (others.length > 0 && !used.has(event)) unproven.push('that a file beside it is the one that was exported');
  const beside = [...results].flatMap(([file, result]) => besideOf(file, result) ?? []);
  const copies = ofKind('folder').flatMap((file): Beside[] => {
    const head = readHead(file, options);
    return head === null ? [] : [{ file, head, seals: new Map() }];
  });
  for (const file of ofKind('folder')) {
    const own = copies.find((each) => each.file === file)?.head;
    const smaller = copies.filter(
      ({ file: other, head }) => other !== file && own !== undefined && head.size <= own.size,
    );
    results.set(file, verifyCopy(file, options, [...beside, ...smaller]));
  }
  if (results.size > 1) addForks(results);
  const inOrder = files.flatMap((file) => {
    const result = results.get(file);
    return result === undefined ? [] : [{ file, result }];
  });
  addOtherLedgers(inOrder);
  return inOrder;
}

/**
 * Throws a UserError for a witness that has the key of a ledger, whose signer could cosign it, too, or the key of a witness of another name: a cosignature with
 * Ed25519 is that of any name.
 */
function assertOtherWitnesses(keys: Verifier[]): void {
  for (const { kind, name, id, publicKey } of keys.filter((key) => key.kind === 'witness')) {
    const other = keys.find((key) => (key.kind !== kind || key.name !== name) && key.publicKey.equals(publicKey));
    if (other === undefined) continue;
    const whose = other.kind === 'log' ? 'the ledger itself' : `the witness ${other.name}`;
    throw usageError(`The witness ${name} ${id} has the key of ${whose}; name the witness's own key.`);
  }
}

/** Looks for two trees of one size, and for two events at one place of a ledger, in different files: the key of the ledger has signed two histories. */
function addForks(results: Map<string, Result>): void {
  const seen = new Map<string, { value: string; file: string }>();
  const isOther = (file: string, what: string, value: string): string | null => {
    const before = seen.get(what) ?? { value, file };
    seen.set(what, before);
    return before.value === value ? null : before.file;
  };
  for (const [file, result] of results) {
    const { head, leaves } = treeOf(result);
    if (head === null) continue;
    const { origin, size, root } = head;
    let other = isOther(file, `${size} events of ${origin}`, root);
    for (const [index, leaf] of leaves ?? []) other ??= isOther(file, `event ${index} of ${origin}`, leaf);
    if (other === null) continue;
    const why = `it is of another history of ${origin} than ${other}: the key of this ledger has signed both`;
    if (result.kind === 'archive') addSentence(result.verdict.wrong, why);
    else result.event = why;
  }
}

/** Names the files of another ledger than the first one: a ledger that began anew does not continue the former one. */
function addOtherLedgers(results: { file: string; result: Result }[]): void {
  let first: { file: string; origin: string } | null = null;
  for (const { file, result } of results) {
    const { head } = treeOf(result);
    if (head === null) continue;
    first ??= { file, origin: head.origin };
    if (head.origin === first.origin) continue;
    const { unproven } = result.kind === 'archive' ? result.verdict : result;
    addSentence(unproven, `it is of the ledger ${head.origin}, and ${first.file} is of another one, ${first.origin}`);
  }
}

/** Returns the tree that a file is of, and what the file proves of it; of a receipt, the leaf of its event. */
function treeOf(result: Result): Omit<ArchiveResult, 'kind' | 'verdict' | 'computed'> {
  if (result.kind === 'archive') return result;
  const { event } = result;
  if (typeof event === 'string') return { head: null, seals: new Map() };
  return { head: event, leaves: new Map([[event.index, event.leaf]]), seals: new Map() };
}

function kindOf(file: string): 'folder' | 'archive' | 'receipt' | 'rows' | 'other' {
  const found = fromDisk(file, () => statSync(file));
  if (found.isDirectory()) return 'folder';
  if (!found.isFile())
    throw usageError(`${file} is no file; name a receipt, an archive, or the folder of a copy of the ledger.`);
  const start = fromDisk(file, () => readStart(file));
  if (start.startsWith('PK')) return 'archive';
  if (start.startsWith('c2sp.org/')) return 'receipt';
  return /^[{[]|^"?[a-z_]+"?,/.test(start) ? 'rows' : 'other';
}

const isNotExported =
  'no proven receipt beside it is of this file: it was changed, cut or compressed, is another export, or its receipt is damaged';

/** Returns the event of a file's export with what is not proven of it, if a receipt is of one. */
function exportOf(result: Result): { event: ProvenEvent; unproven: string[] }[] {
  if (result.kind !== 'receipt' || typeof result.event === 'string') return [];
  const { event, unproven } = result;
  return event.type === 'export.completed' ? [{ event, unproven }] : [];
}

/** The time is that of the recording: a row can have another one. */
const inWords = ({ origin, recorded }: ProvenEvent) =>
  `it is the file that the report of ${origin} exported, as recorded at ${recorded}`;

/** Adds what the receipts of an archive's export prove beside its own receipts. Only one of the same ledger proves what these do not. */
function addExport({ computed = [], ...result }: ArchiveResult, receipts: ProvenEvent[]): ArchiveResult {
  const { proven, unproven } = result.verdict;
  const { head } = result;
  const own = receipts.find(({ origin }) => origin === head?.origin);
  if (own !== undefined && head !== null && own.index < head.size) {
    const why = `its export is event ${own.index} of ${own.origin}, and no file can have been exported before the ${head.size} events that it is about`;
    result.verdict.wrong.push(why);
  }
  const exported = own ?? receipts[0];
  if (exported !== undefined) proven.push(inWords(exported));
  if (own === undefined) unproven.push(...computed);
  else if (computed.length > 0)
    proven.push('what the ledger has no events about is what the report computed for that export');
  if (exported !== undefined && own === undefined)
    unproven.push(`that this export is of the ledger of the archive: its receipt is of ${exported.origin}`);
  return result;
}

function verdictOfExport(exported: ProvenEvent): ArchiveResult {
  const records = `${textOf(exported.content.records)} records of ${textOf(exported.content.path)}`;
  const scope = 'the ledger does not have its filters, or which organizations its token saw';
  const verdict = { proven: [`${inWords(exported)}, with ${records}; ${scope}`], unproven: [], wrong: [] };
  return { ...withoutHead(verdict), head: exported };
}

function besideOf(file: string, result: Result): Beside | null {
  const { head, seals, events, sealedDays, leaves } = treeOf(result);
  return head === null ? null : { file, head, seals, events, sealedDays, leaves };
}

function verifyReceipt(file: string, options: VerifyOptions): ReceiptResult {
  const receipt = readReceipt(file);
  const event =
    receipt === null ? 'it is no archive, and larger than a receipt can be' : checkReceipt(receipt, options);
  const unproven =
    typeof event === 'string' ? [] : [...missingWitnesses(event.witnesses, options.keys), ...lateness(event)];
  return { kind: 'receipt', event, unproven };
}

async function verifyArchive(file: string, options: VerifyOptions): Promise<ArchiveResult> {
  let archive: Archive | undefined;
  try {
    archive = await openArchive(file);
    const manifest = parseOnce(await archive.text('manifest.json'));
    const isSealed = typeof manifest === 'object' && manifest !== null && 'kind' in manifest;
    return await (isSealed ? verifyOperations : verifyEvidence)(archive, manifest, options);
  } catch (error) {
    return withoutHead(wrong(damageInWords(error)));
  } finally {
    archive?.close();
  }
}

/** A later event of a row has the time of the row, and a receipt does not show whether an earlier one recorded it in time. */
const lateness = (event: ProvenEvent): string[] =>
  isRecordedAtItsTime(event) ? [] : ['its time: it was not recorded within an hour of it'];

/** Returns what is read of a file. Throws a UserError if the system does not allow that. */
function fromDisk<T>(file: string, read: () => T): T {
  try {
    return read();
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

/** Returns null for a file that is too long. */
function readReceipt(file: string): string | null {
  return fromDisk(file, () => (statSync(file).size > longestReceipt ? null : readFileSync(file, 'utf8')));
}
