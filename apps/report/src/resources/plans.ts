import { z } from '@hono/zod-openapi';
import { countOf } from '@keywarden/core/values';
import * as store from '@keywarden/db/report';
import { html, raw } from 'hono/html';
import { allowWhole, mayAct } from '../access/roles.ts';
import { approvePlan, rejectPlan } from '../actions/plans.ts';
import { columnsFor, proofFact } from '../dashboard/columns.ts';
import { ago, facts, type Html, link, type Part, pauseNotice, reasonField, section, time } from '../dashboard/html.ts';
import type { Page } from '../dashboard/layout.ts';
import {
  confirmed,
  firstPart,
  listPart,
  type Report,
  readForm,
  readParameter,
  readReason,
  type Visit,
} from '../dashboard/page.ts';
import { reason, word } from '../parameters.ts';
import { addResource } from '../resource.ts';
import { addList, addRoute, requireItem, requireOne } from '../route.ts';
import { findingColumns } from './findings.ts';
import { addPlanParts, planParams as params, partForm, requirePlan } from './plan-parts.ts';

const access = allowWhole('viewer');
const operator = allowWhole('operator');

type Plan = z.infer<typeof store.planItem>;

/** Adds plans, and their approvals and rejections. */
export function addPlans(report: Report): void {
  const { db } = report;
  addResource(report, {
    name: 'plans',
    summary: 'Plans, newest first',
    access,
    item: store.planItem,
    filters: {},
    list: () => store.planList(),
    page: {
      title: 'Plans',
      fields: {},
      proof: 'plan',
      columns: columnsFor(store.planItem, {
        id: {
          label: 'Plan',
          cell: ({ id, derived_from: from }) =>
            html`${link(`/plans/${id}`, id)}${from === null ? '' : html`<br />part of ${link(`/plans/${from}`, from)}`}`,
        },
        created_at: 'Created',
        items: 'To revoke',
        held: 'Held',
        reported: 'Reported',
        revoked: 'Revoked',
        approvals: { label: 'Decision', is: 'text', cell: standing },
      }),
      empty: 'There is no plan yet. The daemon creates one in each pass.',
    },
  });
  planRoutes(report);
  addPlanParts(report);

  report.page('/plans/:plan', access, async (visit) => await planPage(visit, report));
  report.form('/plans/:plan/approve', operator, async ({ c, principal }, sent) => {
    const plan = readParameter(c, 'plan', word);
    readForm(sent, { sure: confirmed });
    await approvePlan(report, { plan, principal });
    return { to: `/plans/${plan}`, flash: 'approved' };
  });
  report.form('/plans/:plan/reject', operator, async ({ c, principal }, sent) => {
    const plan = readParameter(c, 'plan', word);
    await requireOne(db, store.planList({ id: plan }), ['plan with this id', '/plans']);
    await rejectPlan(report, { plan, principal, reason: readReason(sent) });
    return { to: `/plans/${plan}`, flash: 'rejected' };
  });
}

