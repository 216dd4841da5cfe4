import { countOf } from '@keywarden/core/values';
import { connectionItem, connectionList } from '@keywarden/db/report';
import { html } from 'hono/html';
import { allowWhole } from '../access/roles.ts';
import { columnsFor } from '../dashboard/columns.ts';
import type { Resource } from '../resource.ts';

const blindSpotTexts = {
  personal_keys: (members: number | null) =>
    `no connection can list the personal keys of ${countOf(members ?? 0, 'member')}`,
  members_unknown: () => 'its members were never listed',
  listing_old: () => 'its keys were last listed more than a day ago',
  never_listed: () => 'no connection has listed its keys: their credentials may not be allowed to',
  own_key_unknown: () => 'its own key is unknown, so nothing is revoked in any scope that it sees',
};

export const connections: Resource<typeof connectionItem> = {
  name: 'connections',
  summary: 'Connections to control planes: what each sees, and its blind spots',
  access: allowWhole('viewer'),
  item: connectionItem,
  filters: {},
  list: () => connectionList(),
  page: {
    title: 'Connections',
    fields: {},
    columns: columnsFor(connectionItem, {
      name: 'Connection',
      control_plane: 'Control plane',
      account_id: 'Account',
      own_key_id: 'Own key',
      checked_at: 'Checked',
      scopes: { label: 'Sees', cell: ({ scopes }) => countOf(scopes.length, 'scope') },
      blind_spots: {
        label: 'Blind spots',
        is: 'text',
        cell: ({ blind_spots: spots }) =>
          spots.length === 0
            ? 'none known'
            : html`<ul>${spots.map(({ kind, scope, members }) => html`<li>${scope ?? ''}: ${blindSpotTexts[kind](members)}</li>`)}</ul>`,
      },
    }),
    empty: 'There is no connection yet. A daemon, or keywarden sync, adds those of its configuration.',
  },
};
