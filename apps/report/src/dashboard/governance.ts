import { z } from '@hono/zod-openapi';
import {
  exemptionList,
  findingList,
  incidentList,
  planDecisionList,
  planList,
  readOne,
  readPage,
  revocationList,
  rotationList,
  rotationRequestList,
} from '@keywarden/db/read';
import { hasApproved as hasApprovedPlan } from '@keywarden/db/report-write';
import { html } from 'hono/html';
import { mayAct } from '../access/roles.ts';
import { endExemption } from '../actions/exemptions.ts';
import { approvePlan, rejectPlan } from '../actions/plans.ts';
import type { Services } from '../environment.ts';
import {
  exemptionFilters,
  findingFilters,
  incidentFilters,
  revocationFilters,
  rotationFilters,
  toExemptionFilter,
  toFindingFilter,
  toIncidentFilter,
  toRevocationFilter,
  toRotationFilter,
} from '../filters.ts';
import { digits, reason, word } from '../parameters.ts';
import { notFound } from '../problem.ts';
import {
  exemptionItem,
  findingItem,
  incidentItem,
  planDecision,
  planItem,
  revocationItem,
  rotationItem,
  rotationRequestItem,
} from '../shapes/governance.ts';
import { type Column, facts, type Html, link, section, state, table, time } from './html.ts';
import { listPart, type Pages, readField, readForm, readParameter } from './page.ts';
import { exemptionColumns, requestTable, revocationColumns, rotationColumns } from './tables.ts';

const access = { role: 'viewer', organizations: 'filtered' } as const;
const spans = { role: 'viewer', organizations: 'all' } as const;
const operator = { role: 'operator', organizations: 'all' } as const;

type Plan = z.infer<typeof planItem>;

const findingColumns: Column<z.infer<typeof findingItem>>[] = [
  {
    label: 'Key',
    is: 'text',
    cell: ({ key }) => html`${link(`/keys/${key.number}`, key.name)} <small>${key.id}</small>`,
  },
  { label: 'Organization', cell: ({ key }) => key.organization_id ?? 'personal' },
  { label: 'Rule', cell: ({ rule }) => link(`/findings?rule=${encodeURIComponent(rule)}`, rule) },
  { label: 'Why', is: 'text', cell: (finding) => finding.reason },
  { label: 'Action', cell: ({ action }) => action },
  { label: 'Disposition', cell: ({ disposition }) => state(disposition) },
  { label: 'Held because', is: 'text', cell: ({ why_held: why }) => why },
];

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

/** What the policy found, what persons said of it, and what was done. */
export function governancePages({ page, form }: Pages, services: Services): void {
  const { db } = services;
  const readRequests = async (organizations: string[] | null) => {
    const { items } = await readPage(db, rotationRequestList({}, organizations), { limit: 50, after: null });
    return items.map((item) => rotationRequestItem.parse(JSON.parse(item)));
  };
  page('/findings', access, async (visit) => ({
    title: 'Findings',
    body: await listPart(visit, services, {
      filters: findingFilters,
      fields: [
        { name: 'rule', label: 'Rule' },
        { name: 'action', label: 'Action', options: ['report', 'notify', 'rotate', 'revoke'] },
        { name: 'disposition', label: 'Disposition', options: ['planned', 'held', 'reported'] },
        { name: 'key_id', label: 'Key id' },
        { name: 'plan_id', label: 'Plan', placeholder: 'the newest' },
      ],
      list: (query) => findingList(toFindingFilter(query), visit.principal.organizations),
      item: findingItem,
      caption: 'Findings',
      columns: findingColumns,
      empty: 'Nothing is found.',
      exported: 'findings',
    }),
  }));

  page('/revocations', access, async (visit) => ({
    title: 'Revocations',
    body: await listPart(visit, services, {
      filters: revocationFilters,
      fields: [
        { name: 'organization_id', label: 'Organization' },
        { name: 'outcome', label: 'Outcome', options: ['revoked', 'gone', 'not_revoked', 'failed', 'open'] },
        { name: 'cause', label: 'Through a', options: ['plan', 'rotation'] },
        { name: 'from', label: 'From', placeholder: '2026-01-01' },
        { name: 'to', label: 'Before', placeholder: '2026-07-01' },
      ],
      list: (query) => revocationList(toRevocationFilter(query), visit.principal.organizations),
      item: revocationItem,
      caption: 'Revocations',
      columns: revocationColumns,
      empty: 'Nothing was revoked.',
      exported: 'revocations',
    }),
  }));

  page('/rotations', access, async (visit) => ({
    title: 'Rotations',
    body: html`${await listPart(visit, services, {
      filters: rotationFilters,
      fields: [
        { name: 'state', label: 'State', options: [...rotationItem.shape.state.options] },
        { name: 'open', label: 'Open', options: ['true', 'false'] },
      ],
      list: (query) => rotationList(toRotationFilter(query), visit.principal.organizations),
      item: rotationItem,
      caption: 'Rotations',
      columns: rotationColumns,
      empty: 'There is no rotation.',
    })}
    ${section('Asked for here', requestTable(await readRequests(visit.principal.organizations)))}`,
  }));

  page('/incidents', access, async (visit) => ({
    title: 'Incidents',
    body: await listPart(visit, services, {
      filters: incidentFilters,
      fields: [
        { name: 'state', label: 'State', options: ['open', 'closed'] },
        {
          name: 'kind',
          label: 'Kind',
          options: ['used_in_flight', 'breaker', 'high_water_mark', 'rotation_stalled', 'orphan'],
        },
      ],
      list: (query) => incidentList(toIncidentFilter(query), visit.principal.organizations),
      item: incidentItem,
      caption: 'Incidents',
      columns: [
        { label: 'Incident', cell: ({ id }) => id },
        { label: 'Kind', cell: ({ kind }) => kind.replaceAll('_', ' ') },
        { label: 'State', cell: (each) => state(each.state) },
        { label: 'Opened', cell: (each) => time(each.opened_at) },
        { label: 'Key', cell: ({ key }) => (key === null ? '' : link(`/keys/${key.number}`, key.name)) },
        { label: 'Scope', cell: ({ scope }) => scope },
        { label: 'Detail', is: 'text', cell: ({ detail }) => html`<code>${JSON.stringify(detail)}</code>` },
        {
          label: 'Closed',
          cell: (each) => (each.closed_at === null ? '' : html`${time(each.closed_at)} by ${each.closed_by}`),
        },
      ],
      empty: 'Nobody was called for anything.',
    }),
  }));

  page('/exemptions', access, async (visit) => ({
    title: 'Exemptions',
    body: await listPart(visit, services, {
      filters: exemptionFilters,
      fields: [{ name: 'state', label: 'State', options: ['in_force', 'ended', 'lapsed'] }],
      list: (query) => exemptionList(toExemptionFilter(query), visit.principal.organizations),
      item: exemptionItem,
      caption: 'Exemptions',
      columns: [
        ...exemptionColumns,
        {
          label: '',
          cell: (each) =>
            each.state === 'in_force' && mayAct(visit.principal, 'operator')
              ? html`<form method="post" action="/exemptions/${each.id}/end"><button class="quiet" type="submit">End<span class="hidden"> exemption ${each.id}</span></button></form>`
              : '',
        },
      ],
      empty: 'Nothing is exempt. A key’s own page grants an exemption.',
    }),
  }));
  form('/exemptions/:exemption/end', { role: 'operator', organizations: 'filtered' }, async ({ c, principal }) => {
    await endExemption(services, { principal, number: readParameter(c, 'exemption', digits) });
    return { to: '/exemptions', said: 'ended' };
  });

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