async function planPage(visit: Visit, report: Report): Promise<Page> {
  const { db } = report;
  const id = readParameter(visit.c, 'plan', word);
  const plan = await requireItem(db, store.planList({ id }), ['plan with this id', '/plans']);
  const hasApproved =
    plan.approvers > 0 && (await store.hasApproved(report.sql, { plan: id, person: visit.principal.name }));
  const decisions = await firstPart(db, store.planDecisionList({ planId: id }), {
    caption: 'Decisions',
    columns: columnsFor(store.planDecision, { at: 'When', decision: 'Decision', by: 'By', via: 'Via', reason: 'Why' }),
    empty: 'The plan has no approval or rejection.',
  });
  const found = await findingsPart(visit, report, plan);
  const state = await store.readEnforcementState(db);
  const pause = await store.readPause(db);
  const mayDecide = mayAct(visit.principal, 'operator');
  const left = await store.countKeysLeft(db, id);
  const isDone = plan.items > 0 && left === 0;
  return {
    title: plan.derived_from === null ? `Plan ${id}` : `Plan ${id}, a part of ${plan.derived_from}`,
    body: html`
      ${pauseNotice(pause)} ${noticesOf(plan)}
      ${facts([
        ['Created', time(plan.created_at)],
        ['Last produced', time(plan.last_made_at)],
        ['To revoke', plan.items],
        ['Held', plan.held],
        ['Reported', plan.reported],
        ['Revoked', plan.revoked],
        ['Approvals', standing(plan)],
        plan.derived_from !== null && ['Part of', link(`/plans/${plan.derived_from}`, plan.derived_from)],
        ['Next pass', state?.nextAt == null ? 'not scheduled' : ago(state.nextAt)],
        ['SHA-256', html`<code>${plan.sha256}</code>`],
        ...proofFact(visit, 'plan', id),
      ])}
      ${isDone ? html`<p class="notice">Nothing is left to do: each key of this plan is revoked or gone.</p>` : ''}
      ${mayDecide && (plan.approvers > 0 || (plan.superseded_by === null && !isDone)) ? decisionForms(plan, { hasApproved, left, state, pause }) : ''}
      ${mayDecide && plan.superseded_by === null && plan.items > 1 && !isDone ? await partForm(report, plan.id) : ''}
      ${mayAct(visit.principal, 'auditor') ? html`<p><a class="button quiet" href="/v1/evidence">Evidence of the last year</a></p>` : ''}
      ${section('Decisions', decisions)}
      ${found}
    `,
  };
}

function planRoutes(report: Report): void {
  const { db } = report;
  addRoute(report, {
    path: '/v1/plans/{plan_id}',
    summary: 'One plan, with the document that it hashes',
    access,
    params,
    response: z
      .strictObject({ ...store.planItem.shape, document: z.record(z.string(), z.unknown()) })
      .openapi('PlanWithDocument'),
    handle: async ({ params: { plan_id: id } }) => {
      const plan = await requirePlan(db, id);
      return `${plan.slice(0, -1)},"document":${await store.readPlanDocument(db, id)}}`;
    },
  });
  addList(report, {
    path: '/v1/plans/{plan_id}/decisions',
    summary: 'The approvals and rejections of a plan, newest first',
    access,
    params,
    item: store.planDecision,
    list: async ({ params: { plan_id: planId } }) => {
      await requirePlan(db, planId);
      return store.planDecisionList({ planId });
    },
  });
  addRoute(report, {
    method: 'post',
    path: '/v1/plans/{plan_id}/approvals',
    summary:
      'Approves a plan produced within the last day, so that the daemon carries it out; above second_person_above keys, two people must approve',
    access: operator,
    params,
    response: store.planItem,
    status: 201,
    handle: async ({ params: { plan_id: plan }, principal }) => {
      await requirePlan(db, plan);
      await approvePlan(report, { plan, principal });
      return await requirePlan(db, plan);
    },
  });
  addRoute(report, {
    method: 'post',
    path: '/v1/plans/{plan_id}/rejections',
    summary: 'Rejects a plan: earlier approvals no longer count, and revocations of the plan that are under way stop',
    access: operator,
    params,
    body: z.strictObject({ reason }),
    response: store.planItem,
    status: 201,
    handle: async ({ params: { plan_id: plan }, body, principal }) => {
      await requirePlan(db, plan);
      await rejectPlan(report, { plan, principal, reason: body.reason });
      return await requirePlan(db, plan);
    },
  });
}

function standing(plan: Plan): Part {
  const newer = plan.superseded_by;
  if (plan.rejected) return 'rejected';
  if (plan.blocked !== null) return `approved, but blocked: ${plan.blocked}`;
  if (plan.approvers > 0) return `${plan.approvers} of ${plan.approvers_needed} approved`;
  if (plan.revoked > 0) return `carried out: ${plan.revoked} of ${plan.items} revoked`;
  if (newer !== null) return html`superseded by ${link(`/plans/${newer}`, newer)}`;
  return plan.approvals > 0 ? 'approved before' : 'not approved';
}

