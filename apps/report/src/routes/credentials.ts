import { type OpenAPIHono, z } from '@hono/zod-openapi';
import { keyList, keyObservationList, keyUseList, listInventoryHoles, readOne, seesKey } from '@keywarden/db/report';
import type { Dependencies, Env } from '../environment.ts';
import { credentialFilters, toCredentialFilter } from '../filters.ts';
import { digits } from '../parameters.ts';
import { notFound } from '../problem.ts';
import { addList, addRoute } from '../route.ts';
import { credentialItem, inventoryHole, keyObservation, keyUse } from '../shapes/keys.ts';
import { requirePast } from './keys.ts';

const access = { role: 'viewer', organizations: 'filtered' } as const;
const params = z.object({ credential: digits.openapi({ description: "The credential's number here" }) });
const sorts = z.enum(['number', 'name', 'created_at', 'last_used_at']).default('number');
const of = 'credentials';

/** What else than an API key lets somebody in, as it is and as it was. */
export function credentialRoutes(app: OpenAPIHono<Env>, { db }: Dependencies): void {
  addList(
    app,
    db,
    {
      path: '/v1/credentials',
      summary:
        'Credentials that are no API keys and were ever seen; with as_of those that there were at a past time, and where that is not known',
      access,
      filters: { ...credentialFilters, sort: sorts, order: z.enum(['asc', 'desc']).default('asc') },
      item: credentialItem,
      more: { as_of: z.string().optional(), holes: z.array(inventoryHole).optional() },
    },
    async ({ query, principal: { organizations } }) => {
      const { as_of: asOf, sort, order } = query;
      const list = keyList(toCredentialFilter(query), { organizations, sort, direction: order, of });
      if (asOf === undefined) return { list };
      await requirePast(db, asOf);
      const holes = await listInventoryHoles(db, { from: asOf, to: asOf, organizations, of });
      return { list, more: { as_of: asOf, holes } };
    },
  );

  const missing = () => notFound('credential of this number', '/v1/credentials');
  addRoute(
    app,
    { path: '/v1/credentials/{credential}', summary: 'One credential', access, params, response: credentialItem },
    async ({ c, params: { credential }, principal: { organizations } }) => {
      const found = await readOne(db, keyList({ number: credential }, { organizations, of }));
      if (found === undefined) throw missing();
      return c.body(found, 200, { 'content-type': 'application/json' });
    },
  );

  const requireSeen = async (credential: string, organizations: string[] | null) => {
    if (!(await seesKey(db, credential, { organizations, of }))) throw missing();
  };
  addList(
    app,
    db,
    {
      path: '/v1/credentials/{credential}/observations',
      summary: "A credential's history: each version of its record, and when it was missing, gone or back",
      access,
      params,
      item: keyObservation,
    },
    async ({ params: { credential }, principal: { organizations } }) => {
      await requireSeen(credential, organizations);
      return { list: keyObservationList(credential) };
    },
  );
  addList(
    app,
    db,
    {
      path: '/v1/credentials/{credential}/uses',
      summary: 'The use of a credential that was seen, newest first; upstream tells it of branch credentials alone',
      access,
      params,
      item: keyUse,
    },
    async ({ params: { credential }, principal: { organizations } }) => {
      await requireSeen(credential, organizations);
      return { list: keyUseList(credential) };
    },
  );
}
