import { before, compareInstants, countOf, dayMs, dayOf, isInstant, sha256 } from '@keywarden/core/values';
import { z } from 'zod';
import type { Archive } from '../archive.ts';
import { parseOnce } from '../json.ts';
import { createLateTimes } from '../late-times.ts';
import { checkVerifyPage } from '../operations-pack.ts';
import { readLine } from '../receipt-lines.ts';
import {
  type ArchiveResult,
  addHead,
  addSentence,
  createReceiptChecker,
  type ReceiptChecker,
  type SignedHead,
  type Verdict,
  type VerifyOptions,
  withoutHead,
  wrong,
} from '../verdict.ts';
import { bindings, eventNames, listDueDocuments } from './bindings.ts';
import { compareCsvFiles } from './csv.ts';
import { comparePolicy, compareWithReview, readReviews, reviewFile, type SignedReview } from './documents.ts';
import { addEvent, type EventIndex } from './events.ts';
import {
  addMissingFiles,
  compareCoverage,
  compareGaps,
  coverageFile,
  gapsFile,
  historyTable,
  readSealedGaps,
  type SealedGaps,
  sealedGapsFile,
} from './gaps.ts';
import { compareRow, nameOfEvent, unboundOf } from './rows.ts';
import { type Binding, listDue, type Period, type Row } from './sources.ts';

/** No measure looks further back. */
const mostDays = 36_600;

const filePart = z.object({ file: z.string(), records: z.int(), sha256: z.string() });
const tablePart = z.object({ ...filePart.shape, csv: filePart.omit({ records: true }) });
const manifestSchema = z.object({
  from: z.string().refine(isInstant),
  to: z.string().refine(isInstant),
  files: z.array(
    z.object({
      ...tablePart.shape,
      measure: z.object({ measure: z.string(), days: z.int().min(1).max(mostDays).optional() }),
      not_assessable: tablePart.nullable(),
    }),
  ),
  attachments: z.array(filePart),
});

/**
 * Checks an evidence archive: each file against the manifest, each receipt against the ledger, and rows, signed reviews and policies against their events.
 * Everything else is computed from listings, which the ledger does not have.
 */
export async function verifyEvidence(archive: Archive, given: unknown, options: VerifyOptions): Promise<ArchiveResult> {
  const read = manifestSchema.safeParse(given);
  if (!read.success) return withoutHead(wrong('its manifest.json has an unknown form'));
  const { from, to } = read.data;
  if (compareInstants(from, to) >= 0) return withoutHead(wrong('its period ends before it begins'));
  const verdict: Verdict = { proven: [], unproven: [], wrong: [] };
  // The summary names a table by its measure, and its rows are compared by its name.
  for (const { file, measure } of read.data.files)
    if (!file.endsWith(`-${measure.measure}.ndjson`))
      addSentence(verdict.wrong, `${file} is not named by its measure, ${measure.measure}`);
  const listed = listFiles(read.data);
  await checkFiles(archive, listed, verdict);
  if (verdict.wrong.length > 0) return withoutHead(verdict);
  const checker = createReceiptChecker(options);
  const receipts = await readReceipts(archive, checker, verdict);
  const sealed = await readSealedGaps(archive, checker, verdict);
  if (receipts.head === null) {
    const why = verdict.wrong.length > 0 ? 'none of its receipts is proven' : 'it has no receipts';
    addSentence(verdict.unproven, `${why}, so nothing in it can be checked`);
    return withoutHead(verdict);
  }
  addHead(receipts.head, options, verdict);
  verdict.proven.push(`the tables are compared with the events from ${from} to ${to}`);
  const comparison = { manifest: read.data, listed, receipts, sealed, verdict };
  const { computed, policies } = await compareFiles(archive, comparison);
  await checkVerifyPage(archive, receipts.head, verdict);
  checkDue(comparison, policies);
  addMissingFiles({ from, to }, { names: new Set(listed.map(({ file }) => file)), sealed, verdict });
  const [first = from] = listed.map(({ file }) => sinceOf(file, read.data)).toSorted(compareInstants);
  return {
    kind: 'archive',
    verdict,
    computed,
    head: receipts.head,
    seals: sealed.seals,
    events: receipts.places,
    leaves: checker.leaves,
    sealedDays: { from: dayOf(first), to: dayOf(to), projects: 'with gaps' },
  };
}

type Manifest = z.output<typeof manifestSchema>;
type ListedFile = Pick<Manifest['attachments'][number], 'file' | 'sha256'>;

