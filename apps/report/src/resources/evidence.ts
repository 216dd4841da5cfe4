import { type OpenAPIHono, z } from '@hono/zod-openapi';
import { readControlPlaneNow } from '@keywarden/db/report';
import { html } from 'hono/html';
import { allow, allowWhole, nameOf } from '../access/roles.ts';
import { section } from '../dashboard/html.ts';
import type { Pages } from '../dashboard/page.ts';
import type { Env, Services } from '../environment.ts';
import { writeEvidence } from '../evidence/archive.ts';
import { readControls } from '../evidence/controls.ts';
import { formats } from '../export/encode.ts';
import { listOf } from '../paging.ts';
import { instant } from '../parameters.ts';
import { notFound, Problem } from '../problem.ts';
import { addRoute } from '../route.ts';

/** Adds evidence for the controls of published frameworks, and the page of all exports. */
export function addEvidence(app: OpenAPIHono<Env>, { page }: Pages, { db, streams, now }: Services): void {
  const controls = readControls();
  addRoute(
    app,
    {
      path: '/v1/evidence/controls',
      summary: 'The controls that evidence is available for',
      access: allow('viewer'),
      response: listOf(
        z
          .strictObject({ id: z.string(), framework: z.string(), title: z.string(), requires: z.string() })
          .openapi('Control'),
      ),
    },
    () => ({ items: controls.map(({ measures: _measures, ...control }) => control), next_cursor: null }),
  );
  addRoute(
    app,
    {
      path: '/v1/evidence',
      summary:
        'Evidence for controls in a period, as a zip archive: requirements, measurements, exceptions and blind spots',
      access: allowWhole('auditor'),
      query: z.strictObject({
        control: z.string().min(1).max(1000).openapi({
          description: 'Comma-separated ids from /v1/evidence/controls: pci-dss-4.0.1:7.2.4,soc-2:CC6.1',
        }),
        from: instant,
        to: instant,
      }),
      response: { contentTypes: ['application/zip'] },
    },
    async ({ c, principal, query: { control, from, to } }) => {
      const chosen = [...new Set(control.split(','))].map((id) => {
        const found = controls.find((each) => each.id === id);
        if (found === undefined) throw notFound(`control ${id.slice(0, 100)}`, '/v1/evidence/controls');
        return found;
      });
      const present = await readControlPlaneNow(db);
      const asOf = Date.parse(to) < Date.parse(present) ? to : present;
      if (!(Date.parse(from) < Date.parse(asOf)))
        throw new Problem(
          400,
          'Bad parameter',
          `from, to: are not a past period; by the control plane's clock it is ${present}.`,
        );
      const asked = {
        controls: chosen,
        period: { from, to, asOf },
        madeAt: new Date(now()),
        madeBy: nameOf(principal),
      };
      return await streams.answer(c, {
        fileName: `keywarden-evidence-${from.slice(0, 10)}-${to.slice(0, 10)}.zip`,
        contentType: 'application/zip',
        write: (snapshot) => writeEvidence(snapshot, asked),
      });
    },
  );

  page('/evidence', allow('auditor'), async ({ principal }) => {
    const present = (await readControlPlaneNow(db)).slice(0, 10);
    const year = String(Number(present.slice(0, 4)) - 1) + present.slice(4);
    const isWhole = principal.organizations === null;
    const files = ['keys', 'credentials', 'findings', 'revocations', ...(isWhole ? ['reviews'] : []), 'operations'];
    return {
      title: 'Exports and evidence',
      body: html`
        ${section(
          'Exports',
          html`<p>Each file ends with a line with its count, its SHA-256 and the gaps in its coverage. A file without that line is cut.</p>
            <ul class="downloads">
              ${files.map(
                (name) =>
                  html`<li>${name}: ${formats.map((format) => html`<a href="/v1/exports/${name}?format=${format}">${format}</a> `)}</li>`,
              )}
            </ul>`,
        )}
        ${
          isWhole
            ? section(
                'Evidence',
                html`<form class="forms" method="get" action="/v1/evidence">
                  <p>Download one archive for a control and a period: the requirement, the measurements, the exceptions and the blind spots.</p>
                  <div class="field">
                    <label for="e-control">Control</label>
                    <select id="e-control" name="control">
                      ${controls.map(({ id, title }) => html`<option value="${id}">${id}: ${title}</option>`)}
                    </select>
                  </div>
                  <div class="field"><label for="e-from">From</label><input id="e-from" name="from" value="${year}T00:00:00Z" required /></div>
                  <div class="field"><label for="e-to">Before</label><input id="e-to" name="to" value="${present}T00:00:00Z" required /></div>
                  <button type="submit">Download</button>
                </form>`,
              )
            : ''
        }
      `,
    };
  });
}
