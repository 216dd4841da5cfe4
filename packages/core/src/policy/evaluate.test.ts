import { daysAgo, findAll, makeFacts, makeKey, usedDaysAgo } from '@keywarden/testkit/policy/facts';
import { expect, test } from 'vitest';
import { parseDuration } from '../values/time.ts';
import { unknownCreator } from '../wire/index.ts';
import { evaluate } from './evaluate.ts';
import { modeOf, type Policy, policySchema } from './schema.ts';

const policy = (...rules: object[]): Policy => policySchema.parse({ rules });
const unused = { name: 'unused', unused_for: '90d', action: 'revoke' };
const neverUsed = { name: 'never-used', never_used_for: '30d', action: 'revoke' };

test('unused_for flags a key whose last use is older than the limit, and not one used exactly at the limit', () => {
  const facts = makeFacts([makeKey(1, { use: usedDaysAgo(91) }), makeKey(2, { use: usedDaysAgo(90) }), makeKey(3)]);
  const findings = findAll(policy(unused), facts);
  expect(findings.map(({ number, reason }) => [number, reason])).toEqual([
    ['1', 'last used 91 days ago, more than 90d'],
  ]);
});

test('never_used_for is judged separately: by age, and only for keys without any use', () => {
  const keys = [
    makeKey(1, { createdAt: daysAgo(31) }),
    makeKey(2, { createdAt: daysAgo(30) }),
    makeKey(3, { use: usedDaysAgo(300) }),
  ];
  expect(findAll(policy(neverUsed), makeFacts(keys)).map(({ number }) => number)).toEqual(['1']);
});

test('a use that went backwards is unknown, and flags no key', () => {
  const facts = makeFacts([makeKey(1, { use: { state: 'unknown' } })]);
  expect(findAll(policy(unused, neverUsed), facts)).toEqual([]);
});

test('more_than flags the longest unused keys beyond the number, separately in each group', () => {
  const keys = [
    makeKey(1, { use: usedDaysAgo(1) }),
    makeKey(2, { use: usedDaysAgo(50) }),
    makeKey(3),
    makeKey(4, { creatorId: 'bela' }),
  ];
  const rule = { name: 'too-many', more_than: { number: 1, per: 'creator' }, action: 'report' };
  const findings = findAll(policy(rule), makeFacts(keys));
  expect(findings.map(({ number, evidence }) => [number, evidence])).toMatchObject([
    ['2', { count: 3, rank: 2 }],
    ['3', { count: 3, rank: 3 }],
  ]);
});

test('more_than counts only the keys that its rule matches', () => {
  const rule = { name: 'too-many', more_than: { number: 1, per: 'organization' }, action: 'report' };
  const keys = [makeKey(1), makeKey(2, { projectId: 'quiet-river' }), makeKey(3, { kind: 'role' })];
  const numbers = (projects: string[]) =>
    findAll(policy({ ...rule, match: { projects } }), makeFacts(keys)).map(({ number }) => number);
  expect(numbers(['quiet-river'])).toEqual([]);
  expect(findAll(policy(rule), makeFacts(keys)).map(({ number }) => number)).toEqual(['2']);
});

test('a group with an unknown use is not ranked, because its longest unused key is unknown', () => {
  const keys = [makeKey(1), makeKey(2, { use: { state: 'unknown' } }), makeKey(3)];
  const rule = { name: 'too-many', more_than: { number: 1, per: 'organization' }, action: 'report' };
  expect(findAll(policy(rule), makeFacts(keys))).toEqual([]);
});

test('keys with unknown creators do not form one group', () => {
  const keys = [1, 2, 3].map((number) => makeKey(number, { creatorId: unknownCreator }));
  const rule = { name: 'too-many', more_than: { number: 1, per: 'creator' }, action: 'report' };
  expect(findAll(policy(rule), makeFacts(keys))).toEqual([]);
});

test('a rule judges only the kinds and organizations that it matches', () => {
  const keys = [
    makeKey(1),
    makeKey(2, { kind: 'project' }),
    makeKey(3, { organizationId: 'other', scope: '1/organization:other' }),
  ];
  const rule = { ...neverUsed, match: { kinds: ['organization'], organizations: ['acme'] } };
  expect(findAll(policy(rule), makeFacts(keys)).map(({ number }) => number)).toEqual(['1']);
});

test('R1: no rule judges a scope whose time is unknown, and rules judge it once its time is known', () => {
  const keys = [makeKey(1)];
  expect(findAll(policy(neverUsed), makeFacts(keys, { nowMs: null }))).toEqual([]);
  expect(findAll(policy(neverUsed), makeFacts(keys))).toHaveLength(1);
});

test('the order of the keys does not matter', () => {
  const keys = Array.from({ length: 12 }, (_, index) =>
    makeKey(index + 1, index % 2 === 0 ? {} : { use: usedDaysAgo(80 + index) }),
  );
  const rules = policy(unused, neverUsed, {
    name: 'too-many',
    more_than: { number: 3, per: 'organization' },
    action: 'report',
  });
  expect(findAll(rules, makeFacts(keys.toReversed()))).toEqual(findAll(rules, makeFacts(keys)));
});

