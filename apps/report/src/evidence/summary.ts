import type { EvidenceFile, Manifest } from './archive.ts';

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
