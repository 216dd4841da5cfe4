import type { z } from '@hono/zod-openapi';
import {
  findProjectNumbers,
  keyList,
  listCoverage,
  operationBucketList,
  operationList,
  projectList,
  type Reader,
  readOne,
  readPage,
  readPresent,
} from '@keywarden/db/report';
import { html } from 'hono/html';
import type { Services } from '../environment.ts';
import { operationFilters, toOperationFilter } from '../filters.ts';
import { word } from '../parameters.ts';
import { notFound } from '../problem.ts';
import { operationBucket, operationItem, projectItem } from '../shapes/archive.ts';
import { keyItem } from '../shapes/keys.ts';
import { daysOf, renderCalendar, renderMonths } from './calendar.ts';
import { type Chart, type Column, chart, facts, link, section, state, table, time } from './html.ts';
import { listPart, type Pages, readParameter, readQuery } from './page.ts';
import { keyColumns } from './tables.ts';

const access = { role: 'viewer', organizations: 'filtered' } as const;
const dayMs = 86_400_000;
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

const operationColumns: Column<z.infer<typeof operationItem>>[] = [
  { label: 'Created', cell: (each) => time(each.created_at) },
  { label: 'Action', cell: ({ action }) => action },
  { label: 'Status', cell: ({ status }) => state(status) },
  { label: 'Project', cell: ({ project_id: id }) => link(`/projects/${encodeURIComponent(id)}`, id) },
  { label: 'Branch', cell: ({ branch_id: id }) => id },
  {
    label: 'Took',
    is: 'number',
    cell: ({ total_duration_ms: ms }) => (ms === null ? '' : `${ms.toLocaleString('en')} ms`),
  },
  { label: 'Failures', is: 'number', cell: ({ failures_count: count }) => count },
  { label: 'Error', is: 'text', cell: ({ error }) => error },
];

/** Operations of the last days by day and action, of all projects or some; the rarer actions together. */
export async function operationsByDay(db: Reader, projects: string[] | null, untilMs: number): Promise<Chart> {
  const days = 30;
  const until = new Date((Math.floor(untilMs / dayMs) + 1) * dayMs);
  const from = new Date(until.getTime() - days * dayMs);
  const list = operationBucketList(
    { from: from.toISOString(), to: until.toISOString(), size: 'day', by: ['action'] },
    projects,
  );
  const { items } = await readPage(db, list, { limit: 2000, after: null });
  const buckets = items.map((item) => operationBucket.parse(JSON.parse(item)));
  const labels = Array.from({ length: days }, (_, index) =>
    new Date(from.getTime() + index * dayMs).toISOString().slice(0, 10),
  );
  const totals = Map.groupBy(buckets, ({ action }) => action ?? '');
  const ranked = [...totals]
    .map(([name, of]) => ({ name, of, sum: of.reduce((sum, each) => sum + each.operations, 0) }))
    .toSorted((a, b) => b.sum - a.sum);
  const named = [
    ...ranked.slice(0, 5),
    ...(ranked.length > 5 ? [{ name: 'others', of: ranked.slice(5).flatMap(({ of }) => of) }] : []),
  ];
  return {
    title: 'Operations by day and action, the last 30 days',
    labels,
    series: named.map(({ name, of }) => ({
      name: name.replaceAll('_', ' '),
      values: labels.map((day) =>
        of.reduce((sum, each) => sum + (each.start.startsWith(day) ? each.operations : 0), 0),
      ),
    })),
  };
}