function listFiles({ files, attachments }: Manifest): ListedFile[] {
  const tables = files.flatMap((table) => [table, ...(table.not_assessable === null ? [] : [table.not_assessable])]);
  return [...tables.flatMap(({ csv, ...table }) => [table, csv]), ...attachments];
}

async function checkFiles(archive: Archive, listed: ListedFile[], verdict: Verdict): Promise<void> {
  const seen = new Set<string>();
  for (const { file, sha256 } of listed) {
    if (seen.has(file)) {
      addSentence(verdict.wrong, `manifest.json names ${file} twice`);
      return;
    }
    seen.add(file);
    const found = await archive.hash(file).catch(() => null);
    if (found !== sha256) addSentence(verdict.wrong, `${file} is not the file that manifest.json names`);
  }
  const names = new Set([...listed.map(({ file }) => file), ...unlisted]);
  for (const name of archive.names) if (!names.has(name)) addSentence(verdict.wrong, `${name} is not in manifest.json`);
}

/** The files that are made of the manifest. */
const unlisted = ['manifest.json', 'summary.md', 'summary.html'];

/** Returns the first time that a file is about. */
function sinceOf(file: string, { files, from, to }: Manifest): string {
  const days = historyTable.test(file) ? files.find((each) => each.file === file)?.measure.days : undefined;
  return days === undefined ? from : before(to, days * dayMs);
}

interface EvidenceComparison {
  manifest: Manifest;
  listed: ListedFile[];
  receipts: Receipts;
  sealed: SealedGaps;
  verdict: Verdict;
}

/** Compares each file with the events that it is about. Returns what no event proves, in sentences, and the hashes of the policies that are proven. */
async function compareFiles(
  archive: Archive,
  { manifest, listed, receipts, sealed, verdict }: EvidenceComparison,
): Promise<{ computed: string[]; policies: Set<string | null> }> {
  const { from, to } = manifest;
  const { events } = receipts;
  const computed: string[] = [];
  const gaps = { sealed, verdict, computed };
  const policies = new Set<string | null>();
  const csvFiles = await compareCsvFiles(archive, listed, verdict);
  const others = new Map<string, string[]>();
  const note = (what: string, file: string) => void others.set(what, [...(others.get(what) ?? []), file]);
  const reviews = await readReviews(archive, listed, { events, verdict });
  for (const { file } of listed) {
    const binding = bindings.find(({ table }) => table.test(file));
    if (binding !== undefined) {
      const fields = await compareRows(archive, { file, binding, receipts, reviews, period: { from, to }, verdict });
      if (fields.length > 0) note(`these fields are not compared with the ledger, ${fields.join(', ')}`, file);
    } else if (reviewFile.test(file)) continue;
    else if (/^policies\/.*\.json$/.test(file))
      policies.add(comparePolicy({ file, text: await archive.text(file), events, verdict }));
    else if (file === gapsFile || historyTable.test(file)) {
      await compareGaps(archive, { ...gaps, file, period: { from: sinceOf(file, manifest), to } });
      note(isOfSeals, file);
    } else if (file === coverageFile) {
      await compareCoverage(archive, { ...gaps, file });
      note(isOfSeals, file);
    } else if (file === 'VERIFY.md') continue;
    else if (!file.endsWith('.ndjson')) {
      if (!csvFiles.has(file)) note(isRepeated, file);
    } else if (file !== receiptsFile && file !== sealedGapsFile)
      note('the ledger does not have what these are computed from', file);
  }
  for (const name of archive.names) if (unlisted.includes(name)) note(isRepeated, name);
  for (const [what, of] of others) computed.push(`${what}: ${of.join(', ')}`);
  return { computed, policies };
}

/** Looks for the tables and documents that an archive of its period must have. */
function checkDue(
  { manifest: { from, to }, listed, receipts: { events }, verdict }: EvidenceComparison,
  policies: Set<string | null>,
): void {
  for (const binding of bindings) {
    const due = listDue(binding, { from, to }, events);
    if (due.size > 0 && !listed.some(({ file }) => binding.table.test(file)))
      verdict.unproven.push(`it has no table of ${binding.of}, although the ledger has ${due.size} in the period`);
  }
  const due = listDueDocuments({ from, to }, events);
  for (const number of due.reviews)
    if (!listed.some(({ file }) => file === `reviews/${number}.json`))
      addSentence(verdict.wrong, `it has no document of review ${number}, which was signed in the period`);
  for (const sha256 of due.policies)
    if (!policies.has(sha256))
      addSentence(verdict.wrong, `it does not have the policy ${sha256}, which plans of the period were made with`);
}

