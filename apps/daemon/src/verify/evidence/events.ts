import type { EventContent, ProvenEvent } from '@keywarden/core/ledger';

// The events that an evidence archive proves, by type and name.

/** The proven events of an archive by type and name; those with one name in the order of the ledger. */
export type EventIndex = Map<string, Map<string, ProvenEvent[]>>;

/** Returns a value as the ledger records it: as text. */
export const textOf = (value: unknown): string | null =>
  value === null || value === undefined ? null : typeof value === 'string' ? value : JSON.stringify(value);

const nameOf = (members: Record<string, unknown>) =>
  Object.entries(members)
    .map(([member, value]) => `${member}=${textOf(value)}`)
    .join(' ');

/** The members of the content that name an event of a type. */
export type EventName = readonly [type: string, members: string[]];

/** Adds an event to the index, by each of the names of its type. */
export function addEvent(events: EventIndex, event: ProvenEvent, names: EventName[]): void {
  for (const [type, members] of names) {
    const named = events.get(type) ?? new Map<string, ProvenEvent[]>();
    const name = nameOf(Object.fromEntries(members.map((member) => [member, event.content[member]])));
    const same = named.get(name);
    if (same === undefined) named.set(name, [event]);
    else same.push(event);
    events.set(type, named);
  }
}

/** Returns the events of a type with these members, in the order of the ledger. */
export const findEvents = (events: EventIndex, type: string, members: Record<string, unknown>): ProvenEvent[] =>
  events.get(type)?.get(nameOf(members)) ?? [];

/** Returns the newest event of a type with these members; undefined if the archive proves none. */
export const findEvent = (events: EventIndex, type: string, members: Record<string, unknown>) =>
  findEvents(events, type, members).at(-1);

/** Returns the newest event of each name of a type. */
export const listNewest = (events: EventIndex, type: string): ProvenEvent[] =>
  [...(events.get(type)?.values() ?? [])].flatMap((same) => same.slice(-1));

export const hashOf = (value: EventContent[string] | undefined) =>
  typeof value === 'object' && value !== null && 'sha256' in value ? value.sha256 : null;
