import type { EventContent, ProvenEvent } from '@keywarden/core/ledger';

// The events that an evidence archive proves, by type and name.

/** The proven events of an archive by type and name; those with one name in the order of the ledger. */
export type EventIndex = Map<string, Map<string, ProvenEvent[]>>;

/** Returns a value as the ledger records it: as text. */
export const textOf = (value: unknown): string | null =>
  value === null || value === undefined ? null : typeof value === 'string' ? value : JSON.stringify(value);

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
  'campaign.opened': [['number']],
  'review.opened': [['number']],
  'review.decided': [['review_number', 'key_number']],
  'review.signed': [['review_number']],
  'rotation.begun': [['number'], ['id']],
  'rotation.moved': [['rotation_number']],
  'rotation.given_up': [['number']],
  'plan.stored': [['id']],
  'policy.stored': [['sha256']],
};

const nameOf = (members: Record<string, unknown>) =>
  Object.entries(members)
    .map(([member, value]) => `${member}=${textOf(value)}`)
    .join(' ');

/** Adds an event to the index, if rows or documents are compared with it. */
export function addEvent(events: EventIndex, event: ProvenEvent): void {
  for (const members of nameMembers[event.type] ?? []) {
    const named = events.get(event.type) ?? new Map<string, ProvenEvent[]>();
    const name = nameOf(Object.fromEntries(members.map((member) => [member, event.content[member]])));
    const same = named.get(name);
    if (same === undefined) named.set(name, [event]);
    else same.push(event);
    events.set(event.type, named);
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
