import type { EventContent, ProvenEvent } from '@keywarden/core/ledger';
import { canonicalJson, compareInstants, sha256 } from '@keywarden/core/values';

// Which events of the ledger the rows of an evidence archive are compared with.

export type Row = Record<string, unknown>;

/** The proven events of an archive by type and name; of several with one name, the newest. */
export type EventIndex = Map<string, Map<string, ProvenEvent>>;

/** Excludes `to`. */
export interface Period {
  from: string;
  to: string;
}

/** Compares a value of a row with what an event recorded. Returns whether they are the same. */
type Comparison = (recorded: string, shown: unknown, event: ProvenEvent) => boolean;

/** How a field of a row is compared. */
interface Compare {
  /** The member of the event. */
  member: string;
  isSame: Comparison;
  /** Of an object, or of each object of a list: the members that are compared. All by default. */
  parts?: string[];
}

interface Source {
  type: string;
  /** Returns the members that name the event that a row is about. `first` is the event of the binding's first source. */
  ofRow: (row: Row, first: ProvenEvent | undefined) => Record<string, unknown>;
  /** Returns whether the row says that there is such an event. */
  isClaimed: (row: Row) => boolean;
  /** Whether the row may be of a later state than the newest event of the signed tree. */
  mayBeNewer?: true;
  /** Fields of the row, each with the member of the event, and how they are compared; as text by default. */
  fields: Record<string, string | Compare>;
  /** Values of these fields in a row without the event; missing by default. */
  absent?: Row;
  /** Returns whether the table must have a row of an event. */
  isDue?: (event: ProvenEvent, period: Period, events: EventIndex) => boolean;
}

export interface Binding {
  table: RegExp;
  /** The first one is about the row itself, and the others about what became of it. */
  sources: [Source, ...Source[]];
}

/** Returns a value of a row as the ledger records it: as text. */
const textOf = (value: unknown): string | null =>
  value === null || value === undefined ? null : typeof value === 'string' ? value : JSON.stringify(value);

const isWithin = (at: EventContent[string] | undefined, { from, to }: Period) =>
  typeof at === 'string' && compareInstants(at, from) >= 0 && compareInstants(at, to) < 0;

/** Compares what a reference to a key shows: its number, and the address of its control plane, its scope and its id. */
const isKey: Comparison = (recorded, shown, { content }) => {
  const { number, control_plane: plane, scope, id } = shown as Row;
  // The address may have spaces.
  const [, ...names] = /^(.*) (\S+) (\S+)$/.exec(recorded) ?? [];
  const isSame = [plane, scope, id].every((each, index) => each === undefined || each === names[index]);
  return isSame && id !== undefined && (number === undefined || number === content.key_number);
};
const key: Compare = { member: 'key', isSame: isKey, parts: ['number', 'control_plane', 'scope', 'id'] };

/** Compares the keys of an exemption with the hash of their names. */
const areKeys: Comparison = (recorded, shown) => {
  const names = (Array.isArray(shown) ? (shown as Row[]) : []).map(
    (each) => `${textOf(each.control_plane)} ${textOf(each.scope)} ${textOf(each.id)}`,
  );
  return recorded === sha256(names.toSorted((a, b) => Buffer.compare(Buffer.from(a), Buffer.from(b))).join('\n'));
};

const isSameJson: Comparison = (recorded, shown) =>
  canonicalJson(JSON.parse(recorded) as object) === canonicalJson(shown as object);

/** Fields that have the names of their members. */
const same = (...members: string[]): Record<string, string> => Object.fromEntries(members.map((name) => [name, name]));

const always = () => true;
const has = (field: string) => (row: Row) => textOf(row[field]) !== null;

/** Members of the content that name an event of a type, in one way or in several. */
const nameMembers: Record<string, string[][]> = {
  'revocation.intended': [['number']],
  'revocation.ended': [['intent_number']],
  'exemption.granted': [['number']],
  'exemption.ended': [['number']],
  'incident.opened': [['number']],
  'incident.closed': [['number']],
  'plan.approved': [['number'], ['plan_id', 'approved_at']],
  'plan.approval_ended': [['approval_number']],
  'plan.rejected': [['plan_id', 'rejected_at']],
  'review.opened': [['number']],
  'review.decided': [['review_number', 'key_number']],
  'review.signed': [['review_number']],
  'rotation.begun': [['number'], ['id']],
  'rotation.moved': [['rotation_number']],
  'rotation.given_up': [['number']],
  'policy.stored': [['sha256']],
};

const nameOf = (members: Record<string, unknown>) =>
  Object.entries(members)
    .map(([member, value]) => `${member}=${textOf(value)}`)
    .join(' ');

/** Adds an event to the index, if rows or documents are compared with it. */
export function addEvent(events: EventIndex, event: ProvenEvent): void {
  for (const members of nameMembers[event.type] ?? []) {
    const named = events.get(event.type) ?? new Map<string, ProvenEvent>();
    named.set(nameOf(Object.fromEntries(members.map((member) => [member, event.content[member]]))), event);
    events.set(event.type, named);
  }
}