test.each([
  ['90d', 7_776_000_000],
  ['12h', 43_200_000],
  ['2w', 1_209_600_000],
  ['45s', 45_000],
  ['90', undefined],
  ['d', undefined],
  ['-1d', undefined],
  ['1.5d', undefined],
])('the duration %s is %s ms', (text, ms) => {
  expect(parseDuration(text)).toBe(ms);
});

const named = (...rules: object[]) =>
  findAll(policy(...rules), makeFacts(keysOfAllKinds)).map(({ number, reason }) => [number, reason]);
const keysOfAllKinds = [
  makeKey(1, { name: 'ci-deploy', createdAt: daysAgo(400), use: usedDaysAgo(1) }),
  makeKey(2, { name: 'tmp', creator: 'left', creatorId: 'bela', creatorName: null }),
  makeKey(3, { name: 'CI-deploy', kind: 'project', projectId: 'quiet-river', creator: 'unknown' }),
  makeKey(4, { name: 'a.b', kind: 'project', projectId: 'quiet-river' }),
];

test('older_than judges age alone, regardless of use', () => {
  expect(named({ name: 'old', older_than: '365d', action: 'report' })).toEqual([
    ['1', 'created 400 days ago, more than 365d'],
  ]);
});

test('name_not_matching flags names that match none of the patterns; a point is literal, and case counts', () => {
  const rule = { name: 'names', name_not_matching: ['ci-*', 'a?b'], action: 'report' };
  expect(named(rule)).toEqual([
    ['2', 'its name "tmp" does not match ci-* or a?b'],
    ['3', 'its name "CI-deploy" does not match ci-* or a?b'],
  ]);
  expect(named({ ...rule, name_not_matching: ['a.b'] }).map(([number]) => number)).toEqual(['1', '2', '3']);
});

test('creator_left flags keys whose creator is known to have left, and not keys whose creator is unknown', () => {
  expect(named({ name: 'left', creator_left: true, action: 'report' })).toEqual([
    ['2', 'its creator bela is no longer a member of the organization'],
  ]);
});

test('match selects by project, creator and name; more_than by project counts only keys that have a project', () => {
  const old = { name: 'any', older_than: '1d', action: 'report' };
  const numbers = (match: object) => named({ ...old, match }).map(([number]) => number);
  expect(numbers({ projects: ['quiet-river'] })).toEqual(['3', '4']);
  expect(numbers({ creators: ['bela'] })).toEqual(['2']);
  expect(numbers({ name: '*deploy' })).toEqual(['1', '3']);
  const many = { name: 'many', more_than: { number: 1, per: 'project' }, action: 'report' };
  expect(named(many).map(([number]) => number)).toEqual(['4']);
});

test('a rule with two conditions, or with none, is refused', () => {
  expect(() => policy({ ...unused, older_than: '1d' })).toThrow(/exactly one of/);
  expect(() => policy({ name: 'x', action: 'report' })).toThrow(/exactly one of/);
  expect(() => policy({ ...unused, even_in_use: true })).toThrow(/does not apply to rules on inactivity/);
});

test('more_than counts within a scope: two accounts of one creator each have their own keys', () => {
  const many = { name: 'many', more_than: { number: 2, per: 'creator' }, action: 'report' };
  const keys = [1, 2, 3, 4].map((number) => makeKey(number, { scope: `1/organization:${number % 2}` }));
  expect(findAll(policy(many), makeFacts(keys))).toEqual([]);
  const together = keys.map((key) => ({ ...key, scope: '1/organization:1' }));
  expect(findAll(policy(many), makeFacts(together))).toHaveLength(2);
});

test('more_than per organization counts the keys of a person’s account together', () => {
  const many = { name: 'many', more_than: { number: 2, per: 'organization' }, action: 'report' };
  const keys = [1, 2, 3].map((number) =>
    makeKey(number, { kind: 'personal', organizationId: null, scope: '1/user:ada', use: usedDaysAgo(number) }),
  );
  expect(findAll(policy(many), makeFacts(keys)).map(({ number }) => number)).toEqual(['3']);
});

test('R6: a finding is enforced only if its rule and the organization are; the keys of other kinds never are', () => {
  const enforced = (mode: string, organization: string) =>
    evaluate(
      policySchema.parse({
        rules: [{ ...neverUsed, mode }],
        enforcement: { organizations: { acme: { mode: organization } } },
      }),
      makeFacts([makeKey(1)]),
    ).flatMap(({ findings }) => findings.map(({ isEnforced }) => isEnforced));
  expect([enforced('enforce', 'enforce'), enforced('plan', 'enforce'), enforced('enforce', 'plan')]).toEqual([
    [true],
    [false],
    [false],
  ]);
  const everywhere = { organizations: { '*': { mode: 'enforce' }, personal: { mode: 'enforce' } } };
  const by = (enforcement: object) => policySchema.parse({ enforcement });
  const modes = (by: Policy) =>
    (['personal', 'organization', 'project', 'branch_credential'] as const).map((kind) =>
      modeOf(by, { kind, organizationId: kind === 'personal' ? null : 'acme' }),
    );
  expect(modes(by(everywhere))).toEqual(['enforce', 'enforce', 'enforce', 'plan']);
  expect(modes(by({}))).toEqual(['plan', 'plan', 'plan', 'plan']);
});