const isOfSeals = 'the ledger has the gaps of sealed days only, and only those are compared';
const isRepeated = 'these repeat other files, and are not compared with them';

const receiptsFile = 'ledger/receipts.ndjson';

interface Receipts {
  events: EventIndex;
  head: SignedHead | null;
  /** The places of the events in the ledger. */
  places: Set<number>;
  /** When the last event was recorded. */
  newest: string;
}

async function readReceipts(archive: Archive, receipts: ReceiptChecker, verdict: Verdict): Promise<Receipts> {
  const events: EventIndex = new Map();
  const places = new Set<number>();
  let newest = '1970-01-01T00:00:00Z';
  if (!archive.names.includes(receiptsFile)) return { events, head: null, places, newest };
  const times = createLateTimes();
  let last = -1;
  await archive.eachLine(receiptsFile, (line) => {
    const receipt = readLine(line);
    const event = receipt === null ? 'it is no receipt' : receipts.check(receipt);
    if (typeof event === 'string') addSentence(verdict.wrong, `a line of ${receiptsFile} is not proven: ${event}`);
    else if (event.index <= last) addSentence(verdict.wrong, `${receiptsFile} is not in the order of the ledger`);
    else {
      last = event.index;
      places.add(last);
      times.read(event);
      if (compareInstants(event.recorded, newest) > 0) newest = event.recorded;
      addEvent(events, event, eventNames.get(event.type) ?? []);
    }
  });
  const head = receipts.head();
  times.addConclusions(verdict);
  if (head !== null) verdict.proven.push(`${places.size} governance events are in the ledger, up to event ${last}`);
  return { events, head, places, newest };
}

interface Table {
  file: string;
  binding: Binding;
  receipts: Receipts;
  reviews: Map<string, SignedReview>;
  period: Period;
  verdict: Verdict;
}

/** A forged row can have names of any length, and fields of any number. */
const longestName = 200;
const mostFields = 1000;

/** Compares each row of a table with its events, and looks for the rows of the period's events. Returns the fields that no event has. */
async function compareRows(
  archive: Archive,
  { file, binding, receipts, reviews, period, verdict }: Table,
): Promise<string[]> {
  const counts = { same: 0, hidden: 0, 'no receipt': 0 };
  const others = new Set<string>();
  // An approval and a rejection of a plan can have one time. A row has no field of its own that no event has.
  const [first] = binding.sources;
  const names = new Set<string>();
  const { events, newest } = receipts;
  const due = listDue(binding, period, events);
  const missing = new Set(due);
  await archive.eachLine(file, (line) => {
    const row = parseOnce(line) as Row;
    const { compared, found } = compareRow(row, binding, events, newest);
    for (const event of found) missing.delete(event);
    const named = Object.values(nameOfEvent(first, row));
    const whole = [...named, ...('decision' in first.fields ? [row.decision] : [])].join(' ');
    const name = whole.slice(0, longestName);
    // A name can be as long as a line.
    if (names.has(sha256(whole))) addSentence(verdict.wrong, `${file}: it has the row ${name} twice`);
    names.add(sha256(whole));
    const signed = compareWithReview(row, binding, reviews);
    if (signed?.isSame === false)
      addSentence(verdict.wrong, `${file}: the row ${name} differs from the document of its review`);
    for (const field of unboundOf(row, binding, signed?.fields ?? []))
      if (others.size < mostFields) others.add(field.slice(0, longestName));
    if (typeof compared === 'string') {
      counts[compared] += 1;
      if (compared !== 'no receipt' && !found.some((event) => due.has(event)))
        addSentence(verdict.wrong, `${file}: the row ${name} is not of the period`);
    } else addSentence(verdict.wrong, `${file}: the row ${name} differs from the ledger in ${compared.differs}`);
  });
  for (const event of missing) {
    const isOld = binding.sources.some(({ type, wasLeftOut }) => type === event.type && wasLeftOut?.(event, period));
    const why = isOld ? ' from before it, as in archives of earlier versions' : '';
    const found = isOld ? verdict.unproven : verdict.wrong;
    addSentence(found, `${file}: it has no row of ${event.subject}, which the ledger has in the period${why}`);
  }
  if (counts['no receipt'] > 0)
    verdict.unproven.push(`${file}: ${countOf(counts['no receipt'], 'row')} without a receipt`);
  if (counts.hidden > 0)
    verdict.unproven.push(`${file}: the receipts do not show the personal data of ${countOf(counts.hidden, 'row')}`);
  verdict.proven.push(`${file}: ${countOf(counts.same, 'row')} as the ledger recorded`);
  return [...others];
}
