import { z } from '@hono/zod-openapi';
import { type Assessed, findingItem, findingList, type Snapshot } from '@keywarden/db/report';
import type { Ending } from '../services.ts';
import { attachBlindSpots, attachCoverage, attachPolicies, attachReceipts, attachReviews } from './attachments.ts';
import type { Control } from './controls.ts';
import { createZip, writeTable, writeText, type Zip } from './files.ts';
import { findPlanOf, type Period, readMeasure } from './measures.ts';
import { renderSummary } from './printed.ts';
import { type EvidenceFile, type ExceptionGroup, type Manifest, summarize, type Unassessed } from './summary.ts';

export interface EvidenceRequest {
  controls: Control[];
  period: Period;
  madeAt: Date;
  madeBy: string;
  fileName: string;
}

/**
 * Writes the evidence for controls as one zip archive: a file per measure as NDJSON and CSV, with a second one for keys that could not be assessed, the
 * blind spots and gaps, the policies in force, the signed reviews, the coverage, a manifest with hashes, and a summary as Markdown and as a page to print.
 */
export async function* writeEvidence(
  snapshot: Snapshot,
  { controls, period, madeAt, madeBy, fileName }: EvidenceRequest,
): AsyncGenerator<Uint8Array, Ending> {
  const zip = createZip(madeAt);
  const files: EvidenceFile[] = [];
  const statusOf = await readStatuses(snapshot, period);
  for (const control of controls) {
    for (const [index, measure] of control.measures.entries()) {
      const name = `${folderOf(control)}/${String(index + 1).padStart(2, '0')}-${measure.measure}`;
      const measured = await readMeasure(snapshot, measure, period);
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
      const { isException, missing } = measured;
      const found = (isException ? written.records : 0) + (missing === null ? 0 : 1);
      const isJudging = isException || measure.measure === 'reviews';
      files.push({
        ...written,
        control: control.id,
        measure,
        exceptions: isJudging ? found : null,
        not_assessable: others.end(),
        exceptions_by: breakdown.list(),
        missing,
      });
    }
  }
  const { attachments, because } = await attachBlindSpots(snapshot, zip, { controls, period });
  const manifest: Manifest = {
    made_at: madeAt.toISOString(),
    made_by: madeBy,
    from: period.from,
    to: period.to,
    as_of: period.asOf,
    controls: controls.map(({ measures: _measures, ...control }) => {
      const own = files.filter((file) => file.control === control.id);
      return { ...control, exceptions: sumOf(own), not_assessable: countUnknown(own) };
    }),
    files,
    partial: because.length > 0,
    partial_because: because,
    attachments: [
      ...attachments,
      ...(await attachPolicies(snapshot, zip, period)),
      ...(yield* attachReviews(snapshot, zip, period)),
      ...(yield* attachCoverage(snapshot, zip)),
      ...(yield* attachReceipts(snapshot, zip, { fileName, controls, period })),
    ],
  };
  writeText(zip, 'summary.md', summarize(manifest));
  writeText(zip, 'summary.html', await renderSummary(manifest));
  const { sha256 } = writeText(zip, 'manifest.json', `${JSON.stringify(manifest, null, 2)}\n`);
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
async function readStatuses(snapshot: Snapshot, period: Period): Promise<Map<string, string>> {
  const { id } = await findPlanOf(snapshot, period);
  const statuses = new Map<string, string>();
  if (id === null) return statuses;
  for await (const items of snapshot.stream(findingList({ planId: id }, null)))
    for (const text of items) {
      const { key, action, disposition } = findingItem.parse(JSON.parse(text));
      const status = disposition === 'reported' ? `reported in plan ${id}` : `${action}, ${disposition} in plan ${id}`;
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
