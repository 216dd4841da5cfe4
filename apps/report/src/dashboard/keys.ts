import { z } from '@hono/zod-openapi';
import { otherKinds } from '@keywarden/core/wire';
import {
  exemptionList,
  findingList,
  type Inventoried,
  type KeyOrder,
  keyList,
  keyObservationList,
  keyUseList,
  listInventoryHoles,
  listRules,
  readOne,
  readPage,
  readPresent,
  reviewItemList,
  revocationList,
  rotationList,
  rotationRequestList,
} from '@keywarden/db/report';
import { html } from 'hono/html';
import { mayAct } from '../access/roles.ts';
import { grantExemption } from '../actions/exemptions.ts';
import { requestRotation } from '../actions/rotations.ts';
import type { Services } from '../environment.ts';
import { credentialFilters, keyFilters, toCredentialFilter, toKeyFilter } from '../filters.ts';
import { digits, lasting, reason } from '../parameters.ts';
import { notFound } from '../problem.ts';
import { requirePast } from '../routes/keys.ts';
import { exemptionItem, findingItem, revocationItem, rotationItem, rotationRequestItem } from '../shapes/governance.ts';
import { credentialItem, keyItem, keyObservation, keyUse } from '../shapes/keys.ts';
import { reviewedKey } from '../shapes/reviews.ts';
import { type Field, facts, type Html, link, type Part, section, state, time } from './html.ts';
import { listPart, type Pages, readField, readForm, readParameter } from './page.ts';
import {
  type Credential,
  credentialColumns,
  exemptionTable,
  findingTable,
  type Key,
  keyColumns,
  observationTable,
  requestTable,
  reviewTable,
  revocationTable,
  rotationTable,
  useTable,
} from './tables.ts';

const access = { role: 'viewer', organizations: 'filtered' } as const;
const operator = { role: 'operator', organizations: 'filtered' } as const;

const fields: Field[] = [
  { name: 'q', label: 'Name contains', type: 'search' },
  { name: 'kind', label: 'Kind', options: ['personal', 'organization', 'project'] },
  { name: 'state', label: 'State', options: ['active', 'missing', 'gone'] },
  { name: 'organization_id', label: 'Organization' },
  { name: 'owner', label: 'Owner' },
  { name: 'idle_for', label: 'Idle for over', placeholder: '90d' },
  { name: 'older_than', label: 'Older than', placeholder: '365d' },
  { name: 'as_of', label: 'As of', placeholder: '2026-03-31' },
];

const credentialFields: Field[] = [
  { name: 'q', label: 'Name contains', type: 'search' },
  { name: 'kind', label: 'Kind', options: [...otherKinds] },
  { name: 'state', label: 'State', options: ['active', 'missing', 'gone'] },
  { name: 'organization_id', label: 'Organization' },
  { name: 'project_id', label: 'Project' },
  { name: 'holder', label: 'Holder' },
  { name: 'idle_for', label: 'Idle for over', placeholder: '90d' },
  { name: 'older_than', label: 'Older than', placeholder: '365d' },
  { name: 'expires_within', label: 'Expires within', placeholder: '14d' },
  { name: 'as_of', label: 'As of', placeholder: '2026-03-31' },
];

const sorts = z.enum(['number', 'name', 'created_at', 'last_used_at']).catch('number');

