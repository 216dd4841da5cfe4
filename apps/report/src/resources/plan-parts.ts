import { z } from '@hono/zod-openapi';
import { listPartChoices, planItem, planList, type Reader } from '@keywarden/db/report';
import { html } from 'hono/html';
import { allowWhole } from '../access/roles.ts';
import { makePart } from '../actions/plans.ts';
import { type Html, section, selectField } from '../dashboard/html.ts';
import { type Report, readForm, readParameter } from '../dashboard/page.ts';
import { camelled, digits, word } from '../parameters.ts';
import { conflict } from '../problem.ts';
import { addRoute, requireOne } from '../route.ts';

const operator = allowWhole('operator');
export const planParams = z.object({ plan_id: word });

const partForms = z.strictObject({
  organization_id: word.optional(),
  rule: word.optional(),
  review_id: digits.optional(),
});

/** Returns a plan as JSON. Throws a Problem (404) if it does not exist. */
export const requirePlan = async (db: Reader, id: string) =>
  await requireOne(db, planList({ id }), ['plan with this id', '/v1/plans']);

/** Adds parts of plans: plans of their own with some keys of another plan. */
export function addPlanParts(report: Report): void {
  addRoute(report, {
    method: 'post',
    path: '/v1/plans/{plan_id}/parts',
    summary:
      'Makes a plan of its own from some keys of the newest plan: of an organization, a rule, a signed review, or chosen ones. It can be approved by its id',
    access: operator,
    params: planParams,
    body: partForms.extend({ keys: z.array(digits).min(1).max(20_000).optional() }),
    response: planItem,
    status: 201,
    handle: async ({ params: { plan_id: plan }, body, principal }) => {
      await requirePlan(report.db, plan);
      const part = await makePart(report, { plan, filter: camelled(body), principal });
      return await requirePlan(report.db, part);
    },
  });
  report.form('/plans/:plan/parts', operator, async ({ c, principal }, sent) => {
    const plan = readParameter(c, 'plan', word);
    const filter = camelled(readForm(sent, partForms.shape));
    if (Object.values(filter).every((value) => value === undefined))
      throw conflict('Choose an organization, a rule or a signed review.');
    const part = await makePart(report, { plan, filter, principal });
    return { to: `/plans/${part}`, flash: 'made' };
  });
}

/** Returns the form that makes a part of a plan: of an organization, a rule or a signed review. */
export async function partForm({ db }: Report, plan: string): Promise<Html> {
  const { organizations, rules, reviews } = await listPartChoices(db, plan);
  const field = (name: string, label: string) => ({ id: `part-${name}`, name, label, none: 'all' });
  return section(
    'Approve a part',
    html`<form class="forms" method="post" action="/plans/${plan}/parts">
      <p>Makes a plan of its own from some of these keys. You approve it by its own id; the others stay.</p>
      ${selectField(field('organization_id', 'Organization'), organizations)}
      ${selectField(field('rule', 'Rule'), rules)}
      ${selectField(field('review_id', 'Signed review'), reviews)}
      <button type="submit">Show this part</button>
    </form>`,
  );
}
