import type { ProvenEvent } from '@keywarden/core/ledger';
import { expect, test } from 'vitest';
import { eventNames } from './bindings.ts';
import { addEvent, type EventIndex, findEvent, findEvents, hashOf, listNewest, textOf } from './events.ts';

const eventOf = (type: string, index: number, content: ProvenEvent['content']): ProvenEvent => ({
  type,
  subject: 'row/1',
  at: '2026-05-01T00:00:00Z',
  recorded: '2026-05-01T00:00:00Z',
  content,
  personal: {},
  hidden: [],
  index,
  leaf: '',
  size: 100,
  root: '',
  origin: 'keywarden/log',
  witnesses: [],
});

function indexOf(...events: ProvenEvent[]): EventIndex {
  const index: EventIndex = new Map();
  for (const event of events) addEvent(index, event, eventNames.get(event.type) ?? []);
  return index;
}

test('of the events with one name, all are found in their order, and the newest counts', () => {
  const moved = [1, 2, 3].map((at) => eventOf('rotation.moved', at, { rotation_number: '7', state: String(at) }));
  const other = eventOf('rotation.moved', 4, { rotation_number: '8', state: 'done' });
  const events = indexOf(...moved, other);
  expect(findEvents(events, 'rotation.moved', { rotation_number: '7' })).toEqual(moved);
  expect(findEvent(events, 'rotation.moved', { rotation_number: '7' })).toBe(moved[2]);
  expect(listNewest(events, 'rotation.moved')).toEqual([moved[2], other]);
  expect(findEvent(events, 'rotation.begun', { number: '7' })).toBeUndefined();
  expect(findEvent(events, 'rotation.moved', { rotation_number: '9' })).toBeUndefined();
});

test('an approval is found by its number, and by its plan and time together', () => {
  const approval = (number: string, plan: string, at: string) =>
    eventOf('plan.approved', Number(number), { number, plan_id: plan, approved_at: at });
  const [one, two] = [approval('1', 'p', '2026-05-01T00:00:00Z'), approval('2', 'p', '2026-05-02T00:00:00Z')];
  const events = indexOf(one, two);
  expect(findEvent(events, 'plan.approved', { number: '1' })).toBe(one);
  expect(findEvent(events, 'plan.approved', { plan_id: 'p', approved_at: '2026-05-01T00:00:00Z' })).toBe(one);
  expect(findEvent(events, 'plan.approved', { plan_id: 'q', approved_at: '2026-05-01T00:00:00Z' })).toBeUndefined();
});

test('a missing value is no text, and only a member with a hash has one', () => {
  expect([textOf(null), textOf(undefined), textOf(''), textOf(1), textOf(['a'])]).toEqual([
    null,
    null,
    '',
    '1',
    '["a"]',
  ]);
  expect([hashOf({ sha256: 'a' }), hashOf({ salted: 'a' }), hashOf('a'), hashOf(null), hashOf(undefined)]).toEqual([
    'a',
    null,
    null,
    null,
    null,
  ]);
});