/** Returns the newest event of a type with these members; undefined if the archive proves none. */
export const findEvent = (events: EventIndex, type: string, members: Record<string, unknown>) =>
  events.get(type)?.get(nameOf(members));

const ofId = ({ id }: Row) => ({ number: id });
const ofFirst = (member: string) => (_row: Row, first: ProvenEvent | undefined) => ({
  [member]: first?.content.number,
});
const is =
  (wanted: string): Comparison =>
  (_recorded, shown) =>
    shown === wanted;

export const bindings: Binding[] = [
  {
    table: /-revocations\.ndjson$/,
    sources: [
      {
        type: 'revocation.intended',
        isDue: ({ content }, period) => isWithin(content.judged_at ?? content.created_at, period),
        ofRow: ofId,
        isClaimed: always,
        fields: {
          ...same('plan_id', 'connection', 'policy_sha256', 'judged_at'),
          key,
          intended_at: 'created_at',
        },
      },
      {
        type: 'revocation.ended',
        ofRow: ({ id }) => ({ intent_number: id }),
        isClaimed: ({ outcome }) => outcome !== 'open',
        absent: { outcome: 'open', used_in_flight: false },
        fields: { ...same('outcome', 'used_in_flight'), ended_at: 'at' },
      },
      {
        type: 'plan.approved',
        ofRow: (_row, first) => ({ number: first?.content.approval_number }),
        isClaimed: ({ cause, approved_by: by }) => cause === 'plan' && textOf(by) !== null,
        fields: same('approved_by', 'via'),
      },
      {
        type: 'rotation.begun',
        ofRow: (_row, first) => ({ number: first?.content.rotation_number }),
        isClaimed: ({ cause }) => cause === 'rotation',
        fields: { via: 'via', rotation_id: 'id', approved_by: 'requested_by' },
      },
    ],
  },
  {
    table: /-exemptions\.ndjson$/,
    sources: [
      {
        type: 'exemption.granted',
        isDue({ content }, period, events) {
          const ended = findEvent(events, 'exemption.ended', { number: content.number })?.content.ended_at;
          const isBefore = (at: EventContent[string] | undefined, limit: string) =>
            typeof at === 'string' && compareInstants(at, limit) < 0;
          const hasKeys = hashOf(content.keys) !== sha256('');
          return (
            hasKeys &&
            isBefore(content.granted_at, period.to) &&
            !isBefore(content.until, period.from) &&
            !isBefore(ended, period.from)
          );
        },
        ofRow: ofId,
        isClaimed: always,
        fields: {
          ...same('rules', 'granted_at', 'until', 'pattern', 'reason', 'granted_by'),
          keys: { member: 'keys', isSame: areKeys, parts: ['control_plane', 'scope', 'id'] },
        },
      },
      {
        type: 'exemption.ended',
        ofRow: ofId,
        isClaimed: has('ended_at'),
        fields: same('ended_at', 'ended_by'),
      },
    ],
  },
  {
    table: /-incidents\.ndjson$/,
    sources: [
      {
        type: 'incident.opened',
        isDue: ({ content }, period) => isWithin(content.opened_at, period),
        ofRow: ofId,
        isClaimed: always,
        fields: { ...same('kind', 'opened_at'), key },
      },
      {
        type: 'incident.opened',
        mayBeNewer: true,
        ofRow: ofId,
        isClaimed: always,
        fields: { detail: { member: 'detail', isSame: isSameJson } },
      },
      {
        type: 'incident.closed',
        ofRow: ofId,
        isClaimed: has('closed_at'),
        fields: same('closed_at', 'closed_by', 'note'),
      },
    ],
  },
  {
    table: /-decisions\.ndjson$/,
    sources: [
      {
        type: 'plan.approved',
        isDue: ({ content }, period) => isWithin(content.approved_at, period),
        ofRow: ({ plan_id: plan, at }) => ({ plan_id: plan, approved_at: at }),
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
        ofRow: ofFirst('approval_number'),
        isClaimed: has('ended'),
        fields: { ended: 'how' },
      },
      {
        type: 'plan.rejected',
        isDue: ({ content }, period) => isWithin(content.rejected_at, period),
        ofRow: ({ plan_id: plan, at }) => ({ plan_id: plan, rejected_at: at }),
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
    table: /-rotations\.ndjson$/,
    sources: [
      {
        type: 'rotation.begun',
        isDue: ({ content }, period, events) =>
          isWithin(findEvent(events, 'rotation.moved', { rotation_number: content.number })?.content.at, period),
        ofRow: ({ id }) => ({ id }),
        isClaimed: always,
        fields: { ...same('rule', 'sink', 'via', 'opened_at', 'requested_by'), key },
      },
      {
        type: 'rotation.moved',
        mayBeNewer: true,
        ofRow: ofFirst('rotation_number'),
        isClaimed: always,
        fields: { ...same('state', 'why'), since: 'at' },
      },
      {
        type: 'rotation.given_up',
        ofRow: ofFirst('number'),
        isClaimed: has('given_up_by'),
        fields: same('given_up_by'),
      },
    ],
  },
  {
    table: /-reviewed_keys\.ndjson$/,
    sources: [
      {
        type: 'review.decided',
        isDue: ({ content }, period, events) =>
          isWithin(
            findEvent(events, 'review.signed', { review_number: content.review_number })?.content.signed_at,
            period,
          ),
        ofRow: ({ review_id: review, key: of }) => ({ review_number: review, key_number: (of as Row).number }),
        isClaimed: has('decision'),
        fields: { ...same('decision', 'reason', 'decided_by', 'decided_at'), review_id: 'review_number', key },
      },
    ],
  },
  {
    table: /^reviews\/signatures\.ndjson$|-reviews\.ndjson$/,
    sources: [
      {
        type: 'review.signed',
        isDue: ({ content }, period) => isWithin(content.signed_at, period),
        ofRow: ({ id }) => ({ review_number: id }),
        isClaimed: has('signed_at'),
        fields: same('signed_at', 'sha256', 'signed_by'),
      },
      {
        type: 'review.opened',
        ofRow: ofId,
        isClaimed: always,
        fields: same('as_of', 'plan_id', 'opened_at', 'title', 'opened_by', 'reviewer'),
      },
    ],
  },
];

/** Returns the names of a row's fields, and of members of these, that are not compared with any event. */
export function unboundOf(row: Row, { sources }: Binding): string[] {
  const fields = new Map(sources.flatMap((source) => Object.entries(source.fields)));
  return Object.entries(row).flatMap(([field, value]) => {
    const bound = fields.get(field);
    if (bound === undefined) return field === 'id' ? [] : [field];
    if (typeof bound === 'string' || bound.parts === undefined) return [];
    const { parts } = bound;
    const members = [value].flat().flatMap((each) => Object.keys(each ?? {}));
    return members.filter((member) => !parts.includes(member)).map((member) => `${field}.${member}`);
  });
}

const hashOf = (value: EventContent[string] | undefined) =>
  typeof value === 'object' && value !== null && 'sha256' in value ? value.sha256 : null;

/**
 * - same: all fields are what the events recorded.
 * - hidden: one is personal data that the receipt does not show.
 * - no receipt: an event that the row is about is not in the signed tree, or not yet.
 */
type Compared = 'same' | 'hidden' | 'no receipt' | { differs: string };

/** What a comparison of a row found, and the events that it is about. */
export interface ComparedRow {
  compared: Compared;
  found: ProvenEvent[];
}

/** Compares a row with its events. `differs` is the first field that is not what was recorded. */
export function compareRow(row: Row, { sources }: Binding, events: EventIndex): ComparedRow {
  const found: ProvenEvent[] = [];
  const results: Compared[] = [];
  const covered = new Set<string>();
  let first: ProvenEvent | undefined;
  for (const source of sources) {
    const event = findEvent(events, source.type, source.ofRow(row, first));
    if (source === sources[0]) first = event;
    if (event === undefined && !source.isClaimed(row)) continue;
    for (const field of Object.keys(source.fields)) covered.add(field);
    const compared = event === undefined ? 'no receipt' : compareFields(row, source, event);
    if (event !== undefined) found.push(event);
    results.push(source.mayBeNewer === true && typeof compared === 'object' ? 'no receipt' : compared);
  }
  const claimed = sources.flatMap(({ fields, absent }) =>
    Object.keys(fields).filter((field) => !covered.has(field) && textOf(row[field]) !== textOf(absent?.[field])),
  );
  const differing = results.find((each) => typeof each === 'object');
  if (results.length === 0) return { compared: 'no receipt', found };
  if (differing !== undefined) return { compared: differing, found };
  // It says something of an event that it does not have.
  if (claimed[0] !== undefined) return { compared: { differs: claimed[0] }, found };
  const compared = results.includes('no receipt') ? 'no receipt' : results.includes('hidden') ? 'hidden' : 'same';
  return { compared, found };
}

function compareFields(row: Row, { fields }: Source, event: ProvenEvent): Compared {
  let result: Compared = 'same';
  for (const [field, named] of Object.entries(fields)) {
    const { member, isSame } = typeof named === 'string' ? { member: named } : named;
    const recorded = event.personal[member] ?? hashOf(event.content[member]) ?? event.content[member] ?? null;
    const shown = row[field] ?? null;
    if (typeof recorded === 'object' && recorded !== null) result = 'hidden';
    else if (recorded === null || shown === null || isSame === undefined) {
      if (recorded !== textOf(shown)) return { differs: field };
    } else if (!isSame(recorded, shown, event)) return { differs: field };
  }
  return result;
}
