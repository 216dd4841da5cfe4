import { type OpenAPIHono, z } from '@hono/zod-openapi';
import { readPresent } from '@keywarden/db/report';
import { nameOf } from '../access/roles.ts';
import type { Env, Services } from '../environment.ts';
import { writeEvidence } from '../evidence/archive.ts';
import { readControls } from '../evidence/controls.ts';
import { listOf } from '../paging.ts';
import { instant } from '../parameters.ts';
import { notFound, Problem } from '../problem.ts';
import { addRoute } from '../route.ts';

const access = { role: 'auditor', organizations: 'all' } as const;

/** Evidence for the controls of published frameworks. */
export function evidenceRoutes(app: OpenAPIHono<Env>, { db, streams, now }: Services): void {
  const controls = readControls();
  addRoute(
    app,
    {
      path: '/v1/evidence/controls',
      summary: 'The controls that evidence can be asked for',
      access: { role: 'viewer', organizations: 'filtered' },
      response: listOf(
        z
          .strictObject({ id: z.string(), framework: z.string(), title: z.string(), requires: z.string() })
          .openapi('Control'),
      ),
    },
    ({ c }) => {
      const items = controls.map(({ id, framework, title, requires }) => ({ id, framework, title, requires }));
      return c.json({ items, next_cursor: null }, 200);
    },
  );
  addRoute(
    app,
    {
      path: '/v1/evidence',
      summary:
        'Evidence for controls in a period, as a zip archive: what was required, measured, excepted, and not seen',
      access,
      query: z.strictObject({
        control: z.string().min(1).max(1000).openapi({
          description: 'Ids of /v1/evidence/controls, with commas between: pci-dss-4.0.1:7.2.4,soc-2:CC6.1',
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
      const present = await readPresent(db);
      const asOf = Date.parse(to) < Date.parse(present) ? to : present;
      if (!(Date.parse(from) < Date.parse(asOf)))
        throw new Problem(
          400,
          'Bad parameter',
          `from, to: are no period of the past; the control plane's present is ${present}.`,
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
}
