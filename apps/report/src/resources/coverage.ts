import * as store from '@keywarden/db/report';
import { html } from 'hono/html';
import { allow } from '../access/roles.ts';
import { coverageByDay, lastYear, renderMonths } from '../dashboard/calendar.ts';
import { linkTo } from '../dashboard/columns.ts';
import { type Column, firstRows, type Html, time } from '../dashboard/html.ts';
import { type Report, readQuery } from '../dashboard/page.ts';
import { listAnswer } from '../paging.ts';
import { word } from '../parameters.ts';
import { addList, addRoute } from '../route.ts';

const access = allow('viewer');

/** Adds the coverage of operations and of the inventory. */
export function addCoverage(report: Report): void {
  const { db, page } = report;
  const read = async (
    of: { projectId?: string | undefined; organizations: string[] | null; after: string | null },
    limit: number,
  ) => {
    const rows = await store.listCoverage(db, { ...of, limit: limit + 1 });
    const shown = rows.slice(0, limit);
    return {
      projects: shown.map(({ coverage }) => coverage),
      next: rows.length > limit ? (shown.at(-1)?.number ?? null) : null,
    };
  };
  addList(report, {
    path: '/v1/coverage/operations',
    summary: 'For each project, the times for which the archive has every operation, and the gaps with their reasons',
    access,
    filters: { project_id: word.optional() },
    item: store.operationCoverage,
    list: ({ query: { projectId }, organizations }) => ({
      order: { number: 'bigint' },
      read: async ({ limit, after }) => {
        const { projects, next } = await read({ projectId, organizations, after: after?.[0] ?? null }, limit);
        return { items: projects.map((project) => JSON.stringify(project)), next: next === null ? null : [next] };
      },
    }),
  });
  addRoute(report, {
    path: '/v1/coverage/inventory',
    summary: 'The complete key listings of each account and organization, and gaps of more than a day between them',
    access,
    response: listAnswer(store.inventoryCoverage),
    handle: async ({ organizations }) => {
      const scopes = await store.listInventoryCoverage(db);
      const items = scopes.filter(
        ({ scope }) => organizations === null || organizations.some((id) => scope === `organization:${id}`),
      );
      return { items, next_cursor: null };
    },
  });

  page('/coverage', access, async ({ principal: { organizations }, query }) => {
    const { cursor } = readQuery({ cursor: word.regex(/^\d{1,18}$/).optional() }, query);
    const { projects, next } = await read({ organizations, after: cursor ?? null }, 50);
    const days = lastYear(Date.parse(await store.readControlPlaneNow(db)));
    const months = projects.map((project) => ({
      name: linkTo('project_id', project.project_id),
      days: coverageByDay(project, days),
    }));
    return {
      title: 'Coverage',
      body: html`<p>The months for which the archive provably holds every operation of each project.
          Open a project to see its days and the reasons for its gaps.</p>
        ${projects.length === 0 ? html`<p class="empty">No project has been walked yet.</p>` : renderMonths(months)}
        ${next === null ? '' : html`<p class="paging"><a class="button" href="/coverage?cursor=${next}" rel="next">Next page</a></p>`}`,
    };
  });
}

/** Returns a table of the times for which the archive may lack operations of a project. */
export function gapTable(gaps: store.ProjectCoverage['unknown']): Html {
  const columns: Column<(typeof gaps)[number]>[] = [
    { label: 'From', cell: ({ from }) => time(from) },
    { label: 'To', cell: ({ to }) => time(to) },
    { label: 'Reason', is: 'text', cell: ({ reason }) => store.gapReasons[reason] },
  ];
  return firstRows({ caption: 'Coverage gaps', items: gaps, empty: 'Every operation is covered.', columns }, 100);
}
