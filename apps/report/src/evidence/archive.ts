import { createHash } from 'node:crypto';
import { listBlindSpots, listInventoryHoles, type Snapshot } from '@keywarden/db/report';
import type { Ending } from '../environment.ts';
import { readOperationHoles } from '../export/operation-holes.ts';
import type { Control } from './controls.ts';
import { type Period, take } from './measures.ts';
import { type EvidenceFile, type Manifest, summarize } from './summary.ts';
import { createZip } from './zip.ts';

export interface EvidenceRequest {
  controls: Control[];
  period: Period;
  madeAt: Date;
  madeBy: string;
}

/** Writes the evidence for controls as one zip archive: a file per measure, the blind spots and gaps, a manifest with hashes, and a summary. */
export async function* writeEvidence(
  snapshot: Snapshot,
  { controls, period, madeAt, madeBy }: EvidenceRequest,
): AsyncGenerator<Uint8Array, Ending> {
  const zip = createZip(madeAt);
  const files: EvidenceFile[] = [];
  for (const control of controls) {
    for (const [index, measure] of control.measures.entries()) {
      const file = `${control.id.replaceAll(':', '_')}/${String(index + 1).padStart(2, '0')}-${measure.measure}.ndjson`;
      const measured = await take(snapshot, measure, period);
      const lines = writeLines(zip, file);
      for await (const items of measured.batches) {
        lines.write(items);
        yield zip.take();
      }
      const { records, sha256 } = lines.end();
      const missing = measured.missing ?? null;
      const found = (measured.isException ? records : 0) + (missing === null ? 0 : 1);
      const isJudging = measured.isException || measure.measure === 'reviews';
      const exceptions = isJudging ? found : null;
      files.push({ file, control: control.id, measure, records, exceptions, missing, sha256 });
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
    })),
    files,
    partial: because.length > 0,
    partial_because: because,
    attachments,
  };
  writeText(zip, 'summary.md', summarize(manifest));
  const sha256 = writeText(zip, 'manifest.json', `${JSON.stringify(manifest, null, 2)}\n`);
  yield zip.take();
  zip.end();
  return { last: zip.take(), records: files.reduce((sum, { records }) => sum + records, 0), sha256 };
}

function sumOf(files: EvidenceFile[]): number | null {
  const judged = files.flatMap(({ exceptions }) => exceptions ?? []);
  return judged.length === 0 ? null : judged.reduce((sum, count) => sum + count, 0);
}

/** Writes the blind spots and coverage gaps of the period to files, and returns a sentence for each kind. */
async function attachBlindness(
  snapshot: Snapshot,
  zip: ReturnType<typeof createZip>,
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

/** Adds a file of JSON lines; `end` returns the number of lines and the hash of the bytes. */
function writeLines(zip: ReturnType<typeof createZip>, name: string) {
  const file = zip.add(name);
  const hash = createHash('sha256');
  let records = 0;
  return {
    write(items: string[]) {
      if (items.length === 0) return;
      const text = `${items.join('\n')}\n`;
      hash.update(text);
      file.write(text);
      records += items.length;
    },
    end() {
      file.end();
      return { records, sha256: hash.digest('hex') };
    },
  };
}

function writeText(zip: ReturnType<typeof createZip>, name: string, text: string): string {
  const file = zip.add(name);
  file.write(text);
  file.end();
  return createHash('sha256').update(text).digest('hex');
}
