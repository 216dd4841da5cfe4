import { type OpenAPIHono, z } from '@hono/zod-openapi';
import {
  findProjectNumbers,
  operationBucketList,
  operationList,
  operationVersionList,
  organizationList,
  projectList,
} from '@keywarden/db/report';
import type { Dependencies, Env } from '../environment.ts';
import { operationFilters, toOperationFilter } from '../filters.ts';
import { instant, word } from '../parameters.ts';
import { notFound, Problem } from '../problem.ts';
import { addList } from '../route.ts';
import { operationBucket, operationItem, operationVersion, organizationItem, projectItem } from '../shapes/archive.ts';

const access = { role: 'viewer', organizations: 'filtered' } as const;

/** More buckets than that are no answer that anybody reads. */
const mostBuckets = 2000;
const sizeMs = { hour: 3_600_000, day: 86_400_000, month: 28 * 86_400_000 };
const groupings = ['action', 'status', 'project'] as const;

/** The archive's operations, and the projects and organizations that they are of. */
export function operationRoutes(app: OpenAPIHono<Env>, { db }: Dependencies): void {
  addList(
    app,
    db,
    {
      path: '/v1/operations',
      summary: 'Operations, newest first, those that the control plane has pruned too',
      access,
      filters: operationFilters,
      item: operationItem,
    },
    async ({ query, principal: { organizations } }) => {
      const filter = toOperationFilter(query);
      const projects = await findProjectNumbers(db, { projectId: filter.projectId, organizations });
      return { list: operationList(filter, projects) };
    },
  );

  addList(
    app,
    db,
    {
      path: '/v1/projects/{project_id}/operations/{operation_id}/versions',
      summary: 'Every version of an operation that was seen, newest first',
      access,
      params: z.object({ project_id: word, operation_id: z.guid() }),
      item: operationVersion,
    },
    async ({ params, principal: { organizations } }) => {
      const projects = await findProjectNumbers(db, { projectId: params.project_id, organizations });
      if (projects === null || projects.length === 0) throw notFound('project of this id', '/v1/projects');
      return { list: operationVersionList(projects, params.operation_id) };
    },
  );

  addList(
    app,
    db,
    {
      path: '/v1/operations/buckets',
      summary: 'How many operations were created in each hour, day or month of UTC, oldest first',
      access,
      filters: {
        ...operationFilters,
        from: instant,
        to: instant,
        size: z.enum(['hour', 'day', 'month']).default('day'),
        by: z
          .string()
          .regex(/^(action|status|project)(,(action|status|project))*$/)
          .optional()
          .openapi({ description: 'What is counted apart: action, status, project, with commas between' }),
      },
      item: operationBucket,
    },
    async ({ query, principal: { organizations } }) => {
      const filter = toOperationFilter(query);
      const buckets = (Date.parse(query.to) - Date.parse(query.from)) / sizeMs[query.size];
      if (!(buckets <= mostBuckets))
        throw new Problem(
          400,
          'Bad parameter',
          `from, to: hold more than ${mostBuckets} buckets; choose a larger size or a shorter time.`,
        );
      const projects = await findProjectNumbers(db, { projectId: filter.projectId, organizations });
      const by = groupings.filter((name) => query.by?.split(',').includes(name));
      return { list: operationBucketList({ ...filter, size: query.size, by }, projects) };
    },
  );

  addList(
    app,
    db,
    { path: '/v1/organizations', summary: 'Organizations that were seen', access, item: organizationItem },
    ({ principal: { organizations } }) => ({ list: organizationList(organizations) }),
  );
  addList(
    app,
    db,
    {
      path: '/v1/projects',
      summary: 'Projects that were seen, gone ones too',
      access,
      filters: { organization_id: word.optional(), state: z.enum(['active', 'gone']).optional() },
      item: projectItem,
    },
    ({ query, principal: { organizations } }) => ({
      list: projectList({ organizationId: query.organization_id, state: query.state }, organizations),
    }),
  );
}
