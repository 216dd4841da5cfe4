import { daysAgo, makeFacts, makeKey, nowMs, usedDaysAgo } from '@keywarden/testkit/policy/facts';
import { expect, test } from 'vitest';
import { compile, isUnknown } from './conditions.ts';
import { evaluate } from './evaluate.ts';
import { type KeyFacts, nothingOfScope } from './facts.ts';
import { judge } from './plan.ts';
import { policySchema } from './schema.ts';
import { toTimedKey } from './timed-key.ts';

// R1: what is not proven is unknown. An unknown condition flags no key, and neither does its opposite.

const survivor = makeKey(99, { use: usedDaysAgo(1), createdAt: daysAgo(1) });

/** Returns `yes`, `no`, or why it is unknown, for a condition and a key. */
function assess(condition: object, change: Partial<KeyFacts>): string {
  const { rules } = policySchema.parse({ rules: [{ name: 'r', action: 'report', ...condition }] });
  const scope = { ...nothingOfScope, scope: '1/organization:acme' };
  const [result] = rules.map((rule) =>
    compile(rule.condition, () => () => undefined)(toTimedKey(makeKey(1, change), { scope, nowMs, index: 0 })),
  );
  return result === false || result === undefined ? 'no' : isUnknown(result) ? result.unknown : 'yes';
}

const unknownUse =
  'its last use is unknown: it moved backwards, is before its creation or in the future, or has no time';
const unobservedUse = 'its last use is unknown: no listing shows it for that time';
const impossible = 'its creation time is unknown: the time in its record is impossible';
const unreported = 'its creation time is unknown: the control plane does not report when a role was created';
const unusedRole = 'its last use is unknown: the control plane does not report when a role was used';
const expiryOfRole = 'its expiry is unknown: the control plane does not report when a role expires';
const unreadable = 'an address that used it cannot be read';
const creator = 'it is unknown whether its creator is still a member';

const unused = { unused_for: '90d' };
const never = { never_used_for: '90d' };
const old = { older_than: '90d' };
const outside = { used_outside: ['10.0.0.0/8'] };
const soon = { expires_within: '14d' };
const left = { creator_left: true };

const unobserved = (since: string | null, createdDaysAgo = 365): Partial<KeyFacts> => ({
  use: { state: 'unknown', unobserved: { since } },
  createdAt: daysAgo(createdDaysAgo),
});
const noCreation = { isCreationUnknown: true };
const role = { kind: 'role', use: { state: 'unknown' } } as const;
const usedFrom = (from: string | null, ...others: string[]): Partial<KeyFacts> => ({
  use: { state: 'used', at: daysAgo(1), from },
  ...(others.length === 0 ? {} : { addresses: others.map((address) => ({ address, at: daysAgo(2) })) }),
});
const [member, gone, unclear] = (['member', 'left', 'unknown'] as const).map((each) => ({ creator: each }));

test.each<[string, object, Partial<KeyFacts>, string]>([
  ['a use that is unknown', unused, { use: { state: 'unknown' } }, unknownUse],
  ['a use that is unknown', never, { use: { state: 'unknown' } }, unknownUse],
  ['a use that no listing shows', unused, unobserved(null), unobservedUse],
  ['a use that no listing shows', never, unobserved(null), unobservedUse],
  ['a key that is as young as the limit', unused, unobserved(null, 90), 'no'],
  ['a key that is as young as the limit', never, unobserved(null, 90), 'no'],
  ['a young key of unknown creation', unused, { ...unobserved(null, 10), ...noCreation }, unobservedUse],
  ['a use that is as recent as the limit, or more', unused, unobserved(daysAgo(90)), 'no'],
  ['a use that is older, if no later one is missing', unused, unobserved(daysAgo(91)), unobservedUse],
  ['any use', never, unobserved(daysAgo(300)), 'no'],
  ['an impossible creation', unused, { ...noCreation, use: usedDaysAgo(200) }, impossible],
  ['an impossible creation', never, noCreation, impossible],
  ['an impossible creation', old, noCreation, impossible],
  ['a zero creation of an API key', old, { ...noCreation, createdAt: '0001-01-01T00:00:00Z' }, impossible],
  ['a zero creation of a role', old, { ...noCreation, kind: 'role', createdAt: '0001-01-01T00:00:00Z' }, unreported],
  ['a future creation of a role', old, { ...noCreation, kind: 'role', createdAt: daysAgo(-9) }, impossible],
  ['a kind whose use is not reported', unused, role, unusedRole],
  ['a kind whose expiry is not reported', { without_expiry: true }, role, expiryOfRole],
  ['a kind whose expiry is not reported', soon, role, expiryOfRole],
  ['a role that has an expiry', soon, { ...role, expiresAt: daysAgo(-14) }, 'yes'],
  ['a role that has an expiry', { without_expiry: true }, { ...role, expiresAt: daysAgo(-14) }, 'no'],
  ['an unreadable address', outside, usedFrom('unix'), unreadable],
  ['an unreadable address beside one inside', outside, usedFrom('10.1.2.3', 'unix'), unreadable],
  ['an unreadable address beside one outside', outside, usedFrom('192.0.2.1', 'unix'), 'yes'],
  ['an address inside', outside, usedFrom('10.1.2.3'), 'no'],
  ['a use without an address', outside, usedFrom(null), 'no'],
  ['no use', outside, {}, 'no'],
  ['an unknown creator', left, { ...unclear }, creator],
  ['not of an unknown', { not: left }, { ...unclear }, creator],
  ['not of what does not hold', { not: left }, { ...member }, 'yes'],
  ['not of what holds', { not: left }, { ...gone }, 'no'],
  ['all of an unknown and one that holds', { all: [left, old] }, { ...unclear }, creator],
  ['all of an unknown and one that does not', { all: [left, unused] }, { ...unclear }, 'no'],
  ['any of an unknown and one that holds', { any: [left, old] }, { ...unclear }, 'yes'],
  ['any of an unknown and one that does not', { any: [left, unused] }, { ...unclear }, creator],
])('R1: %s: %j of %j', (_name, condition, change, expected) => {
  expect(assess(condition, change)).toBe(expected);
});

