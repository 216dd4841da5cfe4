import { accessList, connectionList, readPresent, runList } from '@keywarden/db/report';
import { html } from 'hono/html';
import type { Services } from '../environment.ts';
import { readControls } from '../evidence/controls.ts';
import { digits, range } from '../parameters.ts';
import { connectionItem } from '../shapes/archive.ts';
import { runItem } from '../shapes/governance.ts';
import { accessItem } from '../shapes/reviews.ts';
import { section, state, time } from './html.ts';
import { listPart, type Pages } from './page.ts';

const spans = { role: 'viewer', organizations: 'all' } as const;

const blindness = {
  personal_keys: (members: number | null) => `the personal keys of ${members} members are seen by nobody`,
  members_unknown: () => 'its members were never listed',
  listing_old: () => 'its keys were last listed more than a day ago',
  own_key_unknown: () => 'its own key is not known, so that nothing is revoked where it sees',
};

/** What an auditor takes along: exports, evidence, and how the store came to what it says. */
export function proofPages({ page }: Pages, services: Services): void {
  const controls = readControls();
  page('/evidence', { role: 'auditor', organizations: 'filtered' }, async ({ principal }) => {
    const present = (await readPresent(services.db)).slice(0, 10);
    const year = String(Number(present.slice(0, 4)) - 1) + present.slice(4);
    return {
      title: 'Exports and evidence',
      body: html`
        ${section(
          'Exports',
          html`<p>Each ends in a line with its count, its SHA-256 and the holes in what it covers; without that line it is cut.</p>
            <ul class="downloads">
              ${[
                'keys',
                'credentials',
                'findings',
                'revocations',
                ...(principal.organizations === null ? ['reviews'] : []),
                'operations',
              ].map(
                (name) =>
                  html`<li>${name}: ${['csv', 'ndjson', 'json'].map((format) => html`<a href="/v1/exports/${name}?format=${format}">${format}</a> `)}</li>`,
              )}
            </ul>`,
        )}
        ${
          principal.organizations !== null
            ? ''
            : section(
                'Evidence',
                html`<form class="forms" method="get" action="/v1/evidence">
                  <p>One archive for a control and a period: what it asks for, what was measured, the exceptions, and what was not seen.</p>
                  <div class="field">
                    <label for="e-control">Control</label>
                    <select id="e-control" name="control">
                      ${controls.map(({ id, title }) => html`<option value="${id}">${id}: ${title}</option>`)}
                    </select>
                  </div>
                  <div class="field"><label for="e-from">From</label><input id="e-from" name="from" value="${year}T00:00:00Z" required /></div>
                  <div class="field"><label for="e-to">Before</label><input id="e-to" name="to" value="${present}T00:00:00Z" required /></div>
                  <button type="submit">Download</button>
                </form>`,
              )
        }
      `,
    };
  });

  page('/connections', spans, async (visit) => ({
    title: 'Connections',
    body: await listPart(visit, services, {
      filters: {},
      fields: [],
      list: () => connectionList(),
      item: connectionItem,
      caption: 'Connections',
      columns: [
        { label: 'Connection', cell: ({ name }) => name },
        { label: 'Control plane', cell: (each) => each.control_plane },
        { label: 'Account', cell: (each) => each.account_id },
        { label: 'Own key', cell: (each) => each.own_key_id },
        { label: 'Checked', cell: (each) => time(each.checked_at) },
        { label: 'Sees', cell: ({ scopes }) => `${scopes.length} scopes` },
        {
          label: 'Blind to',
          is: 'text',
          cell: ({ blind_spots: spots }) =>
            spots.length === 0
              ? 'nothing that is known'
              : html`<ul>${spots.map(({ kind, scope, members }) => html`<li>${scope ?? ''}: ${blindness[kind](members)}</li>`)}</ul>`,
        },
      ],
      empty: 'No connection was ever made.',
    }),
  }));

  page('/runs', spans, async (visit) => ({
    title: 'Sync runs',
    body: await listPart(visit, services, {
      filters: { kind: runItem.shape.kind.optional(), status: runItem.shape.status.optional() },
      fields: [
        { name: 'kind', label: 'Of', options: ['keys', 'operations', 'credentials'] },
        { name: 'status', label: 'Status', options: [...runItem.shape.status.options] },
      ],
      list: (query) => runList(query),
      item: runItem,
      caption: 'Sync runs',
      columns: [
        { label: 'Run', cell: ({ id }) => id },
        { label: 'Of', cell: ({ kind }) => kind },
        { label: 'Connection', cell: ({ connection }) => connection },
        { label: 'Status', cell: ({ status }) => state(status) },
        { label: 'Began', cell: (run) => time(run.started_at) },
        { label: 'Ended', cell: (run) => (run.finished_at === null ? '' : time(run.finished_at)) },
        {
          label: 'Counted',
          is: 'text',
          cell: ({ counts }) =>
            Object.entries(counts)
              .map(([name, count]) => `${name.replaceAll('_', ' ')} ${count.toLocaleString('en')}`)
              .join(', '),
        },
        { label: 'Error', is: 'text', cell: ({ error }) => error?.message ?? error?.code ?? '' },
      ],
      empty: 'Nothing has run so far.',
    }),
  }));

  page('/access-log', { role: 'auditor', organizations: 'all' }, async (visit) => ({
    title: 'Access log',
    body: await listPart(visit, services, {
      filters: { token_id: digits.optional(), ...range },
      fields: [
        { name: 'token_id', label: 'Token' },
        { name: 'from', label: 'From', placeholder: '2026-01-01T00:00:00Z' },
        { name: 'to', label: 'Before', placeholder: '2026-07-01T00:00:00Z' },
      ],
      list: ({ token_id: tokenId, from, to }) => accessList({ tokenId, from, to }),
      item: accessItem,
      caption: 'Access log',
      columns: [
        { label: 'When', cell: ({ at }) => time(at) },
        { label: 'Who', cell: ({ token }) => `${token.name} (${token.role}, token ${token.id})` },
        { label: 'From', cell: ({ address }) => address },
        {
          label: 'What',
          is: 'text',
          cell: ({ method, path, query }) => html`<code>${method} ${path}${query === '' ? '' : `?${query}`}</code>`,
        },
        { label: 'Status', is: 'number', cell: ({ status }) => status },
        {
          label: 'Records',
          is: 'number',
          cell: ({ records, stream }) => (stream === null ? '' : `${stream} ${records ?? ''}`),
        },
      ],
      empty: 'Nobody has looked at anything.',
    }),
  }));
}
