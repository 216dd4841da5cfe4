import { z } from '@hono/zod-openapi';
import { isKeyKind } from '@keywarden/core/wire';
import * as store from '@keywarden/db/report';
import { html } from 'hono/html';
import { allow, mayAct } from '../access/roles.ts';
import { grantExemption } from '../actions/exemptions.ts';
import { columnsFor, linkTo, withProof } from '../dashboard/columns.ts';
import {
  ago,
  type Column,
  facts,
  type Html,
  lastUse,
  type Part,
  reasonField,
  section,
  state,
  time,
} from '../dashboard/html.ts';
import { firstPart, type Report, readForm, readParameter } from '../dashboard/page.ts';
import { digits, lasting, reason } from '../parameters.ts';
import { notFound } from '../problem.ts';
import { exemptionColumns } from './exemptions.ts';
import { expiryCell } from './keys.ts';
import { revocationColumns } from './revocations.ts';
import { requestPart, rotationColumns } from './rotations.ts';

type Key = z.infer<typeof store.keyItem>;
type Credential = z.infer<typeof store.credentialItem>;

const findingColumns = columnsFor(store.findingItem, {
  rule: 'Rule',
  reason: 'Why',
  action: 'Action',
  disposition: 'Disposition',
  why_held: 'Held because',
});
const useColumns = columnsFor(store.keyUse, {
  last_used_at: 'Last use in the hour',
  address: { label: 'From', cell: ({ address }) => address ?? 'unknown' },
});
const observationColumns = columnsFor(store.keyObservation, {
  seen_at: 'Seen',
  event: 'Event',
  record: { label: 'Name at that time', cell: ({ record }) => (typeof record?.name === 'string' ? record.name : '') },
});
const reviewColumns = columnsFor(store.reviewedKey, {
  review_id: 'Review',
  decision: { label: 'Decision', cell: ({ decision }) => decision ?? 'undecided' },
  reason: 'Why',
  decided_by: 'By',
});

/** Adds the page of one key or credential: its record, its history and its actions. */
export function keyPage(report: Report): void {
  const { db, page, form } = report;
  page('/keys/:key', allow('viewer'), async (visit) => {
    const { c, principal } = visit;
    const number = readParameter(c, 'key', digits);
    const { organizations } = principal;
    const found =
      (await store.readOne(db, store.keyList({ number }, { organizations }))) ??
      (await store.readOne(db, store.credentialList({ number }, { organizations })));
    if (found === undefined) throw notFound('key with this number', '/keys');
    const key = z.union([store.keyItem, store.credentialItem]).parse(JSON.parse(found));
    const isApiKey = !isOther(key);
    const of = { key: number };
    const part = async <S extends z.ZodObject>(
      title: string,
      list: store.List<S>,
      shown: { columns: Column<z.output<S>>[]; empty: string; caption?: string; limit?: number },
      before: Part = '',
    ) => section(title, html`${before}${await firstPart(db, list, { caption: title, ...shown })}`);
    const requests = isApiKey ? await requestPart(db, of, organizations) : '';
    return {
      title: key.name,
      body: html`
        ${describeKey(key)}
        ${await part('Findings', store.findingList(of, organizations), { columns: findingColumns, empty: 'The newest plan has no finding for it.' })}
        ${await part('Observed use', store.keyUseList(number), { caption: 'Use', columns: useColumns, empty: 'No use was observed.' })}
        ${await part('Observations', store.keyObservationList(number), { caption: 'Observations', columns: observationColumns, empty: 'It was never observed.', limit: 200 })}
        ${await part('Revocations', store.revocationList(of, organizations), { columns: withProof(visit, 'revocation', revocationColumns), empty: 'Keywarden never tried to revoke it.' })}
        ${isApiKey ? await part('Rotations', store.rotationList(of, organizations), { columns: withProof(visit, 'rotation', rotationColumns), empty: 'Keywarden never rotated it.' }, requests) : ''}
        ${await part('Exemptions', store.exemptionList(of, organizations), { columns: withProof(visit, 'exemption', exemptionColumns), empty: 'It was never exempt from anything.' })}
        ${organizations === null ? await part('Reviews', store.reviewItemList(of), { columns: reviewColumns, empty: 'It is not in any review.' }) : ''}
        ${mayAct(principal, 'operator') && key.state !== 'gone' ? actionForms({ key: number, rules: await store.listRules(db), rotates: isApiKey }) : ''}
      `,
    };
  });

  form('/keys/:key/exemption', allow('operator'), async ({ c, principal }, sent) => {
    const key = readParameter(c, 'key', digits);
    const given = readForm(sent, { rule: z.string().optional(), reason, for: lasting });
    const rules = given.rule === undefined ? null : [given.rule];
    const request = { keys: [key], rules, reason: given.reason, lastingMs: given.for };
    await grantExemption(report, { principal, request });
    return { to: `/keys/${key}`, flash: 'exempted' };
  });
}

/** Returns whether it is a credential other than an API key. */
const isOther = (key: Key | Credential): key is Credential => !isKeyKind(key.kind);

function describeKey(key: Key | Credential): Html {
  return facts([
    ['Id', key.id],
    ['Kind', key.kind.replaceAll('_', ' ')],
    ['State', state(key.state)],
    ['Scope', key.scope],
    ['Project', key.project_id === null ? null : linkTo('project_id', key.project_id)],
    ...(isOther(key) ? describeCredential(key) : []),
    ['Owner', key.owner],
    ['Creator', key.creator.name ?? key.creator.id],
    ['Created', key.created_at === null ? 'unknown' : ago(key.created_at)],
    ['Last used', lastUse(key)],
    ['From', key.last_used_from],
    ['First seen', time(key.first_seen_at)],
    ['Last seen', time(key.last_seen_at)],
    key.gone_at !== null && ['Gone', time(key.gone_at)],
    ['Control plane', key.control_plane],
  ]);
}

function describeCredential(credential: Credential): [string, Part][] {
  const detail = Object.entries(credential.detail ?? {});
  return [
    ['Branch', credential.branch_id],
    ['Holder', credential.holder],
    ['Expires', expiryCell(credential)],
    ...detail.map(([name, value]): [string, Part] => [asLabel(name), asText(value)]),
  ];
}

/** Returns the name of a field as a label: `principal_type` becomes "Principal type". */
const asLabel = (name: string) => name.charAt(0).toUpperCase() + name.slice(1).replaceAll('_', ' ');

function asText(value: unknown): string {
  if (typeof value === 'boolean') return value ? 'yes' : 'no';
  return Array.isArray(value) ? value.join(', ') : String(value);
}

function actionForms({ key, rules, rotates }: { key: string; rules: string[]; rotates: boolean }): Html {
  return section(
    'Actions',
    html`<div class="forms">
      ${rotates ? rotationForm(key) : ''}
      <form method="post" action="/keys/${key}/exemption">
        <h3>Grant an exemption</h3>
        <div class="field"><label for="exempt-rule">Rule</label><select id="exempt-rule" name="rule"><option value="">every rule</option>${rules.map((rule) => html`<option>${rule}</option>`)}</select></div>
        <div class="field"><label for="exempt-for">For</label><input id="exempt-for" name="for" value="30d" required pattern="[0-9]{1,5}[smhdw]" /></div>
        ${reasonField('exempt-reason')}
        <button type="submit">Exempt</button>
      </form>
    </div>`,
  );
}

const rotationForm = (key: string): Html => html`<form method="post" action="/keys/${key}/rotation">
  <h3>Rotate this key</h3>
  ${reasonField('rotate-reason')}
  <button type="submit">Request a rotation</button>
</form>`;
