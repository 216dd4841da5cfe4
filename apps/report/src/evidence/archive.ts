import { createHash } from 'node:crypto';
import { z } from '@hono/zod-openapi';
import {
  type Assessed,
  findingItem,
  findingList,
  listBlindSpots,
  listInventoryHoles,
  listPolicies,
  planList,
  readItems,
  type Snapshot,
} from '@keywarden/db/report';
import type { Ending } from '../environment.ts';
import { createCsvWriter } from '../export/csv.ts';
import { readOperationHoles } from '../export/operation-holes.ts';
import type { Control } from './controls.ts';
import { type Period, take } from './measures.ts';
import { renderSummary } from './printed.ts';
import { type EvidenceFile, type ExceptionGroup, type Manifest, summarize, type Unassessed } from './summary.ts';
import { createZip } from './zip.ts';

export interface EvidenceRequest {
  controls: Control[];
  period: Period;
  madeAt: Date;
  madeBy: string;
}

/**
 * Writes the evidence for controls as one zip archive: a file per measure as NDJSON and CSV, with a second one for keys that could not be assessed, the
 * blind spots and gaps, the policies in force, a manifest with hashes, and a summary as Markdown and as a page to print.
 */
export async function* writeEvidence(
  snapshot: Snapshot,
  { controls, period, madeAt, madeBy }: EvidenceRequest,
): AsyncGenerator<Uint8Array, Ending> {
  const zip = createZip(madeAt);
  const files: EvidenceFile[] = [];
  const statusOf = await readStatuses(snapshot, period);
  for (const control of controls) {
    for (const [index, measure] of control.measures.entries()) {
      const name = `${folderOf(control)}/${String(index + 1).padStart(2, '0')}-${measure.measure}`;
      const measured = await take(snapshot, measure, period);
      const rows = writeTable(zip, name, measured.schema);
      const others = createTallies(zip, { name: `${name}-not-assessable`, schema: measured.schema });
      const breakdown = createBreakdown(statusOf);
      for await (const { exceptions: items, unknown } of measured.batches) {
        rows.write(items);
        others.write(unknown);
        if (measured.isException) breakdown.add(items);
        yield zip.take();
      }
      const written = rows.end();
      const missing = measured.missing ?? null;
      const found = (measured.isException ? written.records : 0) + (missing === null ? 0 : 1);
      const isJudging = measured.isException || measure.measure === 'reviews';
      const exceptions = isJudging ? found : null;
      const notAssessable = others.end();
      const by = breakdown.list();
      files.push({
        ...written,
        control: control.id,
        measure,
        exceptions,
        not_assessable: notAssessable,
        exceptions_by: by,
        missing,
      });
    }
  }
  const { attachments, because } = await attachBlindness(snapshot, zip, { controls, period });
  const manifest: Manifest = {
    made_at: madeAt.toISOString(),
    made_by: madeBy,
    from: period.from,
    to: period.to,
    as_of: period.asOf,
    controls: controls.map(({ id, framework, title, requires }) => ({
      id,
      framework,
      title,
      requires,
      exceptions: sumOf(files.filter((file) => file.control === id)),
      not_assessable: countUnknown(files.filter((file) => file.control === id)),
    })),
    files,
    partial: because.length > 0,
    partial_because: because,
    attachments: [...attachments, ...(await attachPolicies(snapshot, zip, period))],
  };
  writeText(zip, 'summary.md', summarize(manifest));
  writeText(zip, 'summary.html', await renderSummary(manifest));
  const sha256 = writeText(zip, 'manifest.json', `${JSON.stringify(manifest, null, 2)}\n`);
  yield zip.take();
  zip.end();
  return { last: zip.take(), records: files.reduce((sum, { records }) => sum + records, 0), sha256 };
}

function sumOf(files: EvidenceFile[]): number | null {
  const judged = files.flatMap(({ exceptions }) => exceptions ?? []);
  return judged.length === 0 ? null : judged.reduce((sum, count) => sum + count, 0);
}

const countUnknown = (files: EvidenceFile[]) =>
  files.reduce((sum, { not_assessable: unknown }) => sum + (unknown?.records ?? 0), 0);

/** Returns a control's folder in the archive: its id, without the characters that some systems refuse in names. */
const folderOf = ({ id }: Control) => id.replaceAll(':', '_');

/** Returns, by key, what the newest plan of the period does about it. */
async function readStatuses(snapshot: Snapshot, { from, to }: Period): Promise<Map<string, string>> {
  const [plan] = await readItems(snapshot, planList({ madeFrom: from, madeTo: to, isWhole: true }), 1);
  const statuses = new Map<string, string>();
  if (plan === undefined) return statuses;
  for await (const items of snapshot.stream(findingList({ planId: plan.id }, null)))
    for (const text of items) {
      const { key, action, disposition } = findingItem.parse(JSON.parse(text));
      const status =
        disposition === 'reported' ? `reported in plan ${plan.id}` : `${action}, ${disposition} in plan ${plan.id}`;
      if (!statuses.has(key.number) || disposition === 'planned') statuses.set(key.number, status);
    }
  return statuses;
}

const countedKey = z.object({ number: z.string(), organization_id: z.string().nullable(), owner: z.string() });

