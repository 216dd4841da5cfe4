import { before, canonicalJson, compareInstants, dayMs, dayOf, isInstant, sha256 } from '@keywarden/core/values';
import { z } from 'zod';
import type { Archive } from './archive.ts';
import { type Binding, bindings, listDue, listDueDocuments, type Period, type Row } from './evidence-bindings.ts';
import { compareCsvFiles } from './evidence-csv.ts';
import { addEvent, type EventIndex, findEvent } from './evidence-events.ts';
import {
  addMissingFiles,
  compareCoverage,
  compareHoles,
  coverageFile,
  gapsFile,
  historyTable,
  holesFile,
  readSealedGaps,
} from './evidence-gaps.ts';
import { compareRow, unboundOf } from './evidence-rows.ts';
import { parseOnce } from './json.ts';
import { createLateTimes } from './late-times.ts';
import { checkVerifyPage } from './operations-pack.ts';
import { readLine } from './receipt-lines.ts';
import {
  type ArchiveResult,
  addHead,
  addSentence,
  createReceiptJudge,
  type Judge,
  type ReceiptJudge,
  type SignedHead,
  type Verdict,
  wrong,
} from './verdict.ts';

/** No measure looks further back. */
const mostDays = 36_600;

const filePart = z.object({ file: z.string(), records: z.int(), sha256: z.string() });
const manifestSchema = z.object({
  from: z.string().refine(isInstant),
  to: z.string().refine(isInstant),
  files: z.array(
    z.object({
      ...filePart.shape,
      measure: z.object({ days: z.int().min(1).max(mostDays).optional() }),
      csv: z.object({ file: z.string(), sha256: z.string() }),
      not_assessable: z
        .object({ ...filePart.shape, csv: z.object({ file: z.string(), sha256: z.string() }) })
        .nullable(),
    }),
  ),
  attachments: z.array(filePart),
});

/**
 * Checks an evidence archive: each file against the manifest, each receipt against the ledger, and rows, signed reviews and policies against their events.
 * Everything else is computed from listings, which the ledger does not have.
 */