/** The archive: operations, projects, and of which times they are known. */
export function archivePages({ page }: Pages, services: Services): void {
  const { db } = services;
  page('/operations', access, async (visit) => {
    const { organizations } = visit.principal;
    const body = await listPart(visit, services, {
      filters: operationFilters,
      fields: [
        { name: 'project_id', label: 'Project' },
        { name: 'branch_id', label: 'Branch' },
        { name: 'endpoint_id', label: 'Endpoint' },
        { name: 'action', label: 'Action', placeholder: 'start_compute' },
        { name: 'status', label: 'Status', placeholder: 'finished' },
        { name: 'from', label: 'From', placeholder: '2025-11-01' },
        { name: 'to', label: 'Before', placeholder: '2025-12-01' },
      ],
      list: async (query) => {
        const filter = toOperationFilter(query);
        return operationList(filter, await findProjectNumbers(db, { projectId: filter.projectId, organizations }));
      },
      item: operationItem,
      caption: 'Operations',
      columns: operationColumns,
      empty: 'No operation is like that. Coverage tells of which times the archive knows.',
      exported: 'operations',
    });
    return { title: 'Operations', body };
  });

  page('/projects', access, async (visit) => ({
    title: 'Projects',
    body: await listPart(visit, services, {
      filters: { organization_id: word.optional() },
      fields: [{ name: 'organization_id', label: 'Organization' }],
      list: (query) => projectList({ organizationId: query.organization_id }, visit.principal.organizations),
      item: projectItem,
      caption: 'Projects',
      columns: [
        { label: 'Project', cell: ({ id }) => link(`/projects/${encodeURIComponent(id)}`, id) },
        { label: 'Name', is: 'text', cell: ({ name }) => name },
        { label: 'Organization', cell: ({ organization_id: id }) => id },
        { label: 'Created', cell: (each) => time(each.created_at) },
        { label: 'Last listed', cell: (each) => time(each.last_seen_at) },
        { label: 'Last walked', cell: (each) => time(each.walked_at) },
        { label: 'State', cell: ({ gone_at: gone }) => state(gone === null ? 'active' : 'gone') },
      ],
      empty: 'No project was seen.',
    }),
  }));

  page('/projects/:project', access, async ({ c, principal: { organizations } }) => {
    const id = readParameter(c, 'project', word);
    const found = await readOne(db, projectList({ id }, organizations));
    if (found === undefined) throw notFound('project of this id', '/projects');
    const project = projectItem.parse(JSON.parse(found));
    const numbers = await findProjectNumbers(db, { projectId: id, organizations });
    const presentMs = Date.parse(await readPresent(db));
    const [coverage] = await listCoverage(db, { projectId: id, organizations, limit: 1 });
    const recent = await readPage(db, operationList({}, numbers), { limit: 20, after: null });
    const keys = await readPage(db, keyList({ projectId: id }, { organizations }), { limit: 50, after: null });
    return {
      title: project.name,
      body: html`
        ${facts([
          ['Id', project.id],
          ['Organization', project.organization_id],
          ['Region', project.region_id],
          ['Created', time(project.created_at)],
          ['Last listed', time(project.last_seen_at)],
          ['Last walked', time(project.walked_at)],
          ['Gone', project.gone_at === null ? 'no' : time(project.gone_at)],
        ])}
        ${coverage === undefined ? '' : section('Coverage', html`${renderCalendar(daysOf(coverage, { untilMs: presentMs, days: 365 }), (month) => monthLink(project.id, month))}${holeTable(coverage.unknown)}`)}
        ${section('Operations', chart(await operationsByDay(db, numbers, presentMs)), { more: link(`/operations?project_id=${encodeURIComponent(id)}`, 'All operations') })}
        ${section('The newest', table({ caption: 'Newest operations', items: recent.items.map((item) => operationItem.parse(JSON.parse(item))), columns: operationColumns.filter(({ label }) => label !== 'Project'), empty: 'The archive has none.' }))}
        ${section('Keys of this project', table({ caption: 'Keys of this project', items: keys.items.map((item) => keyItem.parse(JSON.parse(item))), columns: keyColumns, empty: 'No key is of this project alone.' }))}
      `,
    };
  });

  page('/coverage', access, async ({ principal: { organizations }, query }) => {
    const { cursor } = readQuery({ cursor: word.regex(/^\d{1,18}$/).optional() }, query);
    const untilMs = Date.parse(await readPresent(db));
    const shown = 50;
    const rows = await listCoverage(db, { organizations, after: cursor ?? null, limit: shown + 1 });
    const projects = rows.slice(0, shown);
    const next = rows.length > shown ? projects.at(-1)?.number : undefined;
    const months = projects.map((project) => ({
      name: link(`/projects/${encodeURIComponent(project.projectId)}`, project.projectId),
      days: daysOf(project, { untilMs, days: 365 }),
    }));
    return {
      title: 'Coverage',
      body: html`<p>Of which months the archive is known to hold every operation of each project. A project’s page has its days, and why others are not known.</p>
        ${projects.length === 0 ? html`<p class="empty">No project was walked so far.</p>` : renderMonths(months)}
        ${next === undefined ? '' : html`<p class="paging"><a class="button" href="/coverage?cursor=${next}" rel="next">Next page</a></p>`}`,
    };
  });
}

/** The operations of a month. */
function monthLink(project: string, month: string) {
  const next = new Date(Date.UTC(Number(month.slice(0, 4)), Number(month.slice(5)), 1)).toISOString().slice(0, 10);
  const query = new URLSearchParams({ project_id: project, from: `${month}-01`, to: next });
  return link(`/operations?${query.toString()}`, month);
}

function holeTable(holes: Awaited<ReturnType<typeof listCoverage>>[number]['unknown']) {
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
