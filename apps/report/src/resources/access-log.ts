import { accessItem, accessList } from '@keywarden/db/report';
import { html } from 'hono/html';
import { allowWhole } from '../access/roles.ts';
import { columnsFor } from '../dashboard/columns.ts';
import { digits, range } from '../parameters.ts';
import type { Resource } from '../resource.ts';

const filters = { token_id: digits.optional(), event: accessItem.shape.event.optional(), ...range };

export const accessLog: Resource<typeof accessItem, typeof filters> = {
  name: 'access-log',
  summary: 'The recorded requests: reads, exports, changes and refused tokens, newest first',
  access: allowWhole('auditor'),
  item: accessItem,
  filters,
  list: ({ query }) => accessList(query),
  page: {
    title: 'Access log',
    fields: { token_id: 'Token', event: 'Event', from: 'From', to: 'Before' },
    columns: columnsFor(accessItem, {
      at: 'When',
      token: {
        label: 'Who',
        cell: ({ token }) => (token === null ? 'no valid token' : `${token.name} (${token.role}, token ${token.id})`),
      },
      address: 'Address',
      path: {
        label: 'What',
        is: 'text',
        cell: ({ method, path, query }) => html`<code>${method} ${path}${query === '' ? '' : `?${query}`}</code>`,
      },
      event: { label: 'Event', cell: ({ event }) => event.replaceAll('_', ' ') },
      status: { label: 'Status', cell: ({ status, times }) => (times === 1 ? status : `${status}, ${times} times`) },
      records: {
        label: 'Records',
        cell: ({ records, stream }) => (stream === null ? '' : `${stream} ${records ?? ''}`),
      },
    }),
    empty: 'No access is recorded.',
  },
};
