import { z } from '@hono/zod-openapi';
import { dayMs } from '@keywarden/core/values';
import * as store from '@keywarden/db/report';
import { allow } from '../access/roles.ts';
import { columnsFor } from '../dashboard/columns.ts';
import type { Report } from '../dashboard/page.ts';
import { readOperationGaps } from '../export/operation-gaps.ts';
import { instant, word } from '../parameters.ts';
import { badParameter, notFound } from '../problem.ts';
import { addResource } from '../resource.ts';
import { addList, requireOne } from '../route.ts';

const access = allow('viewer');

/** The most buckets in an answer; more would not be readable. */
const mostBuckets = 2000;
const sizeMs = { hour: 3_600_000, day: dayMs, month: 28 * dayMs };
const groupings = ['action', 'status', 'project'] as const;

const filters = {
  project_id: word.optional(),
  branch_id: word.optional(),
  endpoint_id: word.optional(),
  action: word.optional(),
  status: word.optional(),
  from: instant.optional().openapi({ description: 'Created at this instant or later' }),
  to: instant.optional().openapi({ description: 'Created before this instant' }),
};

export const operationColumns = columnsFor(store.operationItem, {
  created_at: 'Created',
  action: 'Action',
  status: 'Status',
  project_id: 'Project',
  branch_id: 'Branch',
  total_duration_ms: {
    label: 'Took',
    cell: ({ total_duration_ms: ms }) => (ms === null ? '' : `${ms.toLocaleString('en')} ms`),
  },
  failures_count: 'Failures',
  error: 'Error',
});

/** Adds the operations of the archive. */
export function addOperations(report: Report): void {
  const { db } = report;
  addResource(report, {
    name: 'operations',
    summary: 'Operations, newest first, including those that the control plane has pruned',
    access,
    item: store.operationItem,
    filters,
    list: async ({ db: reader, query, organizations }) => {
      const projects = await store.findProjectNumbers(reader, { projectId: query.projectId, organizations });
      return store.operationList(query, projects, await store.findShards(reader, projects));
    },
    page: {
      title: 'Operations',
      fields: {
        project_id: 'Project',
        branch_id: 'Branch',
        endpoint_id: 'Endpoint',
        action: { label: 'Action', placeholder: 'start_compute' },
        status: { label: 'Status', placeholder: 'finished' },
        from: 'From',
        to: 'Before',
      },
      columns: operationColumns,
      empty: 'There is no operation here yet. The daemon reads operations, and so does keywarden sync.',
      unmatched: 'No operation matches. See Coverage for the times that the archive covers.',
    },
    file: {
      summary: 'Operations as a file, newest first',
      // A file of no operations would say that the project had none.
      async check({ db: reader, query: { projectId: id }, organizations }) {
        if (id !== undefined)
          await requireOne(reader, store.projectList({ id }, organizations), ['project with this id', '/v1/projects']);
      },
      trailer: async ({ db: reader, query, organizations }) =>
        await readOperationGaps(reader, { ...query, organizations }),
    },
  });

  addList(report, {
    path: '/v1/projects/{project_id}/operations/{operation_id}/versions',
    summary: 'Every observed version of an operation, newest first',
    access,
    params: z.object({ project_id: word, operation_id: z.guid() }),
    item: store.operationVersion,
    list: async ({ params, organizations }) => {
      const projects = await store.findProjectNumbers(db, { projectId: params.project_id, organizations });
      if (projects === null || projects.length === 0) throw notFound('project with this id', '/v1/projects');
      return store.operationVersionList(projects, params.operation_id);
    },
  });

  addList(report, {
    path: '/v1/operations/buckets',
    summary: 'How many operations were created in each hour, day or month of UTC, oldest first',
    access,
    filters: {
      ...filters,
      from: instant,
      to: instant,
      size: z.enum(['hour', 'day', 'month']).default('day'),
      by: z
        .string()
        .regex(/^(action|status|project)(,(action|status|project))*$/)
        .optional()
        .openapi({ description: 'Comma-separated fields to group by: action, status, project' }),
    },
    item: store.operationBucket,
    list: async ({ query, organizations }) => {
      const buckets = (Date.parse(query.to) - Date.parse(query.from)) / sizeMs[query.size];
      if (!(buckets <= mostBuckets))
        throw badParameter(`from, to: span more than ${mostBuckets} buckets; choose a larger size or a shorter time.`);
      const projects = await store.findProjectNumbers(db, { projectId: query.projectId, organizations });
      const by = groupings.filter((name) => query.by?.split(',').includes(name));
      return store.operationBucketList({ ...query, by }, projects);
    },
  });
}
