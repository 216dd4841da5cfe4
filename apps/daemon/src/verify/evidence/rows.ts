import type { ProvenEvent } from '@keywarden/core/ledger';
import { isInstant, toMs } from '@keywarden/core/values';
import { type EventIndex, findEvent, hashOf } from './events.ts';
import { type Binding, type Compare, nameOfSource, type Row, type Source } from './sources.ts';

// Compares rows of evidence with the events that they are about.

/** Returns the names of a row's fields, and of members of these, that are neither compared with an event nor with a document. */
export function unboundOf(row: Row, { sources }: Binding, ofDocument: string[]): string[] {
  const fields = new Map(sources.flatMap((source) => Object.entries(source.fields)));
  return Object.entries(row).flatMap(([field, value]) => {
    if (ofDocument.includes(field)) return [];
    const bound = fields.get(field);
    if (bound === undefined) return field === 'id' ? [] : [field];
    if (typeof bound === 'string' || bound.parts === undefined) return [];
    const { parts } = bound;
    const members = [value].flat().flatMap((each) => Object.keys(each ?? {}));
    return members.filter((member) => !parts.includes(member)).map((member) => `${field}.${member}`);
  });
}

/**
 * - same: all fields are what the events recorded.
 * - hidden: one is personal data that the receipt does not show.
 * - no receipt: an event that the row is about is not in the signed tree, or not yet.
 */
type Compared = 'same' | 'hidden' | 'no receipt' | { differs: string };

/** Returns the members that name the event of a source that a row is about. `first` is the event of the binding's first source. */
export function nameOfEvent(source: Source, row: Row, first?: ProvenEvent): Row {
  const valueOf = (of: string) =>
    source.namedByFirst === undefined ? of.split('.').reduce(memberOf, row) : first?.content[of];
  return Object.fromEntries(Object.entries(nameOfSource(source)).map(([member, of]) => [member, valueOf(of)]));
}

const memberOf = (value: unknown, name: string): unknown => (value as Row | null | undefined)?.[name];

/** A transaction may have ended so long after its time. */
const lateMs = 600_000;

/** What a comparison of a row found, and the events that it is about. */
export interface ComparedRow {
  compared: Compared;
  found: ProvenEvent[];
}

/**
 * Compares a row with its events. `differs` is the first field that is not what was recorded. `newest` is when the last event of the signed tree was recorded:
 * a row of a later state has no receipt yet.
 */
export function compareRow(row: Row, { sources }: Binding, events: EventIndex, newest: string): ComparedRow {
  if (row.id !== undefined && typeof row.id !== 'string') return { compared: { differs: 'id' }, found: [] };
  const found: ProvenEvent[] = [];
  const results: Compared[] = [];
  const covered = new Set<string>();
  const isNew = (at: unknown) => typeof at === 'string' && isInstant(at) && toMs(at) >= toMs(newest) - lateMs;
  let first: ProvenEvent | undefined;
  for (const source of sources) {
    const { type, fields, since, isClaimed, isNewer } = source;
    const name = nameOfEvent(source, row, first);
    const event = findEvent(events, type, name);
    if (source === sources[0]) first = event;
    const hasNone = source.namedByFirst !== undefined && Object.values(name).includes(null);
    if (event === undefined && (hasNone || isClaimed?.(row) === false)) continue;
    for (const field of Object.keys(fields)) covered.add(field);
    if (event === undefined) {
      results.push(since === undefined || isNew(row[since]) ? 'no receipt' : { differs: since });
      continue;
    }
    found.push(event);
    const compared = compareFields(row, source, { event, events });
    results.push(
      typeof compared === 'object' && isNewer?.({ row, event, events }, isNew) === true ? 'no receipt' : compared,
    );
  }
  const claimed = sources.flatMap(({ fields, absent }) =>
    Object.keys(fields).filter((field) => !covered.has(field) && row[field] !== (absent?.[field] ?? null)),
  );
  const differing = results.find((each) => typeof each === 'object');
  if (differing !== undefined) return { compared: differing, found };
  // It says something of an event that it does not have.
  if (claimed[0] !== undefined) return { compared: { differs: claimed[0] }, found };
  const compared = results.includes('no receipt') ? 'no receipt' : results.includes('hidden') ? 'hidden' : 'same';
  return { compared, found };
}

function compareFields(
  row: Row,
  { fields }: Source,
  { event, events }: { event: ProvenEvent; events: EventIndex },
): Compared {
  let result: Compared = 'same';
  for (const [field, named] of Object.entries(fields)) {
    const { member, isSame, isHidden, isEmptyNull }: Compare = typeof named === 'string' ? { member: named } : named;
    const value = event.personal[member] ?? hashOf(event.content[member]) ?? event.content[member] ?? null;
    const recorded = isEmptyNull && value === '' ? null : value;
    const shown = row[field];
    if (shown === undefined) return { differs: field };
    if (typeof recorded === 'object' && recorded !== null) result = 'hidden';
    else if (recorded === null || shown === null || isSame === undefined) {
      if (recorded !== shown) return { differs: field };
    } else if (!isSame(recorded, shown, { event, row, events })) return { differs: field };
    else if (isHidden?.({ event, row, events }) === true) result = 'hidden';
  }
  return result;
}
