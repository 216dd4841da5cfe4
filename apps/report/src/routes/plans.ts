import { type OpenAPIHono, z } from '@hono/zod-openapi';
import { planDecisionList, planList, readOne, readPlanDocument } from '@keywarden/db/report';
import { approvePlan, rejectPlan } from '../actions/plans.ts';
import type { Dependencies, Env } from '../environment.ts';
import { reason, word } from '../parameters.ts';
import { notFound } from '../problem.ts';
import { addList, addRoute } from '../route.ts';
import { planDecision, planItem } from '../shapes/governance.ts';

const access = { role: 'viewer', organizations: 'all' } as const;
const operator = { role: 'operator', organizations: 'all' } as const;
const params = z.object({ plan_id: word });

/** Plans, and the word of persons on them. */
export function planRoutes(app: OpenAPIHono<Env>, dependencies: Dependencies): void {
  const { db } = dependencies;
  const findPlan = async (id: string) => {
    const found = await readOne(db, planList({ id }));
    if (found === undefined) throw notFound('plan of this id', '/v1/plans');
    return found;
  };

  addList(app, db, { path: '/v1/plans', summary: 'Plans, newest first', access, item: planItem }, () => ({
    list: planList(),
  }));
  addRoute(
    app,
    {
      path: '/v1/plans/{plan_id}',
      summary: 'One plan with the document that its hash is of',
      access,
      params,
      response: z
        .strictObject({ ...planItem.shape, document: z.record(z.string(), z.unknown()) })
        .openapi('PlanWithDocument'),
    },
    async ({ c, params: { plan_id: id } }) => {
      const plan = await findPlan(id);
      const document = await readPlanDocument(db, id);
      return c.body(`${plan.slice(0, -1)},"document":${document}}`, 200, { 'content-type': 'application/json' });
    },
  );
  addList(
    app,
    db,
    {
      path: '/v1/plans/{plan_id}/decisions',
      summary: 'Who approved and who rejected a plan, newest first',
      access,
      params,
      item: planDecision,
    },
    async ({ params: { plan_id: id } }) => {
      await findPlan(id);
      return { list: planDecisionList({ planId: id }) };
    },
  );
  addRoute(
    app,
    {
      method: 'post',
      path: '/v1/plans/{plan_id}/approvals',
      summary:
        'Lets the daemon carry out a plan that was made within a day; above second_person_above keys two persons have to',
      access: operator,
      params,
      response: planItem,
      status: 201,
    },
    async ({ c, params: { plan_id: id }, principal }) => {
      await findPlan(id);
      await approvePlan(dependencies, { plan: id, principal });
      return c.body(await findPlan(id), 201, { 'content-type': 'application/json' });
    },
  );
  addRoute(
    app,
    {
      method: 'post',
      path: '/v1/plans/{plan_id}/rejections',
      summary: 'Says no to a plan: approvals before it count no more, and what is under way of it stops',
      access: operator,
      params,
      body: z.strictObject({ reason }),
      response: planItem,
      status: 201,
    },
    async ({ c, params: { plan_id: id }, body, principal }) => {
      await findPlan(id);
      await rejectPlan(dependencies, { plan: id, principal, reason: body.reason });
      return c.body(await findPlan(id), 201, { 'content-type': 'application/json' });
    },
  );
}
