import {
  exemptionList,
  findingList,
  incidentKinds,
  incidentList,
  readPage,
  revocationList,
  rotationList,
  rotationRequestList,
} from '@keywarden/db/report';
import { html } from 'hono/html';
import { mayAct } from '../access/roles.ts';
import { endExemption } from '../actions/exemptions.ts';
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
import { digits } from '../parameters.ts';
import {
  exemptionItem,
  findingItem,
  incidentItem,
  revocationItem,
  rotationItem,
  rotationRequestItem,
} from '../shapes/governance.ts';
import { link, section, state, time } from './html.ts';
import { listPart, type Pages, readParameter } from './page.ts';
import { exemptionColumns, findingColumns, requestTable, revocationColumns, rotationColumns } from './tables.ts';

const access = { role: 'viewer', organizations: 'filtered' } as const;

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
          options: [...incidentKinds],
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
}
