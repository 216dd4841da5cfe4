import type { z } from '@hono/zod-openapi';
import { html } from 'hono/html';
import type {
  exemptionItem,
  findingItem,
  revocationItem,
  rotationItem,
  rotationRequestItem,
} from '../shapes/governance.ts';
import type { credentialItem, keyItem, keyObservation, keyUse } from '../shapes/keys.ts';
import type { reviewedKey } from '../shapes/reviews.ts';
import { type Column, link, state, table, time } from './html.ts';

// Tables that several pages show.

export type Key = z.infer<typeof keyItem>;

export const keyColumns: Column<Key>[] = [
  { label: 'Name', is: 'text', sort: 'name', cell: ({ number, name }) => link(`/keys/${number}`, name) },
  { label: 'Id', cell: ({ id }) => id },
  { label: 'State', cell: (key) => state(key.state) },
  { label: 'Last used', sort: 'last_used_at', cell: (key) => time(key.last_used_at) },
  { label: 'Created', sort: 'created_at', cell: (key) => time(key.created_at) },
  { label: 'Owner', cell: ({ owner }) => link(`/keys?owner=${encodeURIComponent(owner)}`, owner) },
  { label: 'Kind', cell: ({ kind }) => kind },
  {
    label: 'Organization, project',
    cell: ({ organization_id: organization, project_id: project }) =>
      html`${organization === null ? '' : link(`/keys?organization_id=${encodeURIComponent(organization)}`, organization)}
      ${project === null ? '' : html`<br />${link(`/projects/${encodeURIComponent(project)}`, project)}`}`,
  },
];

export type Credential = z.infer<typeof credentialItem>;

export const credentialColumns: Column<Credential>[] = [
  { label: 'Name', is: 'text', sort: 'name', cell: ({ number, name }) => link(`/keys/${number}`, name) },
  { label: 'Kind', cell: ({ kind }) => kind.replaceAll('_', ' ') },
  { label: 'State', cell: (each) => state(each.state) },
  { label: 'Created', sort: 'created_at', cell: ({ created_at: at }) => (at === null ? 'unknown' : time(at)) },
  {
    label: 'Last used',
    sort: 'last_used_at',
    cell: ({ kind, last_used_at: at }) => (kind === 'branch_credential' ? time(at) : 'not reported'),
  },
  { label: 'Expires', cell: ({ kind, expires_at: at }) => expiryOf(kind, at) },
  {
    label: 'Project, branch',
    cell: ({ project_id: project, branch_id: branch }) =>
      html`${project === null ? '' : link(`/projects/${encodeURIComponent(project)}`, project)}
      ${branch === null ? '' : html`<br />${branch}`}`,
  },
];

/** Of other kinds upstream reports no expiry. */
const expiryOf = (kind: string, at: string | null) =>
  at === null ? (kind === 'branch_credential' ? 'never' : 'not reported') : time(at);

export const findingTable = (items: z.infer<typeof findingItem>[]) =>
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

export const useTable = (items: z.infer<typeof keyUse>[]) =>
  table({
    caption: 'Use',
    items,
    empty: 'No use of it was seen.',
    columns: [
      { label: 'Last use of the hour', cell: (use) => time(use.last_used_at) },
      { label: 'From', cell: ({ address }) => address ?? 'unknown' },
    ],
  });

export const observationTable = (items: z.infer<typeof keyObservation>[]) =>
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

export const revocationTable = (items: z.infer<typeof revocationItem>[]) =>
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

export const rotationTable = (items: z.infer<typeof rotationItem>[]) =>
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

export const exemptionTable = (items: z.infer<typeof exemptionItem>[]) =>
  table({ caption: 'Exemptions', items, empty: 'It is not exempt from anything.', columns: exemptionColumns });

export const reviewTable = (items: z.infer<typeof reviewedKey>[]) =>
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

const requestColumns: Column<z.infer<typeof rotationRequestItem>>[] = [
  { label: 'Asked', cell: (request) => time(request.requested_at) },
  { label: 'Key', cell: ({ key }) => link(`/keys/${key.number}`, key.name) },
  { label: 'By', cell: (request) => request.requested_by },
  { label: 'Why', is: 'text', cell: (request) => request.reason },
  {
    label: 'Answer',
    is: 'text',
    cell: ({ rotation_id: rotation, why_not: whyNot }) =>
      rotation === null ? (whyNot ?? 'the next pass of the daemon answers') : `rotation ${rotation}`,
  },
];

/** Nothing where nothing was asked for. */
export const requestTable = (items: z.infer<typeof rotationRequestItem>[]) =>
  items.length === 0 ? '' : table({ caption: 'Requests for rotations', items, empty: '', columns: requestColumns });

export const findingColumns: Column<z.infer<typeof findingItem>>[] = [
  {
    label: 'Key',
    is: 'text',
    cell: ({ key }) => html`${link(`/keys/${key.number}`, key.name)} <small>${key.id}</small>`,
  },
  { label: 'Organization', cell: ({ key }) => key.organization_id ?? 'personal' },
  { label: 'Rule', cell: ({ rule }) => link(`/findings?rule=${encodeURIComponent(rule)}`, rule) },
  { label: 'Why', is: 'text', cell: (finding) => finding.reason },
  { label: 'Action', cell: ({ action }) => action },
  { label: 'Disposition', cell: ({ disposition }) => state(disposition) },
  { label: 'Held because', is: 'text', cell: ({ why_held: why }) => why },
];
