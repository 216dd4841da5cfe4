import { countOf } from '@keywarden/core/values';
import { printable } from '@keywarden/runtime';
import type { Control, Measure } from './controls.ts';
import type { Written, WrittenTable } from './files.ts';

/** The keys of a measure that could not be assessed, and how many for which reason. */
export interface Unassessed extends WrittenTable {
  because: { reason: string; keys: number }[];
}

/** The number of exceptions of one organization, owner and status. */
export interface ExceptionGroup {
  organization_id: string | null;
  owner: string;
  status: string;
  exceptions: number;
}

/** One measure of the archive, as listed in the manifest: its rows as NDJSON and as CSV. */
export interface EvidenceFile extends WrittenTable {
  control: string;
  measure: Measure;
  /** Null if the rows only show activity and are neither right nor wrong. */
  exceptions: number | null;
  /** Null if each key could be assessed. Unknown is neither an exception nor the absence of one. */
  not_assessable: Unassessed | null;
  exceptions_by: ExceptionGroup[];
  missing: string | null;
}

export interface Manifest {
  made_at: string;
  made_by: string;
  from: string;
  to: string;
  /** The time that the keys are shown as of. */
  as_of: string;
  /** `exceptions` is null if no measure of the control counts exceptions. */
  controls: (Omit<Control, 'measures'> & { exceptions: number | null; not_assessable: number })[];
  files: EvidenceFile[];
  /** Part of the period was not observed or may be missing, so the evidence of absence is incomplete. */
  partial: boolean;
  partial_because: string[];
  attachments: Written[];
}

/** Follows a result without exceptions if part of the period was not observed. */
const inObserved = ' in what was observed';

/** Returns a summary of the archive as Markdown: requirements, measurements, exceptions and blind spots. */
export function summarize(manifest: Manifest): string {
  const { from, to, as_of: asOf, made_at: madeAt, made_by: madeBy } = manifest;
  const text = [
    `# Evidence from ${from} to ${to}${manifest.partial ? ' (partial)' : ''}`,
    `Created ${madeAt} by ${madeBy}. Keys are shown as of ${asOf}. manifest.json has the SHA-256 of each file but the summaries.`,
    manifest.partial
      ? `**Partial**: ${manifest.partial_because.join('; ')}. The files under not-seen/ list the gaps and blind spots.`
      : 'No blind spot or gap in the period is known of what was measured.',
    ...manifest.controls.flatMap((control) => [
      `## ${control.id}: ${control.title}`,
      `${control.framework}.`,
      `**Required.** ${control.requires}`,
      '**Measured.**',
      manifest.files
        .filter((file) => file.control === control.id)
        .map((file) => describe(file, manifest))
        .join('\n'),
      `**Exceptions.** ${exceptionsInWords(control, manifest)}`,
    ]),
    '',
  ].join('\n\n');
  return printable(text);
}

type Completeness = Pick<Manifest, 'partial'>;

/** Returns the result of a control in words. What was not observed may have exceptions, so a partial archive does not say that there are none. */
export function exceptionsInWords(
  { exceptions, not_assessable: unknown }: Manifest['controls'][number],
  { partial }: Completeness,
): string {
  if (exceptions === null) return 'No measure of this control counts exceptions; review its files.';
  const rest = unknown === 0 ? '' : ` Not assessable: ${unknown}.`;
  if (exceptions > 0) return `${exceptions}.${rest}`;
  const assessed = unknown === 0 ? '' : ' among those that could be assessed';
  return `None found${assessed}${partial ? inObserved : ''}.${rest}`;
}

function describe(file: EvidenceFile, completeness: Completeness): string {
  return `- ${file.measure.says} ${resultInWords(file, completeness)} (${file.file}, ${file.csv.file}).${file.missing === null ? '' : ` ${file.missing}`}`;
}

/** Returns the result of a measure in words: "3 records, 3 exceptions, 2 not assessable because ...". */
export function resultInWords(
  { records, exceptions, not_assessable: unknown }: EvidenceFile,
  { partial }: Completeness,
): string {
  const count = countOf(records, 'record');
  const some = exceptions === 0 ? `no exception${partial ? inObserved : ''}` : countOf(exceptions ?? 0, 'exception');
  const verdict = exceptions === null ? '' : `, ${some}`;
  const why = unknown?.because.map(({ reason, keys }) => `${keys} because ${reason}`).join('; ');
  return `${count}${verdict}${unknown === null ? '' : `; not assessable: ${unknown.records}, ${why}; see ${unknown.file}`}`;
}