/** Counts the exceptions of a measure by organization, owner and status. */
function createBreakdown(statusOf: Map<string, string>) {
  const groups = new Map<string, ExceptionGroup>();
  return {
    add(items: string[]) {
      for (const text of items) {
        const { data: key } = countedKey.safeParse(JSON.parse(text));
        if (key === undefined) continue;
        const of = {
          organization_id: key.organization_id,
          owner: key.owner,
          status: statusOf.get(key.number) ?? 'in no plan',
        };
        const name = JSON.stringify(of);
        groups.set(name, { ...of, exceptions: (groups.get(name)?.exceptions ?? 0) + 1 });
      }
    },
    list: () => [...groups.values()].toSorted((a, b) => b.exceptions - a.exceptions),
  };
}

/** Writes the keys that could not be assessed to files of their own, if there are any, and counts them by reason. */
function createTallies(zip: Zip, { name, schema }: { name: string; schema: z.ZodObject }) {
  let table: ReturnType<typeof writeTable> | undefined;
  const reasons = new Map<string, number>();
  return {
    write(unknown: Assessed['unknown']) {
      if (unknown.length === 0) return;
      table ??= writeTable(zip, name, schema);
      table.write(unknown.map(({ item }) => item));
      for (const { because } of unknown) reasons.set(because, (reasons.get(because) ?? 0) + 1);
    },
    end(): Unassessed | null {
      if (table === undefined) return null;
      return { ...table.end(), because: [...reasons].map(([reason, keys]) => ({ reason, keys })) };
    },
  };
}

/** Writes each policy that was in force in the period to a file, with the time from which it was used. */
async function attachPolicies(snapshot: Snapshot, zip: Zip, period: Period): Promise<Manifest['attachments']> {
  const policies = await listPolicies(snapshot, period);
  return policies.map(({ sha256, used_from: usedFrom, document }) => {
    const file = `policies/${usedFrom.slice(0, 10)}-${sha256.slice(0, 12)}.json`;
    const text = `${JSON.stringify({ used_from: usedFrom, sha256, policy: document }, null, 2)}\n`;
    return { file, records: 1, sha256: writeText(zip, file, text) };
  });
}

/** Writes the blind spots and coverage gaps of the period to files, and returns a sentence for each kind. */
async function attachBlindness(
  snapshot: Snapshot,
  zip: Zip,
  { controls, period: { from, asOf } }: { controls: Control[]; period: Period },
) {
  const holes = await listInventoryHoles(snapshot, { from, to: asOf, organizations: null });
  const asks = (what: RegExp) => controls.some(({ measures }) => measures.some(({ measure }) => what.test(measure)));
  const others = asks(/credentials$/)
    ? await listInventoryHoles(snapshot, { from, to: asOf, organizations: null, of: 'credentials' })
    : undefined;
  const blindSpots = await listBlindSpots(snapshot, null);
  const operations = asks(/^operation_/)
    ? await readOperationHoles(snapshot, { organizations: null, from, to: asOf, settledAt: asOf })
    : undefined;
  const gaps = (operations?.holes.length ?? 0) + (operations?.holes_not_named ?? 0);
  const attach = (file: string, items: object[]) => {
    const lines = writeLines(zip, file);
    lines.write(items.map((item) => JSON.stringify(item)));
    return { file, ...lines.end() };
  };
  return {
    attachments: [
      attach('not-seen/inventory-holes.ndjson', holes),
      attach('not-seen/blind-spots.ndjson', blindSpots),
      ...(others === undefined ? [] : [attach('not-seen/credential-holes.ndjson', others)]),
      ...(operations === undefined ? [] : [attach('not-seen/operation-holes.ndjson', operations.holes)]),
    ],
    because: [
      ...(holes.length > 0 ? [`the inventory of keys has ${holes.length} gaps in the period`] : []),
      ...(others !== undefined && others.length > 0
        ? [`the inventory of other credentials has ${others.length} gaps in the period`]
        : []),
      ...(blindSpots.length > 0
        ? [`the current connections have ${blindSpots.length} blind spots in the control planes`]
        : []),
      ...(gaps > 0 ? [`the archive may lack operations in ${gaps} intervals of the period`] : []),
    ],
  };
}

type Zip = ReturnType<typeof createZip>;

/** Adds a file of JSON lines and the same rows as CSV; `end` returns their names, the number of rows and the hashes. */
function writeTable(zip: Zip, name: string, schema: z.ZodObject) {
  const lines = writeLines(zip, `${name}.ndjson`);
  const csv = createCsvWriter(schema);
  const cells = writeHashed(zip, `${name}.csv`);
  cells.write(csv.header);
  return {
    write(items: string[]) {
      lines.write(items);
      if (items.length > 0) cells.write(csv.rows(items));
    },
    end() {
      const { records, sha256 } = lines.end();
      return { file: `${name}.ndjson`, records, sha256, csv: { file: `${name}.csv`, sha256: cells.end() } };
    },
  };
}

/** Adds a file of JSON lines; `end` returns the number of lines and the hash of the bytes. */
function writeLines(zip: Zip, name: string) {
  const file = writeHashed(zip, name);
  let records = 0;
  return {
    write(items: string[]) {
      if (items.length === 0) return;
      file.write(`${items.join('\n')}\n`);
      records += items.length;
    },
    end: () => ({ records, sha256: file.end() }),
  };
}

function writeText(zip: Zip, name: string, text: string): string {
  const file = writeHashed(zip, name);
  file.write(text);
  return file.end();
}

/** Adds a file; `end` returns the hash of its bytes. */
function writeHashed(zip: Zip, name: string) {
  const file = zip.add(name);
  const hash = createHash('sha256');
  return {
    write(text: string) {
      hash.update(text);
      file.write(text);
    },
    end(): string {
      file.end();
      return hash.digest('hex');
    },
  };
}
