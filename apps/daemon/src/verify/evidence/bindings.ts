import type { EventContent } from '@keywarden/core/ledger';
import { compareInstants, sha256 } from '@keywarden/core/values';
import {
  areKeys,
  areMoves,
  haveHidden,
  is,
  isCause,
  isKey,
  isSameJson,
  isShortKey,
  isStateBy,
  isValue,
  listMoves,
  movesOf,
} from './comparisons.ts';
import { type EventIndex, type EventName, findEvent, findEvents, hashOf, listNewest, textOf } from './events.ts';
import { type Binding, type Compare, nameOfSource, type Period, type Row } from './sources.ts';

// Which events of the ledger the rows of an evidence archive are compared with.

const isBefore = (at: EventContent[string] | undefined, limit: string) =>
  typeof at === 'string' && compareInstants(at, limit) < 0;

const isWithin = (at: EventContent[string] | undefined, { from, to }: Period) =>
  typeof at === 'string' && compareInstants(at, from) >= 0 && compareInstants(at, to) < 0;

const key: Compare = { member: 'key', isSame: isKey, parts: ['number', 'control_plane', 'scope', 'id'] };

/** Fields that have the names of their members. */
const same = (...members: string[]): Record<string, string> => Object.fromEntries(members.map((name) => [name, name]));

const has = (field: string) => (row: Row) => textOf(row[field]) !== null;

