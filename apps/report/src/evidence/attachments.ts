import { policyFile, verifyPage } from '@keywarden/core/ledger';
import { compareInstants, countOf, dayOf } from '@keywarden/core/values';
import * as store from '@keywarden/db/report';
import { readOperationGaps } from '../export/operation-gaps.ts';
import type { Control } from './controls.ts';
import { type Written, writeLines, writeTable, writeText, type Zip } from './files.ts';
import { daysBefore, type Period } from './measures.ts';
import { originOf, receiptsOf, writeReceipts } from './sealed.ts';
import type { Manifest } from './summary.ts';

type Attachments = Manifest['attachments'];

/** Writes objects to a file of JSON lines. */
function attach(zip: Zip, file: string, items: object[]): Written {
  const lines = writeLines(zip, file);
  lines.write(items.map((item) => JSON.stringify(item)));
  return lines.end();
}

/** Writes each policy that was in force in the period to a file, with the time from which it was used. */
export async function attachPolicies(snapshot: store.Snapshot, zip: Zip, period: Period): Promise<Attachments> {
  const policies = await store.listPolicies(snapshot, period);
  return policies.map(({ sha256, used_from: usedFrom, document }) => {
    const { name, text } = policyFile({ usedFrom, sha256, document });
    return writeText(zip, name, text);
  });
}

/** Writes the blind spots and coverage gaps of the period to files, and returns a sentence for each kind. */
export async function attachBlindSpots(
  snapshot: store.Snapshot,
  zip: Zip,
  { controls, period: { from, to, asOf } }: { controls: Control[]; period: Period },
) {
  const holes = await store.listInventoryGaps(snapshot, { from, to: asOf, organizations: null });
  const asks = (what: RegExp) => controls.some(({ measures }) => measures.some(({ measure }) => what.test(measure)));
  const others = asks(/credentials$/)
    ? await store.listInventoryGaps(snapshot, { from, to: asOf, organizations: null, of: 'credentials' })
    : undefined;
  const blindSpots = await store.listBlindSpots(snapshot, null);
  const operations = asks(/^operation_/)
    ? await readOperationGaps(snapshot, { organizations: null, from, to: asOf, settledAt: asOf })
    : undefined;
  const signed = { from, to, state: 'signed' } as const;
  const broken =
    (await store.countItems(snapshot, store.reviewList(signed))) -
    (await store.countItems(snapshot, store.reviewList({ ...signed, isIntact: true })));
  const gaps = (operations?.holes.length ?? 0) + (operations?.holes_not_named ?? 0);
  const gapsOfOthers = others?.length ?? 0;
  const reasons: [count: number, why: string][] = [
    [holes.length, `the inventory of keys has ${countOf(holes.length, 'gap')} in the period`],
    [gapsOfOthers, `the inventory of other credentials has ${countOf(gapsOfOthers, 'gap')} in the period`],
    [
      blindSpots.length,
      `the current connections have ${countOf(blindSpots.length, 'blind spot')} in the control planes`,
    ],
    [broken, `signed reviews whose content differs from what was signed, and that reviewed nothing: ${broken}`],
    [gaps, `the archive may lack operations in ${countOf(gaps, 'interval')} of the period`],
  ];
  return {
    attachments: [
      attach(zip, 'not-seen/inventory-holes.ndjson', holes),
      attach(zip, 'not-seen/blind-spots.ndjson', blindSpots),
      ...(others === undefined ? [] : [attach(zip, 'not-seen/credential-holes.ndjson', others)]),
      ...(operations === undefined ? [] : [attach(zip, 'not-seen/operation-holes.ndjson', operations.holes)]),
    ],
    because: reasons.flatMap(([count, why]) => (count > 0 ? [why] : [])),
  };
}

/**
 * Writes the reviews that were signed in the period: a table of them, and the document of each. The SHA-256 of a document is the one in its signature,
 * unless the review has changed.
 * Takes the bytes of each document before the next is read.
 */
export async function* attachReviews(
  snapshot: store.Snapshot,
  zip: Zip,
  { from, to }: Period,
): AsyncGenerator<Uint8Array, Attachments> {
  const documents: Attachments = [];
  const numbers: string[] = [];
  const table = writeTable(zip, 'reviews/signatures', store.reviewItem);
  for await (const items of snapshot.stream(store.reviewList({ from, to }))) {
    table.write(items);
    numbers.push(...items.map((text) => store.reviewItem.parse(JSON.parse(text)).id));
  }
  const { csv, ...lines } = table.end();
  for (const number of numbers) {
    documents.push(writeText(zip, `reviews/${number}.json`, await store.readReviewDocumentOf(snapshot, number)));
    yield zip.take();
  }
  return [lines, { ...csv, records: lines.records }, ...documents];
}

/** Writes what the archive is known to hold: the covered intervals of each project, and the complete listings of each scope. */
export async function* attachCoverage(snapshot: store.Snapshot, zip: Zip): AsyncGenerator<Uint8Array, Attachments> {
  const projects = writeLines(zip, 'coverage/operations.ndjson');
  for await (const rows of store.streamCoverage(snapshot, {})) {
    projects.write(rows.map((row) => JSON.stringify(row.coverage)));
    yield zip.take();
  }
  const scopes = await store.listInventoryCoverage(snapshot);
  return [projects.end(), attach(zip, 'coverage/keys.ndjson', scopes)];
}

const eventsAtOnce = 250;

/**
 * Writes the receipts of all events of the ledger but seals and exports, those of the newest seals of days with gaps, and VERIFY.md. The gaps are those of the
 * period and of the days before its end that measures look at. Writes nothing before the first checkpoint.
 */
export async function* attachReceipts(
  snapshot: store.Snapshot,
  zip: Zip,
  { fileName, controls, period: { from, asOf } }: { fileName: string; controls: Control[]; period: Period },
): AsyncGenerator<Uint8Array, Attachments> {
  const tree = await store.readSignedTree(snapshot, { prefersCosigned: true });
  if (tree === null) return [];
  const { size } = tree;
  const days = controls.flatMap(({ measures }) =>
    measures.flatMap((each) => (each.measure === 'operation_history' ? [each.days] : [])),
  );
  const [since = from] = [from, ...days.map((count) => daysBefore(asOf, count))].toSorted(compareInstants);
  const events = yield* writeReceipts(
    zip,
    'ledger/receipts.ndjson',
    receiptsOf(snapshot, eventsOf(snapshot, size), tree),
  );
  const gaps = store.readGapSealEvents(snapshot, { from: dayOf(since), to: dayOf(daysBefore(asOf, -1)), size });
  const seals = yield* writeReceipts(zip, 'ledger/seals-with-gaps.ndjson', receiptsOf(snapshot, gaps, tree));
  return [events, seals, writeText(zip, 'VERIFY.md', verifyPage(originOf(tree), fileName))];
}

async function* eventsOf(snapshot: store.Snapshot, size: number): AsyncGenerator<store.PlacedEvent[]> {
  for (let after = -1; ; ) {
    const events = await store.readPlacedEvents(snapshot, { after, limit: eventsAtOnce, size });
    yield events;
    const last = events.at(-1);
    if (last === undefined) return;
    after = last.leafIndex;
  }
}
