import { z } from '@hono/zod-openapi';
import {
  exemptionList,
  findingList,
  type KeyOrder,
  keyList,
  keyObservationList,
  keyUseList,
  listInventoryHoles,
  readOne,
  readPage,
  reviewItemList,
  revocationList,
  rotationList,
} from '@keywarden/db/read';
import { html } from 'hono/html';
import { mayAct } from '../access/roles.ts';
import { grantExemption } from '../actions/exemptions.ts';
import { requestRotation } from '../actions/rotations.ts';
import type { Services } from '../environment.ts';
import { keyFilters, toKeyFilter } from '../filters.ts';
import { digits, lasting, reason } from '../parameters.ts';
import { notFound } from '../problem.ts';
import { requirePast } from '../routes/keys.ts';
import { exemptionItem, findingItem, revocationItem, rotationItem } from '../shapes/governance.ts';
import { keyItem, keyObservation, keyUse } from '../shapes/keys.ts';
import { reviewedKey } from '../shapes/reviews.ts';
import { type Column, type Field, facts, type Html, link, type Part, section, state, table, time } from './html.ts';
import { listPart, type Pages, readField, readForm, readParameter } from './page.ts';

export type Key = z.infer<typeof keyItem>;

const access = { role: 'viewer', organizations: 'filtered' } as const;
const operator = { role: 'operator', organizations: 'filtered' } as const;

export const keyColumns: Column<Key>[] = [
  { label: 'Key', sort: 'number', cell: ({ number, id }) => link(`/keys/${number}`, id) },
  { label: 'Name', is: 'text', sort: 'name', cell: ({ number, name }) => link(`/keys/${number}`, name) },
  { label: 'Kind', cell: ({ kind }) => kind },
  {
    label: 'Organization',
    cell: ({ organization_id: id }) => (id === null ? '' : link(`/keys?organization_id=${encodeURIComponent(id)}`, id)),
  },
  {
    label: 'Project',
    cell: ({ project_id: id }) => (id === null ? '' : link(`/projects/${encodeURIComponent(id)}`, id)),
  },
  { label: 'Owner', cell: ({ owner }) => link(`/keys?owner=${encodeURIComponent(owner)}`, owner) },
  { label: 'State', cell: (key) => state(key.state) },
  { label: 'Created', sort: 'created_at', cell: (key) => time(key.created_at) },
  { label: 'Last used', sort: 'last_used_at', cell: (key) => time(key.last_used_at) },
];

const fields: Field[] = [
  { name: 'q', label: 'Name contains', type: 'search' },
  { name: 'kind', label: 'Kind', options: ['personal', 'organization', 'project'] },
  { name: 'state', label: 'State', options: ['active', 'missing', 'gone'] },
  { name: 'organization_id', label: 'Organization' },
  { name: 'owner', label: 'Owner' },
  { name: 'idle_for', label: 'Idle for over', placeholder: '90d' },
  { name: 'older_than', label: 'Older than', placeholder: '365d' },
  { name: 'as_of', label: 'As of', placeholder: '2026-03-31T00:00:00Z' },
];