export const bindings: Binding[] = [
  {
    of: 'revocations',
    table: /-revocations\.ndjson$/,
    sources: [
      {
        type: 'revocation.intended',
        since: 'intended_at',
        isDue: ({ content }, period) => isWithin(content.judged_at ?? content.created_at, period),
        fields: {
          ...same('plan_id', 'connection', 'policy_sha256', 'judged_at'),
          key,
          intended_at: 'created_at',
          cause: { member: 'number', isSame: isCause },
        },
      },
      {
        type: 'revocation.ended',
        since: 'ended_at',
        namedByRow: { intent_number: 'id' },
        isClaimed: ({ outcome }) => outcome !== 'open',
        absent: { outcome: 'open', used_in_flight: false },
        fields: { outcome: 'outcome', used_in_flight: { member: 'used_in_flight', isSame: isValue }, ended_at: 'at' },
      },
      {
        type: 'plan.approved',
        namedByFirst: { number: 'approval_number' },
        isClaimed: ({ cause }) => cause === 'plan',
        fields: same('approved_by', 'via'),
      },
      {
        type: 'rotation.begun',
        namedByFirst: { number: 'rotation_number' },
        isClaimed: ({ cause }) => cause === 'rotation',
        fields: { via: 'via', rotation_id: 'id', approved_by: 'requested_by' },
      },
    ],
  },
  {
    of: 'exemptions',
    table: /-exemptions\.ndjson$/,
    sources: [
      {
        type: 'exemption.granted',
        isDue({ content: { number, keys, granted_at: granted, until } }, { from, to }, events) {
          const ended = findEvent(events, 'exemption.ended', { number })?.content.ended_at;
          const hasKeys = hashOf(keys) !== sha256('');
          return hasKeys && isBefore(granted, to) && !isBefore(until, from) && !isBefore(ended, from);
        },
        fields: {
          ...same('granted_at', 'until', 'pattern', 'reason', 'granted_by'),
          rules: { member: 'rules', isSame: isValue },
          keys: { member: 'keys', isSame: areKeys, parts: ['control_plane', 'scope', 'id'] },
          state: {
            member: 'number',
            isSame: isStateBy('ended_at', { before: ['in_force', 'lapsed'], after: 'ended' }),
          },
        },
      },
      {
        type: 'exemption.ended',
        isClaimed: has('ended_at'),
        fields: same('ended_at', 'ended_by'),
      },
    ],
  },
  {
    of: 'incidents',
    table: /-incidents\.ndjson$/,
    sources: [
      {
        type: 'incident.opened',
        since: 'opened_at',
        isDue({ content }, { from, to }, events) {
          const closed = findEvent(events, 'incident.closed', { number: content.number })?.content.closed_at;
          return isBefore(content.opened_at, to) && !isBefore(closed, from);
        },
        wasLeftOut: ({ content }, { from }) => isBefore(content.opened_at, from),
        fields: {
          ...same('kind', 'opened_at'),
          scope: { member: 'scope', isEmptyNull: true },
          key: { member: 'key', isSame: isShortKey, parts: ['number', 'id'] },
          state: { member: 'number', isSame: isStateBy('closed_at', { before: ['open'], after: 'closed' }) },
        },
      },
      {
        type: 'revocation.intended',
        namedByFirst: { number: 'intent_number' },
        isClaimed: has('plan_id'),
        fields: same('plan_id'),
      },
      {
        type: 'incident.opened',
        isNewer: ({ row }, isNew) => row.closed_at === null || isNew(row.closed_at),
        fields: { detail: { member: 'detail', isSame: isSameJson } },
      },
      {
        type: 'incident.closed',
        since: 'closed_at',
        isClaimed: has('closed_at'),
        fields: same('closed_at', 'closed_by', 'note'),
      },
    ],
  },
  {
    of: 'decisions about plans',
    table: /-decisions\.ndjson$/,
    sources: [
      {
        type: 'plan.approved',
        since: 'at',
        isDue: ({ content }, period) => isWithin(content.approved_at, period),
        namedByRow: { plan_id: 'plan_id', approved_at: 'at' },
        isClaimed: ({ decision }) => decision === 'approved',
        fields: {
          ...same('plan_id', 'via'),
          at: 'approved_at',
          by: 'approved_by',
          decision: { member: 'number', isSame: is('approved') },
        },
      },
      {
        type: 'plan.approval_ended',
        namedByFirst: { approval_number: 'number' },
        isClaimed: has('ended'),
        fields: { ended: 'how' },
      },
      {
        type: 'plan.rejected',
        since: 'at',
        isDue: ({ content }, period) => isWithin(content.rejected_at, period),
        namedByRow: { plan_id: 'plan_id', rejected_at: 'at' },
        isClaimed: ({ decision }) => decision === 'rejected',
        fields: {
          ...same('plan_id', 'reason'),
          at: 'rejected_at',
          by: 'rejected_by',
          via: { member: 'number', isSame: is('report') },
          decision: { member: 'number', isSame: is('rejected') },
        },
      },
    ],
  },
  {
    of: 'rotations',
    table: /-rotations\.ndjson$/,
    sources: [
      {
        type: 'rotation.begun',
        since: 'opened_at',
        isDue: ({ content }, period, events) =>
          findEvents(events, 'rotation.moved', { rotation_number: content.number }).some((moved) =>
            isWithin(moved.content.at, period),
          ),
        namedByRow: { id: 'id' },
        fields: { ...same('rule', 'sink', 'via', 'opened_at', 'requested_by'), key },
      },
      {
        type: 'rotation.moved',
        isNewer: ({ row, event, events }, isNew) =>
          isNew(row.since) && listMoves(row).length > movesOf(event, events).length,
        namedByFirst: { rotation_number: 'number' },
        fields: { ...same('state', 'why'), since: 'at' },
      },
      {
        type: 'rotation.moved',
        namedByFirst: { rotation_number: 'number' },
        fields: { events: { member: 'sequence', isSame: areMoves, isHidden: haveHidden } },
      },
      {
        type: 'rotation.given_up',
        since: 'ended_at',
        namedByFirst: { number: 'number' },
        isClaimed: has('given_up_by'),
        fields: same('given_up_by'),
      },
    ],
  },
  {
    of: 'reviewed keys',
    table: /-reviewed_keys\.ndjson$/,
    document: { review: 'review_id', is: 'item' },
    sources: [
      {
        type: 'review.decided',
        since: 'decided_at',
        isNewer: ({ row, event }, isNew) =>
          isNew(row.decided_at) && isBefore(event.content.decided_at, String(row.decided_at)),
        isDue: ({ content }, period, events) =>
          isWithin(
            findEvent(events, 'review.signed', { review_number: content.review_number })?.content.signed_at,
            period,
          ),
        namedByRow: { review_number: 'review_id', key_number: 'key.number' },
        fields: { ...same('decision', 'reason', 'decided_by', 'decided_at'), review_id: 'review_number', key },
      },
      { type: 'review.signed', namedByRow: { review_number: 'review_id' }, fields: {} },
    ],
  },
  {
    of: 'signed reviews',
    table: /^reviews\/signatures\.ndjson$|-reviews\.ndjson$/,
    document: { review: 'id', is: 'review' },
    sources: [
      {
        type: 'review.signed',
        since: 'signed_at',
        isDue: ({ content }, period) => isWithin(content.signed_at, period),
        namedByRow: { review_number: 'id' },
        fields: {
          ...same('signed_at', 'sha256', 'signed_by'),
          state: { member: 'review_number', isSame: is('signed') },
        },
      },
      {
        type: 'review.opened',
        since: 'opened_at',
        fields: {
          ...same('as_of', 'plan_id', 'opened_at', 'title', 'opened_by', 'reviewer'),
          campaign_id: 'campaign_number',
        },
      },
      {
        type: 'campaign.opened',
        namedByRow: { number: 'campaign_id' },
        isClaimed: has('campaign_id'),
        fields: same('due_at'),
      },
    ],
  },
];

const names: EventName[] = [
  ...bindings.flatMap(({ sources }) => sources.map((each) => [each.type, Object.keys(nameOfSource(each))] as const)),
  ['plan.stored', ['id']],
  ['policy.stored', ['sha256']],
];

/** The names of events by type, each once: those by which rows and documents find their events. */
export const eventNames = Map.groupBy(new Map(names.map((name) => [name.join(), name])).values(), ([type]) => type);

/** Lists the documents that an archive must have: the numbers of reviews that were signed in the period, and the hashes of the policies of its plans. */
export function listDueDocuments(period: Period, events: EventIndex): { reviews: string[]; policies: Set<string> } {
  const within = (type: string, time: string) =>
    listNewest(events, type).filter(({ content }) => isWithin(content[time], period));
  return {
    reviews: within('review.signed', 'signed_at').flatMap(({ content }) => textOf(content.review_number) ?? []),
    // A plan of an early version has no policy.
    policies: new Set(
      within('plan.stored', 'created_at').flatMap(({ content }) => textOf(content.policy_sha256) ?? []),
    ),
  };
}
