import { z } from '@hono/zod-openapi';
import { addDays, monthOf } from '@keywarden/core/values';
import { nameInRecords, readControlPlaneNow } from '@keywarden/db/report';
import { html } from 'hono/html';
import { allow, allowWhole } from '../access/roles.ts';
import { type Html, section } from '../dashboard/html.ts';
import type { Report } from '../dashboard/page.ts';
import { writeEvidence } from '../evidence/archive.ts';
import { type Control, readControls } from '../evidence/controls.ts';
import { formats } from '../export/encode.ts';
import { listAnswer } from '../paging.ts';
import { dayOrInstant } from '../parameters.ts';
import { badParameter, notFound } from '../problem.ts';
import { addRoute } from '../route.ts';

/** Returns the chosen controls; all if none is named. Throws a Problem (404) for an unknown one. */
function chooseControls(controls: Control[], request: string | string[] | undefined): Control[] {
  if (request === undefined) return controls;
  // The form sends an empty one, so that no choice is not every control.
  const ids = [request]
    .flat()
    .flatMap((each) => each.split(','))
    .filter((id) => id !== '');
  if (ids.length === 0) throw badParameter('control: names none; choose at least one control.');
  return [...new Set(ids)].map((id) => {
    const found = controls.find((each) => each.id === id);
    if (found === undefined) throw notFound(`control ${id.slice(0, 100)}`, '/v1/evidence/controls');
    return found;
  });
}

/** Returns a name that tells archives apart: the controls, or their frameworks if there are several, and the first and the last day of the period. */
function fileNameOf(chosen: Control[], { of, from, to }: { of: number; from: string; to: string }): string {
  const frameworks = [...new Set(chosen.map(({ id }) => id.split(':')[0] ?? ''))];
  const [only] = chosen;
  const name =
    only !== undefined && chosen.length === 1
      ? only.id.replaceAll(':', '_')
      : chosen.length === of
        ? 'all'
        : frameworks.join('_');
  const last = new Date(Date.parse(to) - 1).toISOString();
  return `keywarden-evidence-${name}-${from.slice(0, 10)}-${last.slice(0, 10)}.zip`;
}

function yearBefore(day: string): string {
  const at = new Date(day);
  at.setUTCFullYear(at.getUTCFullYear() - 1);
  return at.toISOString();
}

/** Adds evidence for the controls of published frameworks, and the page of all exports. */
export function addEvidence(report: Report): void {
  const { db, page, streams, now } = report;
  const controls = readControls();
  addRoute(report, {
    path: '/v1/evidence/controls',
    summary: 'The controls that evidence is available for',
    access: allow('viewer'),
    response: listAnswer(
      z
        .strictObject({ id: z.string(), framework: z.string(), title: z.string(), requires: z.string() })
        .openapi('Control'),
    ),
    handle: () => ({ items: controls.map(({ measures: _measures, ...control }) => control), next_cursor: null }),
  });
  addRoute(report, {
    path: '/v1/evidence',
    summary:
      'Evidence for controls in a period, as a zip archive: requirements, measurements, exceptions and blind spots',
    access: allowWhole('auditor'),
    query: z.strictObject({
      control: z
        .union([z.string().max(1000), z.array(z.string().max(1000)).max(100)])
        .optional()
        .openapi({
          type: 'string',
          description:
            'Comma-separated ids from /v1/evidence/controls: pci-dss-4.0.1:7.2.4,soc-2:CC6.1; or the parameter several times. All by default',
        }),
      from: dayOrInstant({ isEnd: false })
        .optional()
        .openapi({ description: 'A date or a time; by default a year before the end' }),
      to: dayOrInstant({ isEnd: true })
        .optional()
        .openapi({ description: 'The last day, or a time that is not included; by default now' }),
    }),
    response: { contentTypes: ['application/zip'] },
    handle: async ({ c, principal, query }) => {
      const chosen = chooseControls(controls, query.control);
      const controlPlaneNow = await readControlPlaneNow(db);
      const { to = controlPlaneNow } = query;
      const asOf = Date.parse(to) < Date.parse(controlPlaneNow) ? to : controlPlaneNow;
      const { from = yearBefore(asOf) } = query;
      if (!(Date.parse(from) < Date.parse(asOf)))
        throw badParameter(`from, to: are not a past period; by the control plane's clock it is ${controlPlaneNow}.`);
      const period = { from, to, asOf };
      const fileName = fileNameOf(chosen, { of: controls.length, from, to: asOf });
      const request = { controls: chosen, period, madeAt: new Date(now()), madeBy: nameInRecords(principal), fileName };
      return await streams.answer(c, {
        fileName,
        contentType: 'application/zip',
        write: (snapshot) => writeEvidence(snapshot, request),
      });
    },
  });

  page('/evidence', allow('auditor'), async ({ principal }) => {
    const today = (await readControlPlaneNow(db)).slice(0, 10);
    const isWhole = principal.organizations === null;
    return {
      title: 'Exports and evidence',
      body: html`${exportsSection(isWhole)}${sealedForm(today)}${isWhole ? evidenceForm(controls, today) : ''}`,
    };
  });
}