/** The keys, and all that is known of one. */
export function keyPages({ page, form }: Pages, services: Services): void {
  const { db } = services;
  page('/keys', access, async (visit) => {
    const { organizations } = visit.principal;
    const asOf = visit.query.as_of;
    const body = await listPart(visit, services, {
      filters: keyFilters,
      fields,
      list: async (query, turn) => {
        if (query.as_of !== undefined) await requirePast(db, query.as_of);
        const { sort = 'number', direction = 'asc' } = turn;
        const known = z.enum(['number', 'name', 'created_at', 'last_used_at']).catch('number').parse(sort);
        return keyList(toKeyFilter(query), { organizations, sort: known satisfies KeyOrder, direction });
      },
      item: keyItem,
      caption: 'Keys',
      columns: keyColumns,
      empty: 'No key is like that.',
      exported: 'keys',
    });
    return {
      title: 'Keys',
      body: html`${asOf === undefined ? '' : await renderHoles(services, asOf, organizations)}${body}`,
    };
  });

  page('/keys/:key', access, async ({ c, principal }) => {
    const number = readParameter(c, 'key', digits);
    const { organizations } = principal;
    const found = await readOne(db, keyList({ number }, { organizations }));
    if (found === undefined) throw notFound('key of this number', '/keys');
    const key = keyItem.parse(JSON.parse(found));
    const first = async <T extends z.ZodType>(list: Parameters<typeof readPage>[1], item: T, limit = 50) => {
      const { items } = await readPage(db, list, { limit, after: null });
      return items.map((each) => item.parse(JSON.parse(each)));
    };
    return {
      title: key.name,
      body: html`
        ${describeKey(key)}
        ${section('Findings', findingTable(await first(findingList({ keyNumber: number }, organizations), findingItem)))}
        ${section('Use that was seen', useTable(await first(keyUseList(number), keyUse)))}
        ${section('What listings showed', observationTable(await first(keyObservationList(number), keyObservation, 200)))}
        ${section('Revocations', revocationTable(await first(revocationList({ keyNumber: number }, organizations), revocationItem)))}
        ${section('Rotations', rotationTable(await first(rotationList({ keyNumber: number }, organizations), rotationItem)))}
        ${section('Exemptions', exemptionTable(await first(exemptionList({ keyNumber: number }, organizations), exemptionItem)))}
        ${organizations === null ? section('Reviews', reviewTable(await first(reviewItemList({ keyNumber: number }), reviewedKey))) : ''}
        ${mayAct(principal, 'operator') && key.state !== 'gone' ? actionForms(number) : ''}
      `,
    };
  });

  form('/keys/:key/rotation', operator, async ({ c, principal }, sent) => {
    const key = readParameter(c, 'key', digits);
    const given = readForm(z.object({ reason }), { reason: readField(sent, 'reason') });
    await requestRotation(services, { principal, key, reason: given.reason });
    return { to: `/keys/${key}`, said: 'asked' };
  });
  form('/keys/:key/exemption', operator, async ({ c, principal }, sent) => {
    const key = readParameter(c, 'key', digits);
    const rule = readField(sent, 'rule');
    const given = readForm(z.object({ reason, for: lasting }), {
      reason: readField(sent, 'reason'),
      for: readField(sent, 'for'),
    });
    const asked = { keys: [key], rules: rule === '' ? null : [rule], reason: given.reason, lastingMs: given.for };
    await grantExemption(services, { principal, asked });
    return { to: `/keys/${key}`, said: 'exempted' };
  });
}

async function renderHoles({ db }: Services, asOf: string, organizations: string[] | null): Promise<Part> {
  if (Number.isNaN(Date.parse(asOf))) return '';
  const holes = await listInventoryHoles(db, { from: asOf, to: asOf, organizations });
  if (holes.length === 0) return html`<p class="notice">At ${asOf} every scope was listed within a day.</p>`;
  return html`<details class="notice warn">
    <summary>Of ${holes.length} scopes nobody knows all keys at ${asOf}</summary>
    <ul>
      ${holes.map((hole) => html`<li>${hole.scope}: no complete listing from ${hole.from ?? 'ever'} to ${hole.to ?? 'now'}</li>`)}
    </ul>
  </details>`;
}

function describeKey(key: Key): Html {
  return facts([
    ['Id', key.id],
    ['Kind', key.kind],
    ['State', state(key.state)],
    ['Scope', key.scope],
    [
      'Project',
      key.project_id === null ? null : link(`/projects/${encodeURIComponent(key.project_id)}`, key.project_id),
    ],
    ['Owner', key.owner],
    ['Creator', key.creator.name ?? key.creator.id],
    ['Created', time(key.created_at)],
    ['Last used', time(key.last_used_at)],
    ['From', key.last_used_from],
    ['First seen', time(key.first_seen_at)],
    ['Last seen', time(key.last_seen_at)],
    ...(key.gone_at === null ? [] : [['Gone', time(key.gone_at)] as [string, Part]]),
    ['Control plane', key.control_plane],
  ]);
}

const findingTable = (items: z.infer<typeof findingItem>[]) =>
  table({
    caption: 'Findings',
    items,
    empty: 'No rule of the newest plan holds for it.',
    columns: [
      { label: 'Rule', cell: ({ rule }) => rule },
      { label: 'Why', is: 'text', cell: (finding) => finding.reason },
      { label: 'Action', cell: ({ action }) => action },
      { label: 'Disposition', cell: ({ disposition }) => state(disposition) },
      { label: 'Held because', is: 'text', cell: ({ why_held: why }) => why },
    ],
  });

const useTable = (items: z.infer<typeof keyUse>[]) =>
  table({
    caption: 'Use',
    items,
    empty: 'No use of it was seen.',
    columns: [
      { label: 'Last use of the hour', cell: (use) => time(use.last_used_at) },
      { label: 'From', cell: ({ address }) => address ?? 'unknown' },
    ],
  });

