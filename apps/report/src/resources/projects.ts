import { addDays, monthOf } from '@keywarden/core/values';
import * as store from '@keywarden/db/report';
import { html } from 'hono/html';
import { allow } from '../access/roles.ts';
import { coverageByDay, lastYear, renderCalendar } from '../dashboard/calendar.ts';
import { columnsFor, linkTo } from '../dashboard/columns.ts';
import { chart, facts, link, section, state, time } from '../dashboard/html.ts';
import { operationsByDay } from '../dashboard/operations-chart.ts';
import { firstPart, type Report, readParameter } from '../dashboard/page.ts';
import { word } from '../parameters.ts';
import { addResource } from '../resource.ts';
import { requireItem } from '../route.ts';
import { gapTable } from './coverage.ts';
import { keyColumns } from './keys.ts';
import { operationColumns } from './operations.ts';

/** Adds organizations and projects, and the page of one project. */
export function addProjects(report: Report): void {
  const { db } = report;
  addResource(report, {
    name: 'organizations',
    summary: 'Observed organizations',
    access: allow('viewer'),
    item: store.organizationItem,
    filters: {},
    list: ({ organizations }) => store.organizationList(organizations),
  });
  addResource(report, {
    name: 'projects',
    summary: 'Observed projects, including projects that are gone',
    access: allow('viewer'),
    item: store.projectItem,
    filters: { organization_id: word.optional(), state: store.projectItem.shape.state.optional() },
    list: ({ query, organizations }) => store.projectList(query, organizations),
    page: {
      title: 'Projects',
      fields: { organization_id: 'Organization' },
      columns: columnsFor(store.projectItem, {
        id: { label: 'Project', cell: ({ id }) => linkTo('project_id', id) },
        name: 'Name',
        organization_id: { label: 'Organization', cell: ({ organization_id: id }) => id },
        created_at: 'Created',
        last_seen_at: 'Last listed',
        walked_at: 'Last walked',
        state: 'State',
      }),
      empty: 'There is no project here yet. The daemon lists projects, and so does keywarden sync.',
    },
  });

  report.page('/projects/:project', allow('viewer'), async ({ c, principal: { organizations } }) => {
    const id = readParameter(c, 'project', word);
    const project = await requireItem(db, store.projectList({ id }, organizations), [
      'project with this id',
      '/projects',
    ]);
    const numbers = await store.findProjectNumbers(db, { projectId: id, organizations });
    const controlPlaneNowMs = Date.parse(await store.readControlPlaneNow(db));
    const [{ coverage } = {}] = await store.listCoverage(db, { projectId: id, organizations, limit: 1 });
    const newest = await firstPart(db, store.operationList({}, numbers), {
      limit: 20,
      caption: 'Newest operations',
      columns: operationColumns.filter(({ label }) => label !== 'Project'),
      empty: 'The archive has no operation of this project.',
    });
    const keys = await firstPart(db, store.keyList({ projectId: id }, { organizations }), {
      caption: 'Keys of this project',
      columns: keyColumns,
      empty: 'There is no key for only this project.',
    });
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
          ['State', state(project.state)],
          project.gone_at !== null && ['Gone', time(project.gone_at)],
        ])}
        ${coverage === undefined ? '' : section('Coverage', html`${renderCalendar(coverageByDay(coverage, lastYear(controlPlaneNowMs)), (month) => monthLink(project.id, month))}${gapTable(coverage.unknown)}`)}
        ${section('Operations', chart(await operationsByDay(db, numbers, controlPlaneNowMs)), { more: link(`/operations?project_id=${encodeURIComponent(id)}`, 'All operations') })}
        ${section('Newest operations', newest)}
        ${section('Keys of this project', keys)}
      `,
    };
  });
}

function monthLink(project: string, month: string) {
  const next = monthOf(addDays(`${month}-01`, 31));
  const query = new URLSearchParams({ project_id: project, from: `${month}-01`, to: `${next}-01` });
  return link(`/operations?${query.toString()}`, month);
}