test('R1: an unknown use in a group matters only if the group has more keys than allowed', () => {
  const rule = { name: 'many', more_than: { number: 2, per: 'creator' }, action: 'revoke' };
  const unknowns = (numbers: number[]) => {
    const keys = numbers.map((number) => makeKey(number, { use: { state: 'unknown' } }));
    return evaluate(policySchema.parse({ rules: [rule] }), makeFacts(keys)).map((each) => each.unknowns[0]?.why);
  };
  expect(unknowns([1, 2])).toEqual([]);
  expect(unknowns([1, 2, 3])).toEqual([1, 2, 3].map(() => 'the last use of a key of its creator is unknown'));
});

test('R1: a key whose finding an unknown use or creation may hide is held as unknown; one that another rule flags is revoked', () => {
  const [unusedRule, oldRule] = [
    { name: 'unused', ...unused, action: 'revoke' },
    { name: 'old', ...old, action: 'revoke' },
  ];
  const decide = (change: Partial<KeyFacts>, ...rules: object[]) =>
    judge(policySchema.parse({ rules }), makeFacts([makeKey(1, change), survivor])).verdicts.map(
      ({ held, findings }) => [held, findings.map(({ rule }) => rule.name)],
    );
  const held = (text: string) => [{ kind: 'unknown', text }, []];
  expect(decide({ use: { state: 'unknown' } }, unusedRule)).toEqual([held(`${unknownUse} (unused)`)]);
  expect(decide(noCreation, oldRule)).toEqual([held(`${impossible} (old)`)]);
  // Unknown for another reason: a plan does not show it.
  expect(decide({ ...unclear }, { name: 'left', ...left, action: 'revoke' })).toEqual([]);
  expect(decide({ use: { state: 'unknown' } }, { ...oldRule, action: 'report' })).toEqual([]);
  // A reporting rule holds beside the unknown one: it is no reason to revoke.
  expect(decide({ use: { state: 'unknown' } }, unusedRule, { ...oldRule, action: 'report' })).toEqual([
    held(`${unknownUse} (unused)`),
  ]);
  expect(decide({ ...unclear }, { name: 'left', ...left, action: 'revoke' }, oldRule)).toEqual([[null, ['old']]]);
  expect(decide({ use: { state: 'unknown' } }, oldRule)).toEqual([
    [{ kind: 'unknown', text: 'its last use is unknown, and it may be in use' }, ['old']],
  ]);
});

test('R1: nothing is judged in a scope whose time is unknown, or that has no listing, by any rule', () => {
  const policy = policySchema.parse({ rules: [{ name: 'left', ...left, action: 'revoke' }] });
  const keys = [makeKey(1, { ...gone })];
  expect(evaluate(policy, makeFacts(keys))).toHaveLength(1);
  expect(evaluate(policy, makeFacts(keys, { nowMs: null }))).toEqual([]);
  expect(evaluate(policy, { ...makeFacts(keys), scopes: [] })).toEqual([]);
});
