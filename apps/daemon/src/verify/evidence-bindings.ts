import type { EventContent, ProvenEvent } from '@keywarden/core/ledger';
import { compareInstants, sha256 } from '@keywarden/core/values';
import {
  areKeys,
  type Comparison,
  is,
  isKey,
  isSameJson,
  isSameText,
  isShortKey,
  isValue,
} from './evidence-comparisons.ts';
import { type EventIndex, findEvent, findEvents, hashOf, listNewest, textOf } from './evidence-events.ts';

// Which events of the ledger the rows of an evidence archive are compared with.

export type Row = Record<string, unknown>;

/** Excludes `to`. */
export interface Period {
  from: string;
  to: string;
}

/** How a field of a row is compared. */
interface Compare {
  /** The member of the event. */
  member: string;
  isSame: Comparison;
  /** Of an object, or of each object of a list: the members that are compared. All by default. */
  parts?: string[];
  /** Whether the row has null for an empty text of the event. */
  isEmptyNull?: true;
}

export interface Source {
  type: string;
  /** The members that name the event, each with the field of the row that has its value; `number` with `id` by default. */
  namedByRow?: Record<string, string>;
  /** The same, each with a member of the event of the binding's first source. */
  namedByFirst?: Record<string, string>;
  /** Returns whether the row says that there is such an event; by default it always does. */
  isClaimed?: (row: Row) => boolean;
  /**
   * The row may be of a later state than the newest event of the signed tree: the field with the time of its state and the member with that of the event, or
   * `open` for what may change until the row is closed.
   */
  newerBy?: [field: string, member: string] | 'open';
  /** Fields of the row, each with the member of the event, and how they are compared; as text by default. */
  fields: Record<string, string | Compare>;
  /** Values of these fields in a row without the event; missing by default. */
  absent?: Row;
  /** Returns whether the table must have a row of an event. */
  isDue?: (event: ProvenEvent, period: Period, events: EventIndex) => boolean;
  /** Returns whether the archives of earlier versions have no row of a due event. */
  wasLeftOut?: (event: ProvenEvent, period: Period) => boolean;
}

export interface Binding {
  /** What the rows are, in the plural. */
  of: string;
  table: RegExp;
  /** The first one is about the row itself, and the others about what became of it. */
  sources: [Source, ...Source[]];
}

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
        isDue: ({ content }, period) => isWithin(content.judged_at ?? content.created_at, period),
        fields: {
          ...same('plan_id', 'connection', 'policy_sha256', 'judged_at'),
          key,
          intended_at: 'created_at',
        },
      },
      {
        type: 'revocation.ended',
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
        isDue({ content }, { from, to }, events) {
          const closed = findEvent(events, 'incident.closed', { number: content.number })?.content.closed_at;
          return isBefore(content.opened_at, to) && !isBefore(closed, from);
        },
        wasLeftOut: ({ content }, { from }) => isBefore(content.opened_at, from),
        fields: {
          ...same('kind', 'opened_at'),
          scope: { member: 'scope', isSame: isSameText, isEmptyNull: true },
          key: { member: 'key', isSame: isShortKey, parts: ['number', 'id'] },
        },
      },
      {
        type: 'incident.opened',
        newerBy: 'open',
        fields: { detail: { member: 'detail', isSame: isSameJson } },
      },
      {
        type: 'incident.closed',
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
        isDue: ({ content }, period, events) =>
          findEvents(events, 'rotation.moved', { rotation_number: content.number }).some((moved) =>
            isWithin(moved.content.at, period),
          ),
        namedByRow: { id: 'id' },
        fields: { ...same('rule', 'sink', 'via', 'opened_at', 'requested_by'), key },
      },
      {
        type: 'rotation.moved',
        newerBy: ['since', 'at'],
        namedByFirst: { rotation_number: 'number' },
        fields: { ...same('state', 'why'), since: 'at' },
      },
      {
        type: 'rotation.given_up',
        namedByFirst: { number: 'number' },
        isClaimed: has('given_up_by'),
        fields: same('given_up_by'),
      },
    ],
  },
  {
    of: 'reviewed keys',
    table: /-reviewed_keys\.ndjson$/,
    sources: [
      {
        type: 'review.decided',
        newerBy: ['decided_at', 'decided_at'],
        isDue: ({ content }, period, events) =>
          isWithin(
            findEvent(events, 'review.signed', { review_number: content.review_number })?.content.signed_at,
            period,
          ),
        namedByRow: { review_number: 'review_id', key_number: 'key.number' },
        fields: { ...same('decision', 'reason', 'decided_by', 'decided_at'), review_id: 'review_number', key },
      },
    ],
  },
  {
    of: 'signed reviews',
    table: /^reviews\/signatures\.ndjson$|-reviews\.ndjson$/,
    sources: [
      {
        type: 'review.signed',
        isDue: ({ content }, period) => isWithin(content.signed_at, period),
        namedByRow: { review_number: 'id' },
        fields: same('signed_at', 'sha256', 'signed_by'),
      },
      {
        type: 'review.opened',
        fields: same('as_of', 'plan_id', 'opened_at', 'title', 'opened_by', 'reviewer'),
      },
    ],
  },
];

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

/** Returns the events for which a table must have a row. */
export function listDue({ sources }: Binding, period: Period, events: EventIndex): Set<ProvenEvent> {
  return new Set(
    sources.flatMap(({ type, isDue }) =>
      listNewest(events, type).filter((event) => isDue?.(event, period, events) === true),
    ),
  );
}
