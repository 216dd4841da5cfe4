import { type OpenAPIHono, z } from '@hono/zod-openapi';
import {
  keyList,
  keyObservationList,
  keyUseList,
  listInventoryHoles,
  readOne,
  readPresent,
  seesKey,
} from '@keywarden/db/report';
import type { Dependencies, Env } from '../environment.ts';
import { keyFilters, toKeyFilter } from '../filters.ts';
import { digits } from '../parameters.ts';
import { notFound, Problem } from '../problem.ts';
import { addList, addRoute } from '../route.ts';
import { inventoryHole, keyItem, keyObservation, keyUse } from '../shapes/keys.ts';

const access = { role: 'viewer', organizations: 'filtered' } as const;
const params = z.object({ key: digits.openapi({ description: "The key's number here" }) });
const sorts = z.enum(['number', 'name', 'created_at', 'last_used_at']).default('number');

/** Keys, as they are and as they were. */
export function keyRoutes(app: OpenAPIHono<Env>, { db }: Dependencies): void {
  addList(
    app,
    db,
    {
      path: '/v1/keys',
      summary:
        'API keys that were ever seen; with as_of those that there were at a past time, and where that is not known',
      access,
      filters: { ...keyFilters, sort: sorts, order: z.enum(['asc', 'desc']).default('asc') },
      item: keyItem,
      more: { as_of: z.string().optional(), holes: z.array(inventoryHole).optional() },
    },
    async ({ query, principal: { organizations } }) => {
      const { as_of: asOf, sort, order } = query;
      const list = keyList(toKeyFilter(query), { organizations, sort, direction: order });
      if (asOf === undefined) return { list };
      await requirePast(db, asOf);
      const holes = await listInventoryHoles(db, { from: asOf, to: asOf, organizations });
      return { list, more: { as_of: asOf, holes } };
    },
  );

  addRoute(
    app,
    { path: '/v1/keys/{key}', summary: 'One key', access, params, response: keyItem },
    async ({ c, params: { key }, principal: { organizations } }) => {
      const found = await readOne(db, keyList({ number: key }, { organizations }));
      if (found === undefined) throw notFound('key of this number', '/v1/keys');
      return c.body(found, 200, { 'content-type': 'application/json' });
    },
  );

  const ofKey = async (key: string, organizations: string[] | null) => {
    if (!(await seesKey(db, key, { organizations, of: 'keys' }))) throw notFound('key of this number', '/v1/keys');
  };
  addList(
    app,
    db,
    {
      path: '/v1/keys/{key}/observations',
      summary: "A key's history: each version of its record that was seen, and when it was missing, gone or back",
      access,
      params,
      item: keyObservation,
    },
    async ({ params: { key }, principal: { organizations } }) => {
      await ofKey(key, organizations);
      return { list: keyObservationList(key) };
    },
  );
  addList(
    app,
    db,
    {
      path: '/v1/keys/{key}/uses',
      summary: 'The use of a key that was seen, newest first, one item an hour and address',
      access,
      params,
      item: keyUse,
    },
    async ({ params: { key }, principal: { organizations } }) => {
      await ofKey(key, organizations);
      return { list: keyUseList(key) };
    },
  );
}

/** Of a time that is still to come nothing was seen. */
export async function requirePast(db: Dependencies['db'], asOf: string): Promise<void> {
  const present = await readPresent(db);
  if (Date.parse(asOf) > Date.parse(present) + 300_000)
    throw new Problem(400, 'Bad parameter', `as_of: lies in the future; the control plane's present is ${present}.`);
}
