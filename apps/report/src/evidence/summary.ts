import type { Measure } from './controls.ts';

/** One file of the archive, as its manifest names it. */
export interface EvidenceFile {
  file: string;
  control: string;
  measure: Measure;
  records: number;
  /** Null where rows show what was done, and none is right or wrong by itself. */
  exceptions: number | null;
  missing: string | null;
  sha256: string;
}

export interface Manifest {
  made_at: string;
  made_by: string;
  from: string;
  to: string;
  /** The keys are as they were then. */
  as_of: string;
  /** `exceptions` is null where no measure of the control judges by itself. */
  controls: { id: string; framework: string; title: string; requires: string; exceptions: number | null }[];
  files: EvidenceFile[];
  /** Something in the period was not seen, or may be missing: evidence of absence is not complete. */
  partial: boolean;
  partial_because: string[];
  attachments: { file: string; records: number; sha256: string }[];
}

/** The archive in words, as Markdown: what was asked for, what was measured, the exceptions, and what was not seen. */
export function summarize(manifest: Manifest): string {
  const { from, to, as_of: asOf, made_at: madeAt, made_by: madeBy } = manifest;
  return [
    `# Evidence from ${from} to ${to}${manifest.partial ? ' (partial)' : ''}`,
    `Made ${madeAt} by ${madeBy}. Keys are as they were at ${asOf}. Each file's SHA-256 stands in manifest.json.`,
    manifest.partial
      ? `**Partial**: ${manifest.partial_because.join('; ')}. The files under not-seen/ name each.`
      : 'Nothing in the period is known to be unseen.',
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
  if (exceptions === null)
    return '**Exceptions.** No measure of this control judges by itself; its files are to be read.';
  return exceptions === 0 ? '**Exceptions.** None was found.' : `**Exceptions.** ${exceptions}.`;
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
