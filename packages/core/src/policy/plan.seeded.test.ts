import { sized } from '@keywarden/testkit';
import { daysAgo, makeFacts, makeKey, nowMs, usedDaysAgo } from '@keywarden/testkit/policy/facts';
import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { canonicalJson } from '../values/json.ts';
import { findingsOf } from './evaluate.ts';
import { explain } from './explain.ts';
import type { KeyFacts, Use } from './facts.ts';
import { makePlan } from './plan.ts';
import { isSameReason } from './plan-item.ts';
import { defaultPolicy, type Policy, policySchema } from './schema.ts';

const keys = [makeKey(1), makeKey(2, { use: usedDaysAgo(200) }), makeKey(3, { use: usedDaysAgo(1) })];

test('the same facts give the same plan, in any order and after any short time', () => {
  const plan = makePlan(defaultPolicy, makeFacts(keys));
  expect(makePlan(defaultPolicy, makeFacts(keys.toReversed())).id).toBe(plan.id);
  expect(makePlan(defaultPolicy, makeFacts(keys, { nowMs: nowMs + 1000 })).id).toBe(plan.id);
  expect(plan.document.items.map((item) => item.key.number)).toEqual(['1', '2']);
});

test('another fact or another policy gives another plan', () => {
  const plan = makePlan(defaultPolicy, makeFacts(keys));
  expect(makePlan(defaultPolicy, makeFacts(keys.slice(1))).id).not.toBe(plan.id);
  expect(makePlan({ ...defaultPolicy, active_within: { text: '1d', ms: 86_400_000 } }, makeFacts(keys)).id).not.toBe(
    plan.id,
  );
});

test('the plan lists held keys with the reason, and not as items', () => {
  const plan = makePlan(defaultPolicy, makeFacts(keys, { unknownOwnKey: ['main'] }));
  expect(plan.document.items).toEqual([]);
  expect(plan.document.held.map((item) => item.why.text)).toEqual([
    'connection main lists this scope, and its own key is unknown: set its key_id to an id that listings show',
    'connection main lists this scope, and its own key is unknown: set its key_id to an id that listings show',
  ]);
});

const anyUse = fc.oneof(
  fc.constant<Use>({ state: 'never' }),
  fc.constant<Use>({ state: 'unknown' }),
  fc.integer({ min: 0, max: 400 }).map(usedDaysAgo),
);
const anyKey = fc.record({
  use: anyUse,
  kind: fc.constantFrom('organization', 'project', 'personal'),
  creatorId: fc.constantFrom('ada', 'bo'),
  creatorName: fc.constantFrom('Ada', null),
  creator: fc.constantFrom('member', 'left', 'unknown'),
  scope: fc.constantFrom('1/organization:acme', '1/user:ada'),
});
const rules = [
  { name: 'unused', unused_for: '30d', action: 'revoke' },
  { name: 'never', never_used_for: '90d', action: 'revoke' },
  { name: 'many', more_than: { number: 2, per: 'creator' }, action: 'revoke', even_in_use: true },
  { name: 'seen', unused_for: '7d', action: 'report' },
  { name: 'old', older_than: '100d', action: 'revoke' },
  { name: 'names', name_not_matching: ['key ?'], action: 'revoke' },
  { name: 'left', creator_left: true, action: 'revoke', match: { name: 'key*' } },
];

test('a plan’s text is canonical JSON for any keys, and their order does not matter', () => {
  fc.assert(
    fc.property(fc.array(anyKey, { maxLength: 25 }), fc.boolean(), (changes, isOwnKnown) => {
      const keys = changes.map((change, index) => makeKey(index + 1, change));
      const facts = makeFacts(keys, isOwnKnown ? {} : { unknownOwnKey: ['main'] });
      const policy = policySchema.parse({ rules });
      const plan = makePlan(policy, facts);
      expect([...plan.canonical()].join('')).toBe(canonicalJson(plan.document));
      expect(makePlan(policy, { ...facts, keys: keys.toReversed() }).id).toBe(plan.id);
      expect(findingsOf(plan).every((finding) => explain(finding).length > 0)).toBe(true);
    }),
    { numRuns: sized(300) },
  );
});

test('the plan lists a rule that would not revoke a key, where another would, with the reason', () => {
  const policy = policySchema.parse({ rules: [rules[1], { ...rules[4], notices: ['7d'] }] });
  const exemptions = [{ number: '1', rules: ['never'], reason: 'x', grantedBy: 'ada', until: daysAgo(-1) }];
  const idle = { createdAt: daysAgo(200) };
  const { document } = makePlan(
    policy,
    makeFacts([makeKey(1, idle), makeKey(2, { ...idle, exemptions }), makeKey(3, { use: usedDaysAgo(1) })]),
  );
  expect(
    document.items.map(({ findings, kept }) => [
      findings.map(({ rule }) => rule),
      kept?.map(({ rule, why }) => [rule, why.kind]),
    ]),
  ).toEqual([[['never'], [['old', 'unannounced']]]]);
  expect(document.held.map(({ key, why }) => [key.number, why.kind])).toEqual([
    ['2', 'unannounced'],
    ['3', 'in_use'],
  ]);
});

test('a reason stays the same while a group shrinks, and changes when the rule changes', () => {
  const many = (number: number) =>
    policySchema.parse({
      rules: [{ name: 'r', more_than: { number, per: 'creator' }, action: 'revoke', even_in_use: true }],
    });
  const group = [1, 2, 3, 4].map((number) => makeKey(number, { use: usedDaysAgo(number) }));
  const [planned] = makePlan(many(1), makeFacts(group)).document.items[0]?.findings ?? [];
  const last = (policy: Policy, keys: KeyFacts[]) => findingsOf(makePlan(policy, makeFacts(keys))).at(-1);
  const same = (finding: ReturnType<typeof last>) =>
    planned !== undefined && finding !== undefined && isSameReason(planned, finding);
  expect(same(last(many(1), group))).toBe(true);
  expect(same(last(many(1), group.slice(1)))).toBe(true);
  expect(same(last(many(2), group))).toBe(false);
  expect(same(last(policySchema.parse({ rules: [{ name: 'r', older_than: '1d', action: 'revoke' }] }), group))).toBe(
    false,
  );
});