/** Returns the findings of a plan apart by what happens to their keys, those to revoke first. */
async function findingsPart(visit: Visit, report: Report, { id, items, held, reported }: Plan): Promise<Html> {
  const counts = { planned: items, held, reported };
  const titles = { planned: 'To revoke', held: 'Held', reported: 'Reported' } as const;
  const kinds = store.findingItem.shape.disposition.options;
  const shown = visit.query.disposition ?? kinds.find((kind) => counts[kind] > 0) ?? 'planned';
  const found = await listPart({ ...visit, query: { ...visit.query, disposition: shown } }, report, {
    item: store.findingItem,
    filters: { disposition: store.findingItem.shape.disposition },
    fields: {},
    list: async ({ db, query }) => await store.findingListNow(db, { planId: id, ...query }, null),
    caption: 'Findings of the plan',
    columns: findingColumns.filter(({ label }) => shown === 'held' || label !== 'Disposition'),
    empty: 'The plan has no such finding.',
  });
  return section(
    'Findings',
    html`<p class="tabs">
        ${kinds.map(
          (kind) =>
            html`<a href="/plans/${id}?disposition=${kind}" ${kind === shown ? raw('aria-current="true"') : ''}>${titles[kind]} (${counts[kind]})</a>`,
        )}
      </p>
      ${found}`,
  );
}

/** Returns what keeps a plan from being carried out, as notices. */
function noticesOf(plan: Plan): Html {
  const { superseded_by: newer, blocked, approvers } = plan;
  const stands =
    approvers > 0
      ? 'Its approval still stands. The daemon carries out an approval of the report; keywarden apply continues one of the command line. Reject the plan to end it.'
      : '';
  return html`
    ${newer === null ? '' : html`<p class="notice warn">This plan is superseded: the newest facts give ${link(`/plans/${newer}`, newer)}. It can no longer be approved here. ${stands}</p>`}
    ${blocked === null ? '' : html`<p class="notice bad">Approved, but blocked: ${blocked}.</p>`}`;
}

/** What decides when an approved plan is carried out. */
interface Enforcing {
  state: store.EnforcementState | undefined;
  pause: store.Pause | null;
}

/** Returns what an approved plan waits for. */
function whatItWaitsFor({ approvers, approvers_needed: needed }: Plan, { state, pause }: Enforcing): Part {
  if (approvers < needed) return 'Another person must also approve it.';
  if (state?.whyNotApproved != null) return `It is blocked: ${state.whyNotApproved}.`;
  if (pause !== null) return 'The daemon carries it out after the pause.';
  return html`The daemon carries it out in its next pass${state?.nextAt == null ? '' : html`, ${ago(state.nextAt)}`}.`;
}

function decisionForms(
  plan: Plan,
  { hasApproved, left, ...enforcing }: Enforcing & { hasApproved: boolean; left: number },
): Html {
  const { id, approvers_needed: needed, superseded_by: newer } = plan;
  const keys = countOf(left, 'key');
  const approving = hasApproved
    ? html`<div><h3>Approved</h3><p>You have approved it. ${whatItWaitsFor(plan, enforcing)}</p></div>`
    : newer !== null || left === 0
      ? ''
      : html`<form method="post" action="/plans/${id}/approve" autocomplete="off">
        <h3>Approve this plan</h3>
        <p>The daemon then revokes ${keys}. It judges each key again right before. ${needed > 1 ? `${needed} people must approve.` : ''}</p>
        <label class="check"><input type="checkbox" name="sure" required /> ${keys} ${left === 1 ? 'is' : 'are'} revoked for good</label>
        <button class="danger" type="submit">Approve plan ${id}</button>
      </form>`;
  return section(
    'Your decision',
    html`<div class="forms">
      ${approving}
      <form method="post" action="/plans/${id}/reject">
        <h3>Reject this plan</h3>
        ${reasonField('reject-reason')}
        <button type="submit">Reject plan ${id}</button>
      </form>
    </div>`,
  );
}