function exportsSection(isWhole: boolean): Html {
  const files = ['keys', 'credentials', 'findings', 'revocations', ...(isWhole ? ['reviews'] : []), 'operations'];
  return section(
    'Exports',
    html`<p>Each file ends with a line with its count, its SHA-256 and the gaps in its coverage. A file without that line is cut.</p>
      ${isWhole ? html`<p>The ledger records each complete file. <a href="/ledger/events?type=export.completed">Receipts of exports</a> prove that a file was not changed since.</p>` : ''}
      <ul class="downloads">
        ${files.map(
          (name) =>
            html`<li>${name}: ${formats.map((format) => html`<a href="/v1/exports/${name}?format=${format}">${format}</a> `)}</li>`,
        )}
      </ul>`,
  );
}

function sealedForm(today: string): Html {
  // The newest days have no seals yet.
  const to = addDays(`${monthOf(today)}-01`, -1);
  return section(
    'Operations with seals',
    html`<form class="forms" method="get" action="/v1/exports/sealed-operations">
      <p>Download the operations of whole days, with the receipts of their seals in the ledger. <code>keywarden verify</code> checks without this report
        that the archive has exactly these operations.</p>
      ${periodFields({ name: 's', from: `${monthOf(to)}-01`, to, today })}
      <button type="submit">Download</button>
    </form>`,
  );
}

function evidenceForm(controls: Control[], today: string): Html {
  return section(
    'Evidence',
    html`<form class="forms" method="get" action="/v1/evidence">
      <input type="hidden" name="control" value="" />
      <p>Download one archive for auditors: for each control the requirement, the measurements, the exceptions, what could not be
        assessed, and the blind spots. It has a summary to print, and each table as NDJSON and CSV.</p>
      ${[...Map.groupBy(controls, ({ framework }) => framework)].map(
        ([framework, of]) => html`<fieldset>
          <legend>${framework}</legend>
          ${of.map(
            ({ id, title }) =>
              html`<label class="choice"><input type="checkbox" name="control" value="${id}" checked /> ${id}: ${title}</label>`,
          )}
        </fieldset>`,
      )}
      ${periodFields({ name: 'e', from: yearBefore(today).slice(0, 10), to: today, today })}
      <button type="submit">Download</button>
    </form>`,
  );
}

/** Returns the fields of a period of days. `name` begins their ids, which a page has once. */
function periodFields({ name, from, to, today }: { name: string; from: string; to: string; today: string }): Html {
  return html`<div class="field"><label for="${name}-from">From</label><input id="${name}-from" type="date" name="from" value="${from}" max="${today}" required /></div>
    <div class="field"><label for="${name}-to">To, included</label><input id="${name}-to" type="date" name="to" value="${to}" max="${today}" required /></div>`;
}
