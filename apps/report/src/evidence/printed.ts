import { printableHtml } from '@keywarden/runtime';
import { html, raw } from 'hono/html';
import { type EvidenceFile, exceptionsInWords, type Manifest, resultInWords } from './summary.ts';

// The summary as one page without scripts, links to other hosts or files of its own, so that an auditor can read and print it anywhere.

const style = `body{font:14px/1.5 system-ui,sans-serif;max-width:60rem;margin:2rem auto;padding:0 1rem;color:#1a1a1a}
h2{margin-top:2.5rem;break-after:avoid}table{border-collapse:collapse;width:100%;margin:.5rem 0}
th,td{border:1px solid #bbb;padding:.25rem .5rem;text-align:left;vertical-align:top;overflow-wrap:anywhere}
.number{text-align:right}.partial{border-left:4px solid #b45309;padding-left:1rem}
section{break-inside:avoid-page}svg{display:block;margin:.5rem 0}@page{margin:1.5cm}`;

/** Returns the summary of the archive as a page of HTML to read or print. */
export async function renderSummary(manifest: Manifest): Promise<string> {
  const { from, to, as_of: asOf, made_at: madeAt, made_by: madeBy, partial, partial_because: because } = manifest;
  const page = html`<!doctype html>
    <html lang="en">
      <head>
        <meta charset="utf-8" />
        <title>Evidence from ${from.slice(0, 10)} to ${to.slice(0, 10)}</title>
        <style>${raw(style)}</style>
      </head>
      <body>
        <h1>Evidence from ${from} to ${to}${partial ? ' (partial)' : ''}</h1>
        <p>Created ${madeAt} by ${madeBy}. Keys are shown as of ${asOf}. manifest.json has the SHA-256 of each file but the summaries.</p>
        ${
          partial
            ? html`<div class="partial"><p><strong>Partial.</strong> What could not be observed:</p><ul>${because.map((each) => html`<li>${each}</li>`)}</ul></div>`
            : html`<p>No blind spot or gap in the period is known of what was measured.</p>`
        }
        ${renderChart(manifest)}
        ${manifest.controls.map(
          (control) => html`<section>
            <h2>${control.id}: ${control.title}</h2>
            <p>${control.framework}.</p>
            <p><strong>Required.</strong> ${control.requires}</p>
            <p><strong>Exceptions.</strong> ${exceptionsInWords(control, manifest)}</p>
            ${renderFiles(manifest, control.id)}
          </section>`,
        )}
        <h2>Attachments</h2>
        <ul>${manifest.attachments.map(({ file, records }) => html`<li>${file}: ${records}</li>`)}</ul>
      </body>
    </html>`;
  return `${printableHtml((await page).toString())}\n`;
}

function renderFiles(manifest: Manifest, control: string) {
  const files = manifest.files.filter((file) => file.control === control);
  return html`<table>
      <thead><tr><th>Measure</th><th>Result</th><th>Files</th></tr></thead>
      <tbody>
        ${files.map(
          (file) => html`<tr>
            <td>${file.measure.says}</td>
            <td>${resultInWords(file, manifest)}. ${file.missing ?? ''}</td>
            <td>${file.file}<br />${file.csv.file}</td>
          </tr>`,
        )}
      </tbody>
    </table>
    ${files.filter(({ exceptions_by: groups }) => groups.length > 0).map(renderGroups)}`;
}

const mostGroups = 100;

function renderGroups({ measure, exceptions_by: groups }: EvidenceFile) {
  return html`<table>
    <caption>${measure.says} By organization, owner and status.</caption>
    <thead><tr><th>Organization</th><th>Owner</th><th>Status</th><th class="number">Exceptions</th></tr></thead>
    <tbody>
      ${groups.slice(0, mostGroups).map(
        (group) => html`<tr>
          <td>${group.organization_id ?? 'personal'}</td><td>${group.owner}</td><td>${group.status}</td>
          <td class="number">${group.exceptions}</td>
        </tr>`,
      )}
    </tbody>
  </table>${groups.length > mostGroups ? html`<p>${groups.length - mostGroups} more groups are in manifest.json.</p>` : ''}`;
}

const [barHeight, gap, labelWidth, chartWidth] = [18, 8, 190, 560];

/** Returns a chart of the exceptions of each control, and of the keys that could not be assessed. */
function renderChart({ controls }: Manifest) {
  const bars = controls.flatMap(({ id, exceptions, not_assessable: unknown }) =>
    exceptions === null ? [] : [{ id, exceptions, unknown }],
  );
  const most = Math.max(1, ...bars.map(({ exceptions, unknown }) => exceptions + unknown));
  const widthOf = (count: number) => Math.round((count / most) * (chartWidth - labelWidth - 110));
  if (bars.length === 0) return '';
  const height = bars.length * (barHeight + gap);
  return html`<figure>
    <figcaption>Exceptions (dark) and keys that could not be assessed (light), by control</figcaption>
    <svg viewBox="0 0 ${chartWidth} ${height}" width="${chartWidth}" height="${height}" role="img" aria-label="Exceptions by control; the numbers are in the text">
      ${bars.map(({ id, exceptions, unknown }, index) => {
        const y = index * (barHeight + gap);
        const text = unknown === 0 ? String(exceptions) : `${exceptions} and ${unknown} unknown`;
        return html`<text x="0" y="${y + 13}" font-size="12">${id}</text>
          <rect x="${labelWidth}" y="${y}" width="${widthOf(exceptions)}" height="${barHeight}" fill="#1d4ed8" />
          <rect x="${labelWidth + widthOf(exceptions)}" y="${y}" width="${widthOf(unknown)}" height="${barHeight}" fill="#c7d2fe" />
          <text x="${labelWidth + widthOf(exceptions + unknown) + 6}" y="${y + 13}" font-size="12">${text}</text>`;
      })}
    </svg>
  </figure>`;
}
