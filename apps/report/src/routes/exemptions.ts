import { type OpenAPIHono, z } from '@hono/zod-openapi';
import { exemptionList, readOne } from '@keywarden/db/report';
import { endExemption, grantExemption } from '../actions/exemptions.ts';
import type { Dependencies, Env } from '../environment.ts';
import { exemptionFilters, toExemptionFilter } from '../filters.ts';
import { digits, instant, lasting, reason, word } from '../parameters.ts';
import { addList, addRoute } from '../route.ts';
import { exemptionItem } from '../shapes/governance.ts';

const access = { role: 'viewer', organizations: 'filtered' } as const;
const operator = { role: 'operator', organizations: 'filtered' } as const;

const grant = z
  .strictObject({
    keys: z.array(digits).min(1).max(1000).openapi({ description: "The keys' numbers here" }),
    rules: z.array(word).min(1).max(100).nullable().default(null).openapi({ description: 'null: from every rule' }),
    reason,
    until: instant.optional(),
    for: lasting.optional().openapi({ description: 'Instead of until: 90d' }),
  })
  .refine((body) => (body.until === undefined) !== (body.for === undefined), {
    error: 'give exactly one of until and for',
    path: ['until'],
  })
  .openapi('NewExemption');

/** Exceptions from rules: who has them, granting and ending them. */
export function exemptionRoutes(app: OpenAPIHono<Env>, dependencies: Dependencies): void {
  const { db } = dependencies;
  const show = async (number: string, organizations: string[] | null) =>
    (await readOne(db, exemptionList({ number }, organizations))) ?? '{}';
  addList(
    app,
    db,
    {
      path: '/v1/exemptions',
      summary: 'Exceptions from rules, newest first',
      access,
      filters: exemptionFilters,
      item: exemptionItem,
    },
    ({ query, principal: { organizations } }) => ({ list: exemptionList(toExemptionFilter(query), organizations) }),
  );
  addRoute(
    app,
    {
      method: 'post',
      path: '/v1/exemptions',
      summary: 'Grants an exception to keys that exist now, for a time and with a reason',
      access: operator,
      body: grant,
      response: exemptionItem,
      status: 201,
    },
    async ({ c, body, principal }) => {
      const { for: lastingMs, ...rest } = body;
      const number = await grantExemption(dependencies, { principal, asked: { ...rest, lastingMs } });
      return c.body(await show(number, principal.organizations), 201, { 'content-type': 'application/json' });
    },
  );
  addRoute(
    app,
    {
      method: 'post',
      path: '/v1/exemptions/{exemption}/end',
      summary: 'Ends an exception before its time',
      access: operator,
      params: z.object({ exemption: digits }),
      response: exemptionItem,
    },
    async ({ c, params: { exemption: number }, principal }) => {
      await endExemption(dependencies, { principal, number });
      return c.body(await show(number, principal.organizations), 200, { 'content-type': 'application/json' });
    },
  );
}