const observationTable = (items: z.infer<typeof keyObservation>[]) =>
  table({
    caption: 'Observations',
    items,
    empty: 'Nothing was seen of it.',
    columns: [
      { label: 'Seen', cell: (each) => time(each.seen_at) },
      { label: 'What', is: 'text', cell: ({ event }) => state(event) },
      { label: 'Name then', cell: ({ record }) => (typeof record?.name === 'string' ? record.name : '') },
    ],
  });

const revocationTable = (items: z.infer<typeof revocationItem>[]) =>
  table({ caption: 'Revocations', items, empty: 'Nobody has tried to revoke it.', columns: revocationColumns });

export const revocationColumns: Column<z.infer<typeof revocationItem>>[] = [
  { label: 'When', cell: (each) => time(each.judged_at ?? each.intended_at) },
  { label: 'Key', cell: ({ key }) => link(`/keys/${key.number}`, key.name) },
  { label: 'Outcome', cell: ({ outcome }) => state(outcome) },
  { label: 'Why', is: 'text', cell: ({ reasons }) => reasons.map((each) => each.reason).join('; ') },
  { label: 'By', cell: (each) => each.approved_by },
  {
    label: 'Through',
    cell: ({ plan_id: plan, rotation_id: rotation }) =>
      plan === null ? `rotation ${rotation}` : link(`/plans/${plan}`, plan),
  },
];

export const rotationColumns: Column<z.infer<typeof rotationItem>>[] = [
  { label: 'Rotation', cell: ({ id }) => id },
  { label: 'Key', cell: ({ key }) => link(`/keys/${key.number}`, key.name) },
  { label: 'Successor', cell: ({ successor_id: id }) => id },
  { label: 'State', cell: (each) => state(each.state) },
  { label: 'Since', cell: ({ since }) => time(since) },
  { label: 'Sink', cell: ({ sink }) => sink },
  { label: 'Asked by', cell: (each) => each.requested_by },
  { label: 'Why', is: 'text', cell: ({ why }) => why },
];

const rotationTable = (items: z.infer<typeof rotationItem>[]) =>
  table({ caption: 'Rotations', items, empty: 'It was never rotated.', columns: rotationColumns });

export const exemptionColumns: Column<z.infer<typeof exemptionItem>>[] = [
  { label: 'Exemption', cell: ({ id }) => id },
  {
    label: 'Keys',
    cell: ({ keys }) => {
      const [first] = keys;
      return first === undefined
        ? ''
        : html`${link(`/keys/${first.number}`, first.name)}${keys.length > 1 ? ` and ${keys.length - 1} more` : ''}`;
    },
  },
  { label: 'From', cell: ({ rules }) => rules?.join(', ') ?? 'every rule' },
  { label: 'State', cell: (each) => state(each.state) },
  { label: 'Until', cell: ({ until }) => time(until) },
  { label: 'By', cell: (each) => each.granted_by },
  { label: 'Why', is: 'text', cell: (each) => each.reason },
];

const exemptionTable = (items: z.infer<typeof exemptionItem>[]) =>
  table({ caption: 'Exemptions', items, empty: 'It is not exempt from anything.', columns: exemptionColumns });

const reviewTable = (items: z.infer<typeof reviewedKey>[]) =>
  table({
    caption: 'Reviews',
    items,
    empty: 'No review has looked at it.',
    columns: [
      { label: 'Review', cell: ({ review_id: id }) => link(`/reviews/${id}`, id) },
      { label: 'Decision', cell: ({ decision }) => decision ?? 'undecided' },
      { label: 'Why', is: 'text', cell: (each) => each.reason },
      { label: 'By', cell: (each) => each.decided_by },
    ],
  });

function actionForms(key: string): Html {
  return section(
    'What to do',
    html`<div class="forms">
      <form method="post" action="/keys/${key}/rotation">
        <h3>Rotate it</h3>
        <div class="field"><label for="rotate-reason">Reason</label><input id="rotate-reason" name="reason" required maxlength="1000" /></div>
        <button type="submit">Ask for a rotation</button>
      </form>
      <form method="post" action="/keys/${key}/exemption">
        <h3>Exempt it</h3>
        <div class="field"><label for="exempt-rule">From the rule</label><input id="exempt-rule" name="rule" placeholder="every rule" /></div>
        <div class="field"><label for="exempt-for">For</label><input id="exempt-for" name="for" value="30d" required pattern="[0-9]{1,5}[smhd]" /></div>
        <div class="field"><label for="exempt-reason">Reason</label><input id="exempt-reason" name="reason" required maxlength="1000" /></div>
        <button type="submit">Exempt</button>
      </form>
    </div>`,
  );
}