/** The keys, the other credentials, and all that is known of one. */
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
        return keyList(toKeyFilter(query), { organizations, sort: sorts.parse(sort) satisfies KeyOrder, direction });
      },
      item: keyItem,
      caption: 'Keys',
      columns: keyColumns,
      empty: 'No key is like that.',
      exported: 'keys',
    });
    return {
      title: 'Keys',
      body: html`${asOf === undefined ? '' : await renderHoles(services, { asOf, organizations, of: 'keys' })}${body}`,
    };
  });

  page('/credentials', access, async (visit) => {
    const { organizations } = visit.principal;
    const of = 'credentials';
    const asOf = visit.query.as_of;
    const body = await listPart(visit, services, {
      filters: credentialFilters,
      fields: credentialFields,
      list: async (query, { sort = 'number', direction = 'asc' }) => {
        if (query.as_of !== undefined) await requirePast(db, query.as_of);
        return keyList(toCredentialFilter(query), { organizations, sort: sorts.parse(sort), direction, of });
      },
      item: credentialItem,
      caption: 'Credentials',
      columns: credentialColumns,
      empty: 'No credential is like that. They are listed once a day.',
      exported: 'credentials',
    });
    return {
      title: 'Other credentials',
      body: html`${await renderHoles(services, { asOf: asOf ?? (await readPresent(db)), organizations, of })}${body}`,
    };
  });

  page('/keys/:key', access, async ({ c, principal }) => {
    const number = readParameter(c, 'key', digits);
    const { organizations } = principal;
    const found =
      (await readOne(db, keyList({ number }, { organizations }))) ??
      (await readOne(db, keyList({ number }, { organizations, of: 'credentials' })));
    if (found === undefined) throw notFound('key of this number', '/keys');
    const key = z.union([keyItem, credentialItem]).parse(JSON.parse(found));
    const isApiKey = !('expires_at' in key);
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
        ${isApiKey ? section('Rotations', html`${requestTable(await first(rotationRequestList({ keyNumber: number }, organizations), rotationRequestItem))}${rotationTable(await first(rotationList({ keyNumber: number }, organizations), rotationItem))}`) : ''}
        ${section('Exemptions', exemptionTable(await first(exemptionList({ keyNumber: number }, organizations), exemptionItem)))}
        ${organizations === null ? section('Reviews', reviewTable(await first(reviewItemList({ keyNumber: number }), reviewedKey))) : ''}
        ${mayAct(principal, 'operator') && key.state !== 'gone' ? actionForms({ key: number, rules: await listRules(db), rotates: isApiKey }) : ''}
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

async function renderHoles(
  { db }: Services,
  { asOf, organizations, of }: { asOf: string; organizations: string[] | null; of: Inventoried },
): Promise<Part> {
  if (Number.isNaN(Date.parse(asOf))) return '';
  const holes = await listInventoryHoles(db, { from: asOf, to: asOf, organizations, of });
  if (holes.length === 0)
    return html`<p class="notice">At ${asOf} every scope was listed within ${of === 'keys' ? 'a day' : 'two days'}.</p>`;
  return html`<details class="notice warn">
    <summary>Not all ${of} of ${holes.length} scopes are known at ${asOf}</summary>
    <ul>
      ${holes.map((hole) => html`<li>${hole.scope}: no complete listing from ${hole.from ?? 'ever'} to ${hole.to ?? 'now'}</li>`)}
    </ul>
  </details>`;
}

function describeKey(key: Key | Credential): Html {
  return facts([
    ['Id', key.id],
    ['Kind', key.kind.replaceAll('_', ' ')],
    ['State', state(key.state)],
    ['Scope', key.scope],
    [
      'Project',
      key.project_id === null ? null : link(`/projects/${encodeURIComponent(key.project_id)}`, key.project_id),
    ],
    ...('expires_at' in key ? describeCredential(key) : []),
    ['Owner', key.owner],
    ['Creator', key.creator.name ?? key.creator.id],
    ['Created', key.created_at === null ? 'unknown' : time(key.created_at)],
    ['Last used', time(key.last_used_at)],
    ['From', key.last_used_from],
    ['First seen', time(key.first_seen_at)],
    ['Last seen', time(key.last_seen_at)],
    ...(key.gone_at === null ? [] : [['Gone', time(key.gone_at)] as [string, Part]]),
    ['Control plane', key.control_plane],
  ]);
}

function describeCredential(credential: Credential): [string, Part][] {
  const detail = Object.entries(credential.detail ?? {});
  return [
    ['Branch', credential.branch_id],
    ['Holder', credential.holder],
    ['Expires', credential.expires_at === null ? 'never' : time(credential.expires_at)],
    ...detail.map(([name, value]): [string, Part] => [asLabel(name), asText(value)]),
  ];
}

/** The name of a field as a label: `principal_type` as Principal type. */
const asLabel = (name: string) => name.charAt(0).toUpperCase() + name.slice(1).replaceAll('_', ' ');

function asText(value: unknown): string {
  if (typeof value === 'boolean') return value ? 'yes' : 'no';
  return Array.isArray(value) ? value.join(', ') : String(value);
}

function actionForms({ key, rules, rotates }: { key: string; rules: string[]; rotates: boolean }): Html {
  return section(
    'What to do',
    html`<div class="forms">
      ${rotates ? rotationForm(key) : ''}
      <form method="post" action="/keys/${key}/exemption">
        <h3>Exempt it</h3>
        <div class="field"><label for="exempt-rule">From the rule</label><select id="exempt-rule" name="rule"><option value="">every rule</option>${rules.map((rule) => html`<option>${rule}</option>`)}</select></div>
        <div class="field"><label for="exempt-for">For</label><input id="exempt-for" name="for" value="30d" required pattern="[0-9]{1,5}[smhd]" /></div>
        <div class="field"><label for="exempt-reason">Reason</label><input id="exempt-reason" name="reason" required maxlength="1000" /></div>
        <button type="submit">Exempt</button>
      </form>
    </div>`,
  );
}

const rotationForm = (key: string): Html => html`<form method="post" action="/keys/${key}/rotation">
  <h3>Rotate it</h3>
  <div class="field"><label for="rotate-reason">Reason</label><input id="rotate-reason" name="reason" required maxlength="1000" /></div>
  <button type="submit">Ask for a rotation</button>
</form>`;
