import type { OpenAPIHono } from '@hono/zod-openapi';
import {
  inventoryCoverage,
  listCoverage,
  listInventoryCoverage,
  operationCoverage,
  type ProjectCoverage,
  readControlPlaneNow,
} from '@keywarden/db/report';
import { html } from 'hono/html';
import { allow } from '../access/roles.ts';
import { daysOf, renderMonths } from '../dashboard/calendar.ts';
import { type Html, link, table, time } from '../dashboard/html.ts';
import { type Pages, readQuery } from '../dashboard/page.ts';
import type { Env, Services } from '../environment.ts';
import { listOf } from '../paging.ts';
import { word } from '../parameters.ts';
import { addList, addRoute } from '../route.ts';

const access = allow('viewer');
const reasons = {
  recent: 'not walked since, or too young to be sure of',
  deleted: 'the project went before a walk came there',
  unreadable: 'rows of the project cannot be read, and perhaps they belong here',
  not_walked: 'the first walk has not come so far',
  pruned: 'not served any more when it was first walked',
  gap: 'no walk came there while it was served',
  instant: 'operations of this one time could not be proved whole',
  retention: 'dropped by our own retention',
};

/** What the store is known to hold. */
export function addCoverage(app: OpenAPIHono<Env>, { page }: Pages, { db, sql }: Services): void {
  const read = async (
    of: { projectId?: string | undefined; organizations: string[] | null; after: string | null },
    limit: number,
  ) => {
    const rows = await listCoverage(db, { ...of, limit: limit + 1 });
    const shown = rows.slice(0, limit);
    return {
      projects: shown.map(({ number: _number, ...coverage }) => coverage),
      next: rows.length > limit ? (shown.at(-1)?.number ?? null) : null,
    };
  };
  addList(
    app,
    db,
    {
      path: '/v1/coverage/operations',
      summary: 'Of each project the times of which the archive has every operation, and the others with why not',
      access,
      filters: { project_id: word.optional() },
      item: operationCoverage,
    },
    ({ query: { project_id: projectId }, organizations }) => ({
      list: {
        order: [{ type: 'bigint' }],
        read: async ({ limit, after }) => {
          const { projects, next } = await read({ projectId, organizations, after: after?.[0] ?? null }, limit);
          return { items: projects.map((project) => JSON.stringify(project)), next: next === null ? null : [next] };
        },
      },
    }),
  );
  addRoute(
    app,
    {
      path: '/v1/coverage/inventory',
      summary:
        'When the keys of each account and organization were listed whole, and where more than a day lies between',
      access,
      response: listOf(inventoryCoverage),
    },
    async ({ organizations }) => {
      const scopes = await listInventoryCoverage(sql);
      const items = scopes.filter(
        ({ scope }) => organizations === null || organizations.some((id) => scope === `organization:${id}`),
      );
      return { items, next_cursor: null };
    },
  );

  page('/coverage', access, async ({ principal: { organizations }, query }) => {
    const { cursor } = readQuery({ cursor: word.regex(/^\d{1,18}$/).optional() }, query);
    const untilMs = Date.parse(await readControlPlaneNow(db));
    const { projects, next } = await read({ organizations, after: cursor ?? null }, 50);
    const months = projects.map((project) => ({
      name: link(`/projects/${encodeURIComponent(project.project_id)}`, project.project_id),
      days: daysOf(project, { untilMs, days: 365 }),
    }));
    return {
      title: 'Coverage',
      body: html`<p>Of which months the archive is known to hold every operation of each project. A project’s page has its days, and why others are not known.</p>
        ${projects.length === 0 ? html`<p class="empty">No project was walked so far.</p>` : renderMonths(months)}
        ${next === null ? '' : html`<p class="paging"><a class="button" href="/coverage?cursor=${next}" rel="next">Next page</a></p>`}`,
    };
  });
}

/** The times of a project of which the archive may lack operations. */
export function holeTable(holes: ProjectCoverage['unknown']): Html {
  return table({
    caption: 'Not known',
    items: holes.slice(0, 100),
    empty: 'Every operation is known.',
    columns: [
      { label: 'Not known from', cell: ({ from }) => time(from) },
      { label: 'To', cell: ({ to }) => time(to) },
      { label: 'Because', is: 'text', cell: ({ reason }) => reasons[reason] },
    ],
  });
}
