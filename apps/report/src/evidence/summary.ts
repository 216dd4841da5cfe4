import type { Measure } from './controls.ts';

/** One file of the archive, as listed in the manifest. */
export interface EvidenceFile {
  file: string;
  control: string;
  measure: Measure;
  records: number;
  /** Null if the rows only show activity and are neither right nor wrong. */
  exceptions: number | null;
  missing: string | null;
  sha256: string;
}

export interface Manifest {
  made_at: string;
  made_by: string;
  from: string;
  to: string;
  /** The time that the keys are shown as of. */
  as_of: string;
  /** `exceptions` is null if no measure of the control counts exceptions. */
  controls: { id: string; framework: string; title: string; requires: string; exceptions: number | null }[];
  files: EvidenceFile[];
  /** Part of the period was not observed or may be missing, so the evidence of absence is incomplete. */
  partial: boolean;
  partial_because: string[];
  attachments: { file: string; records: number; sha256: string }[];
}

/** Returns a summary of the archive as Markdown: requirements, measurements, exceptions and blind spots. */
export function summarize(manifest: Manifest): string {
  const { from, to, as_of: asOf, made_at: madeAt, made_by: madeBy } = manifest;
  return [
    `# Evidence from ${from} to ${to}${manifest.partial ? ' (partial)' : ''}`,
    `Created ${madeAt} by ${madeBy}. Keys are shown as of ${asOf}. The SHA-256 of each file is in manifest.json.`,
    manifest.partial
      ? `**Partial**: ${manifest.partial_because.join('; ')}. The files under not-seen/ list the details.`
      : 'There is no known blind spot or gap in the period.',
    ...manifest.controls.flatMap((control) => [
      `## ${control.id}: ${control.title}`,
      `${control.framework}.`,
      `**Required.** ${control.requires}`,
      '**Measured.**',
      manifest.files
        .filter((file) => file.control === control.id)
        .map(describe)
        .join('\n'),
      inWords(control.exceptions),
    ]),
    '',
  ].join('\n\n');
}

function inWords(exceptions: number | null): string {
  if (exceptions === null) return '**Exceptions.** No measure of this control counts exceptions; review its files.';
  return exceptions === 0 ? '**Exceptions.** None found.' : `**Exceptions.** ${exceptions}.`;
}

function describe({ file, measure, records, exceptions, missing }: EvidenceFile): string {
  const count = records === 1 ? '1 record' : `${records} records`;
  const verdict =
    exceptions === null
      ? ''
      : exceptions === 0
        ? ', no exception'
        : exceptions === 1
          ? ', 1 exception'
          : `, ${exceptions} exceptions`;
  return `- ${measure.says} ${count}${verdict} (${file}).${missing === null ? '' : ` ${missing}`}`;
}
