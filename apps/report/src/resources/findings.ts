import { z } from '@hono/zod-openapi';
import * as store from '@keywarden/db/report';
import { html } from 'hono/html';
import { allow } from '../access/roles.ts';
import { columnsFor, organizationLink } from '../dashboard/columns.ts';
import { link, state } from '../dashboard/html.ts';
import { digits, type ListQuery, word } from '../parameters.ts';
import type { Resource } from '../resource.ts';
import { requirePlan } from './plan-parts.ts';

const { action, disposition } = store.findingItem.shape;

const filters = {
  plan_id: word.optional().openapi({ description: 'Default: the newest plan' }),
  rule: word.optional(),
  action: action.optional(),
  disposition: disposition.optional(),
  key_id: digits.optional(),
  key: digits.optional().openapi({ description: "The key's number in Keywarden" }),
};

export const findingColumns = columnsFor(store.findingItem, {
  key: {
    label: 'Key',
    is: 'text',
    cell: ({ key }) =>
      html`${link(`/keys/${key.number}`, key.name)}<br /><small>${key.kind.replaceAll('_', ' ')}, id ${key.id}</small>`,
  },
  organization_name: {
    label: 'Organization',
    is: 'text',
    cell: ({ key, organization_name: name }) => organizationLink(key.organization_id, name),
  },
  owner: 'Owner',
  rule: 'Rule',
  reason: 'Why',
  action: 'Action',
  disposition: {
    label: 'Disposition',
    is: 'text',
    cell: ({ disposition: how, why_held: why }) =>
      html`${state(how)}${why === null ? '' : html`<br /><small>${why}</small>`}`,
  },
});

export const findings: Resource<typeof store.findingItem, typeof filters> = {
  name: 'findings',
  summary: 'Keys that match rules, with the evidence; from the newest plan unless plan_id names another',
  access: allow('viewer'),
  item: store.findingItem,
  filters,
  list: async ({ db, query, organizations }) => await store.findingListNow(db, query, organizations),
  page: {
    title: 'Findings',
    fields: {
      rule: 'Rule',
      action: 'Action',
      disposition: 'Disposition',
      key_id: 'Key id',
      plan_id: { label: 'Plan', placeholder: 'the newest' },
    },
    columns: findingColumns,
    empty: 'The newest plan has no finding here, or there is no plan yet.',
  },
  file: {
    summary: 'Findings of a plan as a file',
    async check({ db, query: { planId: id } }) {
      if (id !== undefined) await requirePlan(db, id);
    },
    // The current gaps of the inventory that the findings are based on.
    async trailer({ db, organizations }: Pick<ListQuery<z.ZodRawShape>, 'db' | 'organizations'>) {
      const at = await store.readControlPlaneNow(db);
      const holes = await store.listInventoryGaps(db, { from: at, to: at, organizations });
      return { holes, blind_spots: await store.listBlindSpots(db, organizations) };
    },
  },
};