export async function verifyEvidence(archive: Archive, given: unknown, judge: Judge): Promise<ArchiveResult> {
  const computed: string[] = [];
  const result = (
    verdict: Verdict,
    receipts?: Receipts & Pick<ArchiveResult, 'seals' | 'sealedDays'>,
  ): ArchiveResult => ({
    kind: 'archive',
    verdict,
    computed,
    head: receipts?.head ?? null,
    seals: receipts?.seals ?? new Map(),
    events: receipts?.places,
    sealedDays: receipts?.sealedDays,
  });
  const read = manifestSchema.safeParse(given);
  if (!read.success) return result(wrong('its manifest.json has an unknown form'));
  const { files, attachments, from, to } = read.data;
  if (compareInstants(from, to) >= 0) return result(wrong('its period ends before it begins'));
  const verdict: Verdict = { proven: [], unproven: [], wrong: [] };
  const listed = [
    ...files.flatMap(({ file, sha256, csv, not_assessable: unknown }) => [
      { file, sha256 },
      csv,
      ...(unknown === null ? [] : [{ file: unknown.file, sha256: unknown.sha256 }, unknown.csv]),
    ]),
    ...attachments,
  ];
  for (const { file, sha256 } of listed) {
    const found = await archive.hash(file).catch(() => null);
    if (found !== sha256) addSentence(verdict.wrong, `${file} is not the file that manifest.json names`);
  }
  const names = new Set([...listed.map(({ file }) => file), 'manifest.json', 'summary.md', 'summary.html']);
  for (const name of archive.names) if (!names.has(name)) addSentence(verdict.wrong, `${name} is not in manifest.json`);
  if (verdict.wrong.length > 0) return result(verdict);
  const judgeOne = createReceiptJudge(judge);
  const receipts = await readReceipts(archive, judgeOne, verdict);
  const sealed = await readSealedGaps(archive, judgeOne, verdict);
  const { events } = receipts;
  if (receipts.head !== null) addHead(receipts.head, judge, verdict);
  else return result(verdict);
  verdict.proven.push(`the tables are compared with the events from ${from} to ${to}`);
  /** The first time that a file of gaps is about. */
  const sinceOf = (file: string) => {
    const days = historyTable.test(file) ? files.find((each) => each.file === file)?.measure.days : undefined;
    return days === undefined ? from : before(to, days * dayMs);
  };
  const gaps = { sealed, verdict: { ...verdict, unproven: computed } };
  const provenPolicies = new Set<string | null>();
  const csvFiles = await compareCsvFiles(archive, listed, verdict);
  const others = new Map<string, string[]>();
  const note = (what: string, file: string) => void others.set(what, [...(others.get(what) ?? []), file]);
  for (const { file, sha256 } of listed) {
    const binding = bindings.find(({ table }) => table.test(file));
    const review = /^reviews\/(\d+)\.json$/.exec(file)?.[1];
    if (binding !== undefined) {
      const fields = await compareRows(archive, { file, binding, receipts, period: { from, to }, verdict });
      if (fields.length > 0) note(`the ledger does not have the fields ${fields.join(', ')}`, file);
    } else if (review !== undefined) compareReview({ file, review, sha256, events, verdict });
    else if (/^policies\/.*\.json$/.test(file))
      provenPolicies.add(comparePolicy({ file, text: await archive.text(file), events, verdict }));
    else if (file === holesFile || historyTable.test(file)) {
      await compareHoles(archive, { ...gaps, file, period: { from: sinceOf(file), to } });
      note(isOfSeals, file);
    } else if (file === coverageFile) {
      await compareCoverage(archive, { ...gaps, file });
      note(isOfSeals, file);
    } else if (file === 'VERIFY.md') continue;
    else if (!file.endsWith('.ndjson')) {
      if (!csvFiles.has(file)) note(isRepeated, file);
    } else if (file !== receiptsFile && file !== gapsFile)
      note('the ledger does not have what these are computed from', file);
  }
  await checkVerifyPage(archive, receipts.head, verdict);
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
    if (!provenPolicies.has(sha256))
      addSentence(verdict.wrong, `it does not have the policy ${sha256}, which plans of the period were made with`);
  if (receipts.head !== null) addMissingFiles({ from, to }, { names, sealed, verdict });
  for (const name of archive.names) if (/^(manifest\.json|summary\.(md|html))$/.test(name)) note(isRepeated, name);
  for (const [what, of] of others) computed.push(`${what}: ${of.join(', ')}`);
  const [first = from] = listed.map(({ file }) => sinceOf(file)).toSorted(compareInstants);
  const sealedDays = { from: dayOf(first), to: dayOf(to), projects: 'with gaps' as const };
  return result(verdict, { ...receipts, seals: sealed.seals, sealedDays });
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

async function readReceipts(archive: Archive, receipts: ReceiptJudge, verdict: Verdict): Promise<Receipts> {
  const events: EventIndex = new Map();
  const places = new Set<number>();
  let newest = '1970-01-01T00:00:00Z';
  if (!archive.names.includes(receiptsFile)) {
    verdict.unproven.push('it has no receipts, so nothing in it can be checked');
    return { events, head: null, places, newest };
  }
  const times = createLateTimes();
  let last = -1;
  await archive.eachLine(receiptsFile, (line) => {
    const receipt = readLine(line);
    const event = receipt === null ? 'it is no receipt' : receipts.judge(receipt);
    if (typeof event === 'string') addSentence(verdict.wrong, `a line of ${receiptsFile} is not proven: ${event}`);
    else if (event.index <= last) addSentence(verdict.wrong, `${receiptsFile} is not in the order of the ledger`);
    else {
      last = event.index;
      places.add(last);
      times.read(event);
      if (compareInstants(event.recorded, newest) > 0) newest = event.recorded;
      addEvent(events, event);
    }
  });
  const head = receipts.head();
  times.addConclusions(verdict);
  verdict.proven.push(`${places.size} governance events are in the ledger, up to event ${last}`);
  return { events, head, places, newest };
}

interface Table {
  file: string;
  binding: Binding;
  receipts: Receipts;
  period: Period;
  verdict: Verdict;
}

/** A forged row can have names of any length, and fields of any number. */
const longestName = 200;
const mostFields = 1000;

/** Compares each row of a table with its events, and looks for the rows of the period's events. Returns the fields that no event has. */
async function compareRows(archive: Archive, { file, binding, receipts, period, verdict }: Table): Promise<string[]> {
  const counts = { same: 0, hidden: 0, 'no receipt': 0 };
  const others = new Set<string>();
  const [{ ofRow }] = binding.sources;
  const names = new Set<string>();
  const { events, newest } = receipts;
  const missing = listDue(binding, period, events);
  await archive.eachLine(file, (line) => {
    const row = parseOnce(line) as Row;
    const { compared, found } = compareRow(row, binding, events, newest);
    for (const event of found) missing.delete(event);
    const whole = [...Object.values(ofRow(row, undefined)), ...('decision' in row ? [row.decision] : [])].join(' ');
    const name = whole.slice(0, longestName);
    // A name can be as long as a line.
    if (names.has(sha256(whole))) addSentence(verdict.wrong, `${file}: it has the row ${name} twice`);
    names.add(sha256(whole));
    for (const field of unboundOf(row, binding)) if (others.size < mostFields) others.add(field.slice(0, longestName));
    if (typeof compared === 'string') counts[compared] += 1;
    else addSentence(verdict.wrong, `${file}: the row ${name} differs from the ledger in ${compared.differs}`);
  });
  for (const { subject } of missing)
    addSentence(verdict.wrong, `${file}: it has no row of ${subject}, which the ledger has in the period`);
  if (counts['no receipt'] > 0) verdict.unproven.push(`${file}: ${counts['no receipt']} rows have no receipt`);
  if (counts.hidden > 0)
    verdict.unproven.push(`${file}: of ${counts.hidden} rows the receipts do not show the personal data`);
  verdict.proven.push(`${file}: ${counts.same} rows are what the ledger recorded`);
  return [...others];
}

interface Document {
  file: string;
  events: EventIndex;
  verdict: Verdict;
}

function compareReview({ file, review, sha256, events, verdict }: Document & { review: string; sha256: string }): void {
  const signed = findEvent(events, 'review.signed', { review_number: review })?.content.sha256;
  if (signed === undefined) verdict.unproven.push(`${file}: its signature has no receipt`);
  else if (signed === sha256) verdict.proven.push(`${file} is what was signed`);
  else verdict.wrong.push(`${file} is not what was signed`);
}

const policySchema = z.strictObject({
  used_from: z.string(),
  sha256: z.string(),
  policy: z.record(z.string(), z.unknown()),
});

/** Returns the hash of a policy that the ledger recorded; null for any other. */
function comparePolicy({ file, text, events, verdict }: Document & { text: string }): string | null {
  const { used_from: usedFrom, sha256, policy } = policySchema.parse(parseOnce(text));
  const stored = findEvent(events, 'policy.stored', { sha256 })?.content;
  if (typeof stored?.document !== 'string') {
    verdict.unproven.push(`${file}: the policy has no receipt`);
    return null;
  }
  const isSame = canonicalJson(JSON.parse(stored.document) as object) === canonicalJson(policy);
  if (!isSame || stored.first_used_at !== usedFrom) {
    verdict.wrong.push(`${file} is not the policy that the ledger recorded`);
    return null;
  }
  verdict.proven.push(`${file} is a policy that the ledger recorded`);
  return sha256;
}
