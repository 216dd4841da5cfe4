import { incidentInWords, incidentItem, incidentList } from '@keywarden/db/report';
import { html } from 'hono/html';
import { allow } from '../access/roles.ts';
import { columnsFor } from '../dashboard/columns.ts';
import { time } from '../dashboard/html.ts';
import { digits, range } from '../parameters.ts';
import type { Resource } from '../resource.ts';

const { kind, state } = incidentItem.shape;
const filters = { kind: kind.optional(), state: state.optional(), key: digits.optional(), ...range };

export const incidents: Resource<typeof incidentItem, typeof filters> = {
  name: 'incidents',
  summary: 'Open and closed incidents, which need a person, newest first',
  access: allow('viewer'),
  item: incidentItem,
  filters,
  list: ({ query, organizations }) => incidentList(query, organizations),
  page: {
    title: 'Incidents',
    fields: { state: 'State', kind: 'Kind' },
    columns: columnsFor(incidentItem, {
      id: 'Incident',
      kind: 'Kind',
      state: 'State',
      opened_at: 'Opened',
      key: 'Key',
      scope: 'Scope',
      detail: { label: 'What', is: 'text', cell: incidentInWords },
      closed_at: {
        label: 'Closed',
        cell: (each) => (each.closed_at === null ? '' : html`${time(each.closed_at)} by ${each.closed_by}`),
      },
    }),
    proof: 'incident',
    empty: 'There is no incident here yet.',
  },
};
