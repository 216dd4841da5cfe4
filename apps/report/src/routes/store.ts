import { type OpenAPIHono, z } from '@hono/zod-openapi';
import {
  accessList,
  connectionList,
  type Interval,
  listCoverage,
  listInventoryCoverage,
  type ProjectCoverage,
  runList,
} from '@keywarden/db/report';
import type { Dependencies, Env } from '../environment.ts';
import { listOf } from '../paging.ts';
import { digits, range, word } from '../parameters.ts';
import { addList, addRoute } from '../route.ts';
import { connectionItem, inventoryCoverage, operationCoverage } from '../shapes/archive.ts';
import { runItem } from '../shapes/governance.ts';
import { accessItem } from '../shapes/reviews.ts';

const filtered = { role: 'viewer', organizations: 'filtered' } as const;
const all = { role: 'viewer', organizations: 'all' } as const;

/** What the store is known to hold, how it came there, and who looked at it. */
export function storeRoutes(app: OpenAPIHono<Env>, { db, sql }: Dependencies): void {
  addList(
    app,
    db,
    {
      path: '/v1/coverage/operations',
      summary: 'Of each project the times of which the archive has every operation, and the others with why not',
      access: filtered,
      filters: { project_id: word.optional() },
      item: operationCoverage,
    },
    ({ query: { project_id: projectId }, principal: { organizations } }) => ({
      list: {
        order: [{ type: 'bigint' }],
        read: async ({ limit, after }) => {
          const rows = await listCoverage(db, {
            projectId,
            organizations,
            after: after?.[0] ?? null,
            limit: limit + 1,
          });
          const shown = rows.slice(0, limit);
          const last = rows.length > limit ? shown.at(-1) : undefined;
          return { items: shown.map((row) => JSON.stringify(renderCoverage(row))), next: last ? [last.number] : null };
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
      access: filtered,
      response: listOf(inventoryCoverage),
    },
    async ({ c, principal: { organizations } }) => {
      const scopes = await listInventoryCoverage(sql);
      const seen = scopes.filter(
        ({ scope }) => organizations === null || organizations.some((id) => scope === `organization:${id}`),
      );
      const items = seen.map(({ controlPlane, firstListedAt, lastListedAt, ...rest }) => ({
        control_plane: controlPlane,
        scope: rest.scope,
        first_listed_at: firstListedAt,
        last_listed_at: lastListedAt,
        listings: rest.listings,
        gaps: rest.gaps,
        doubt: rest.doubt,
      }));
      return c.json({ items, next_cursor: null }, 200);
    },
  );
  addList(
    app,
    db,
    {
      path: '/v1/runs',
      summary: 'Sync runs, newest first',
      access: all,
      filters: {
        kind: z.enum(['keys', 'operations', 'credentials']).optional(),
        connection: word.optional(),
        status: z.enum(['running', 'finished', 'failed', 'interrupted']).optional(),
      },
      item: runItem,
    },
    ({ query }) => ({ list: runList(query) }),
  );
  addList(
    app,
    db,
    {
      path: '/v1/connections',
      summary: 'Connections to control planes: what each sees, and what it is blind to',
      access: all,
      item: connectionItem,
    },
    () => ({ list: connectionList() }),
  );
  addList(
    app,
    db,
    {
      path: '/v1/access-log',
      summary: 'Who read, exported or changed what here, newest first',
      access: { role: 'auditor', organizations: 'all' },
      filters: { token_id: digits.optional(), ...range },
      item: accessItem,
    },
    ({ query: { token_id: tokenId, from, to } }) => ({ list: accessList({ tokenId, from, to }) }),
  );
  addRoute(
    app,
    {
      path: '/v1/me',
      summary: 'The token that is asking, and what it may',
      access: filtered,
      response: z
        .strictObject({
          id: z.string(),
          name: z.string(),
          role: z.enum(['viewer', 'auditor', 'operator']),
          organizations: z.array(z.string()).nullable().openapi({ description: 'null: all' }),
        })
        .openapi('Me'),
    },
    ({ c, principal: { token, name, role, organizations } }) => c.json({ id: token, name, role, organizations }, 200),
  );
}

function renderCoverage({ known, unknown, ...project }: ProjectCoverage): z.infer<typeof operationCoverage> {
  const render = ({ from, to, isFromIncluded, isToIncluded }: Interval) => ({
    from,
    to,
    from_included: isFromIncluded,
    to_included: isToIncluded,
  });
  return {
    control_plane: project.controlPlane,
    organization_id: project.organizationId,
    project_id: project.projectId,
    name: project.name,
    created_at: project.createdAt,
    walked_at: project.walkedAt,
    gone_at: project.goneAt,
    last_listed_at: project.lastListedAt,
    known: known.map(render),
    unknown: unknown.map((hole) => ({ ...render(hole), reason: hole.reason })),
  };
}
