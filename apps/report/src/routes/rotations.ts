import { type OpenAPIHono, z } from '@hono/zod-openapi';
import { readOne, rotationList, rotationRequestList } from '@keywarden/db/report';
import { requestRotation } from '../actions/rotations.ts';
import type { Dependencies, Env } from '../environment.ts';
import { rotationFilters, toRotationFilter } from '../filters.ts';
import { digits, reason } from '../parameters.ts';
import { notFound } from '../problem.ts';
import { addList, addRoute } from '../route.ts';
import { rotationItem, rotationRequestItem } from '../shapes/governance.ts';

const access = { role: 'viewer', organizations: 'filtered' } as const;

/** Rotations of keys, and asking for one. */
export function rotationRoutes(app: OpenAPIHono<Env>, dependencies: Dependencies): void {
  const { db } = dependencies;
  addList(
    app,
    db,
    {
      path: '/v1/rotations',
      summary: 'Rotations, newest first: where each stands, and how it came there',
      access,
      filters: rotationFilters,
      item: rotationItem,
    },
    ({ query, principal: { organizations } }) => ({ list: rotationList(toRotationFilter(query), organizations) }),
  );
  addRoute(
    app,
    {
      path: '/v1/rotations/{rotation_id}',
      summary: 'One rotation',
      access,
      params: z.object({ rotation_id: z.string().regex(/^[a-z0-9]{8}$/) }),
      response: rotationItem,
    },
    async ({ c, params: { rotation_id: id }, principal: { organizations } }) => {
      const found = await readOne(db, rotationList({ id }, organizations));
      if (found === undefined) throw notFound('rotation of this id', '/v1/rotations');
      return c.body(found, 200, { 'content-type': 'application/json' });
    },
  );
  addList(
    app,
    db,
    {
      path: '/v1/rotation-requests',
      summary: 'Rotations that were asked for here, newest first, and what the daemon answered',
      access,
      filters: { key: digits.optional() },
      item: rotationRequestItem,
    },
    ({ query, principal: { organizations } }) => ({
      list: rotationRequestList({ keyNumber: query.key }, organizations),
    }),
  );
  addRoute(
    app,
    {
      method: 'post',
      path: '/v1/rotation-requests',
      summary: 'Asks the daemon to rotate a key; its next pass answers',
      access: { role: 'operator', organizations: 'filtered' },
      body: z
        .strictObject({ key: digits.openapi({ description: "The key's number here" }), reason })
        .openapi('NewRotationRequest'),
      response: rotationRequestItem,
      status: 202,
    },
    async ({ c, body, principal }) => {
      const number = await requestRotation(dependencies, { principal, ...body });
      const list = rotationRequestList({ keyNumber: body.key, number }, principal.organizations);
      return c.body((await readOne(db, list)) ?? '{}', 202, { 'content-type': 'application/json' });
    },
  );
}
