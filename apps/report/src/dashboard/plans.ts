import { z } from '@hono/zod-openapi';
import {
  findingList,
  hasApproved as hasApprovedPlan,
  planDecisionList,
  planList,
  readOne,
  readPage,
} from '@keywarden/db/report';
import { html } from 'hono/html';
import { mayAct } from '../access/roles.ts';
import { approvePlan, rejectPlan } from '../actions/plans.ts';
import type { Services } from '../environment.ts';
import { findingFilters } from '../filters.ts';
import { reason, word } from '../parameters.ts';
import { notFound } from '../problem.ts';
import { findingItem, planDecision, planItem } from '../shapes/governance.ts';
import { type Column, facts, type Html, link, section, table, time } from './html.ts';
import { listPart, type Pages, readField, readForm, readParameter } from './page.ts';
import { findingColumns } from './tables.ts';

const spans = { role: 'viewer', organizations: 'all' } as const;
const operator = { role: 'operator', organizations: 'all' } as const;

type Plan = z.infer<typeof planItem>;

const planColumns: Column<Plan>[] = [
  { label: 'Plan', cell: ({ id }) => link(`/plans/${id}`, id) },
  { label: 'Made', cell: (plan) => time(plan.created_at) },
  { label: 'To revoke', is: 'number', cell: ({ items }) => items },
  { label: 'Held', is: 'number', cell: ({ held }) => held },
  { label: 'Reported', is: 'number', cell: ({ reported }) => reported },
  { label: 'Revoked', is: 'number', cell: ({ revoked }) => revoked },
  { label: 'Approvals', cell: standing },
];

function standing({ rejected, approvers, approvers_needed: needed, approvals }: Plan) {
  if (rejected) return 'rejected';
  if (approvers > 0) return `${approvers} of ${needed} approved`;
  return approvals > 0 ? 'approved before' : 'none';
}

/** Plans, and the word of persons on them. */
export function planPages({ page, form }: Pages, services: Services): void {
  const { db } = services;
  page('/plans', spans, async (visit) => ({
    title: 'Plans',
    body: await listPart(visit, services, {
      filters: {},
      fields: [],
      list: () => planList(),
      item: planItem,
      caption: 'Plans',
      columns: planColumns,
      empty: 'No plan was made so far; the daemon makes one with each pass.',
    }),
  }));
  page('/plans/:plan', spans, async (visit) => {
    const id = readParameter(visit.c, 'plan', word);
    const found = await readOne(db, planList({ id }));
    if (found === undefined) throw notFound('plan of this id', '/plans');
    const plan = planItem.parse(JSON.parse(found));
    const decisions = await readPage(db, planDecisionList({ planId: id }), { limit: 50, after: null });
    const hasApproved =
      plan.approvers > 0 && (await hasApprovedPlan(services.sql, { plan: id, person: visit.principal.name }));
    return {
      title: `Plan ${id}`,
      body: html`
        ${facts([
          ['Made', time(plan.created_at)],
          ['Last made', time(plan.last_made_at)],
          ['To revoke', plan.items],
          ['Held', plan.held],
          ['Reported', plan.reported],
          ['Revoked', plan.revoked],
          ['Approvals', standing(plan)],
          ['SHA-256', html`<code>${plan.sha256}</code>`],
        ])}
        ${mayAct(visit.principal, 'operator') ? decisionForms(plan, hasApproved) : ''}
        ${section(
          'What was said of it',
          table({
            caption: 'Decisions',
            items: decisions.items.map((item) => planDecision.parse(JSON.parse(item))),
            empty: 'Nobody has approved or rejected it.',
            columns: [
              { label: 'When', cell: ({ at }) => time(at) },
              { label: 'Decision', cell: ({ decision }) => decision },
              { label: 'By', cell: ({ by }) => by },
              { label: 'Via', cell: ({ via }) => via },
              { label: 'Why', is: 'text', cell: (each) => each.reason },
            ],
          }),
        )}
        ${section(
          'What it found',
          await listPart(visit, services, {
            filters: { disposition: findingFilters.disposition },
            fields: [{ name: 'disposition', label: 'Disposition', options: ['planned', 'held', 'reported'] }],
            list: ({ disposition }) => findingList({ planId: id, disposition }, null),
            item: findingItem,
            caption: 'Findings of the plan',
            columns: findingColumns,
            empty: 'It found nothing like that.',
          }),
        )}
      `,
    };
  });
  form('/plans/:plan/approve', operator, async ({ c, principal }) => {
    const plan = readParameter(c, 'plan', word);
    await approvePlan(services, { plan, principal });
    return { to: `/plans/${plan}`, said: 'approved' };
  });
  form('/plans/:plan/reject', operator, async ({ c, principal }, sent) => {
    const plan = readParameter(c, 'plan', word);
    if ((await readOne(db, planList({ id: plan }))) === undefined) throw notFound('plan of this id', '/plans');
    const given = readForm(z.object({ reason }), { reason: readField(sent, 'reason') });
    await rejectPlan(services, { plan, principal, reason: given.reason });
    return { to: `/plans/${plan}`, said: 'rejected' };
  });
}

function decisionForms({ id, items, approvers, approvers_needed: needed }: Plan, hasApproved: boolean): Html {
  const keys = items === 1 ? '1 key' : `${items} keys`;
  const waits =
    approvers >= needed ? 'The daemon carries it out with its next pass.' : 'Another person has to approve it, too.';
  const approving = hasApproved
    ? html`<div><h3>Approved</h3><p>You have approved it. ${waits}</p></div>`
    : html`<form method="post" action="/plans/${id}/approve">
        <h3>Approve it</h3>
        <p>Lets the daemon revoke ${keys}, each judged again right before. ${needed > 1 ? `${needed} persons have to approve.` : ''}</p>
        <label class="check"><input type="checkbox" name="sure" required /> ${keys} ${items === 1 ? 'is' : 'are'} revoked for good</label>
        <button class="danger" type="submit">Approve plan ${id}</button>
      </form>`;
  return section(
    'Your word',
    html`<div class="forms">
      ${approving}
      <form method="post" action="/plans/${id}/reject">
        <h3>Reject it</h3>
        <div class="field"><label for="reject-reason">Reason</label><input id="reject-reason" name="reason" required maxlength="1000" /></div>
        <button type="submit">Reject plan ${id}</button>
      </form>
    </div>`,
  );
}
