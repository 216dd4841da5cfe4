import { z } from '@hono/zod-openapi';
import { exemptionItem, exemptionList } from '@keywarden/db/report';
import { html } from 'hono/html';
import { allow, mayAct } from '../access/roles.ts';
import { endExemption, grantExemption } from '../actions/exemptions.ts';
import { columnsFor, withProof } from '../dashboard/columns.ts';
import { endButton, link } from '../dashboard/html.ts';
import { type Report, readParameter } from '../dashboard/page.ts';
import { digits, givenName, instant, lasting, reason } from '../parameters.ts';
import { addResource } from '../resource.ts';
import { addRoute, requireOne } from '../route.ts';

const grant = z
  .strictObject({
    keys: z.array(digits).min(1).max(1000).openapi({ description: "The keys' numbers in Keywarden" }),
    rules: z.array(givenName).min(1).max(100).nullable().default(null).openapi({ description: 'null: every rule' }),
    reason,
    until: instant.optional(),
    for: lasting.optional().openapi({ description: 'A duration instead of until: 90d' }),
  })
  .refine((body) => (body.until === undefined) !== (body.for === undefined), {
    error: 'give exactly one of until and for',
    path: ['until'],
  })
  .openapi('NewExemption');

export const exemptionColumns = columnsFor(exemptionItem, {
  id: 'Exemption',
  keys: {
    label: 'Keys',
    cell: ({ keys: [first, ...others] }) =>
      first === undefined
        ? ''
        : html`${link(`/keys/${first.number}`, first.name)}${others.length > 0 ? ` and ${others.length} more` : ''}`,
  },
  rules: { label: 'Rules', cell: ({ rules }) => rules?.join(', ') ?? 'every rule' },
  state: 'State',
  until: 'Until',
  granted_by: 'Granted by',
  reason: 'Why',
});

/** Adds exemptions: listing, granting and ending them. */
export function addExemptions(report: Report): void {
  const { db } = report;
  addResource(report, {
    name: 'exemptions',
    summary: 'Exemptions from rules, newest first',
    access: allow('viewer'),
    item: exemptionItem,
    filters: {
      state: exemptionItem.shape.state.optional(),
      key: digits.optional().openapi({ description: 'Exemptions of this key or of another key in its key lineage' }),
    },
    list: ({ query, organizations }) => exemptionList(query, organizations),
    page: {
      title: 'Exemptions',
      fields: { state: 'State' },
      columns: (visit) => [
        ...withProof(visit, 'exemption', exemptionColumns),
        {
          label: '',
          cell: ({ id, state }) =>
            state === 'in_force' && mayAct(visit.principal, 'operator')
              ? endButton(`/exemptions/${id}`, `exemption ${id}`)
              : '',
        },
      ],
      empty: 'There is no exemption here yet. Grant one on the page of a key.',
    },
  });

  const show = async (number: string, organizations: string[] | null) =>
    await requireOne(db, exemptionList({ number }, organizations), ['exemption with this number', '/v1/exemptions']);
  addRoute(report, {
    method: 'post',
    path: '/v1/exemptions',
    summary: 'Grants an exemption to existing keys, with an end and a reason; asked again, it returns the one in force',
    access: allow('operator'),
    body: grant,
    response: exemptionItem,
    status: 201,
    handle: async ({ body: { for: lastingMs, ...rest }, principal }) => {
      const number = await grantExemption(report, { principal, request: { ...rest, lastingMs } });
      return await show(number, principal.organizations);
    },
  });
  addRoute(report, {
    method: 'post',
    path: '/v1/exemptions/{exemption}/end',
    summary: 'Ends an exemption early',
    access: allow('operator'),
    params: z.object({ exemption: digits }),
    response: exemptionItem,
    handle: async ({ params: { exemption: number }, principal }) => {
      await endExemption(report, { principal, number });
      return await show(number, principal.organizations);
    },
  });
  report.form('/exemptions/:exemption/end', allow('operator'), async ({ c, principal }) => {
    await endExemption(report, { principal, number: readParameter(c, 'exemption', digits) });
    return { to: '/exemptions', flash: 'ended' };
  });
}
