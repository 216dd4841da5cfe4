import { expect, test } from 'vitest';
import { makePlan } from './plan.ts';
import { defaultPolicy } from './schema.ts';
import { makeFacts, makeKey, nowMs, usedDaysAgo } from './testing.ts';

const keys = [makeKey(1), makeKey(2, { use: usedDaysAgo(200) }), makeKey(3, { use: usedDaysAgo(1) })];

test('the same facts give the same plan, whatever their order and however little time has passed', () => {
  const plan = makePlan(defaultPolicy, makeFacts(keys));
  expect(makePlan(defaultPolicy, makeFacts(keys.toReversed())).canonical).toBe(plan.canonical);
  expect(makePlan(defaultPolicy, makeFacts(keys, { nowMs: nowMs + 1000 })).id).toBe(plan.id);
  expect(plan.document.items.map((item) => item.key.number)).toEqual(['1', '2']);
});

test('another fact or another policy is another plan', () => {
  const plan = makePlan(defaultPolicy, makeFacts(keys));
  expect(makePlan(defaultPolicy, makeFacts(keys.slice(1))).id).not.toBe(plan.id);
  expect(makePlan({ ...defaultPolicy, active_within: { text: '1d', ms: 86_400_000 } }, makeFacts(keys)).id).not.toBe(
    plan.id,
  );
});

test('what is held stands in the plan with why, and is no item of it', () => {
  const plan = makePlan(defaultPolicy, makeFacts(keys, { unknownOwnKey: ['main'] }));
  expect(plan.document.items).toEqual([]);
  expect(plan.document.held.map((item) => item.why)).toEqual([
    'connection main sees this scope and its own key is not known; set its key_id',
    'connection main sees this scope and its own key is not known; set its key_id',
  ]);
});
