import { daysAgo, makeFacts, makeKey, usedDaysAgo } from '@keywarden/testkit/policy/facts';
import { expect, test } from 'vitest';
import type { Facts, KeyFacts } from './facts.ts';
import { judge } from './plan.ts';
import { policySchema } from './schema.ts';

const neverUsed = policySchema.parse({ rules: [{ name: 'never-used', never_used_for: '30d', action: 'revoke' }] });
const survivor = makeKey(99, { use: usedDaysAgo(1) });

/** Returns why each key is held, by number; null if it may be revoked. */
function decide(facts: Facts, policy = neverUsed): Record<string, string | null> {
  const { verdicts } = judge(policy, facts);
  return Object.fromEntries(verdicts.map(({ key, held }) => [key.number, held?.text ?? null]));
}

test('a flagged key that nothing holds may be revoked', () => {
  expect(decide(makeFacts([makeKey(1), survivor]))).toEqual({ 1: null });
});

test("R2: a connection's own key is never revoked, through any connection and in any scope; any other key like it is", () => {
  const ownKeys = [
    { connection: 'first', keyId: '1' },
    { connection: 'second', keyId: '77' },
  ];
  const decided = decide(makeFacts([makeKey(1, { id: '77' }), makeKey(2), survivor], {}, ownKeys));
  expect(decided[1]).toBe('connection second itself uses this key');
  expect(decided[2]).toBeNull();
});

test('R2: while a connection’s own key is unknown, no key is revoked in a scope that it sees', () => {
  const decided = decide(makeFacts([makeKey(1), survivor], { unknownOwnKey: ['second'] }));
  expect(decided[1]).toBe(
    'connection second lists this scope, and its own key is unknown: set its key_id to an id that listings show',
  );
});

test('R2: an organization whose keys are all flagged keeps the most recently used one', () => {
  const unused = policySchema.parse({ rules: [{ name: 'unused', unused_for: '90d', action: 'revoke' }] });
  const keys = [
    makeKey(1, { use: usedDaysAgo(300) }),
    makeKey(2, { use: usedDaysAgo(100) }),
    makeKey(3, { use: usedDaysAgo(200) }),
  ];
  expect(decide(makeFacts(keys), unused)).toEqual({
    1: null,
    2: 'every key of its organization is flagged, and Keywarden keeps the most recently used one',
    3: null,
  });
  expect(decide(makeFacts([...keys, survivor]), unused)).toEqual({ 1: null, 2: null, 3: null });
});

test('R2: a key whose last use is unknown stays before one that was never used', () => {
  const old = policySchema.parse({ rules: [{ name: 'old', older_than: '90d', action: 'revoke', even_in_use: true }] });
  const keys = [makeKey(1, { use: { state: 'unknown' }, createdAt: daysAgo(400) }), makeKey(2)];
  expect(decide(makeFacts(keys), old)).toEqual({ 1: expect.stringMatching(/^every key/), 2: null });
});

test('R2: an organization that has only project keys, all flagged, keeps one of them', () => {
  const keys = [1, 2].map((number) => makeKey(number, { kind: 'project', projectId: 'quiet-river' }));
  expect(Object.values(decide(makeFacts(keys))).filter((why) => why !== null)).toEqual([
    expect.stringMatching(/^every key of its organization is flagged/),
  ]);
  expect(decide(makeFacts([...keys, survivor]))).toEqual({ 1: null, 2: null });
});

test('min_observation counts from the first listing that showed the key, not from its creation', () => {
  const policy = { ...neverUsed, min_observation: { text: '30d', ms: 30 * 86_400_000 } };
  const firstSeen = (days: number) => makeKey(1, { createdAt: daysAgo(400), firstSeenAt: daysAgo(days) });
  const heldOf = (key: KeyFacts) => judge(policy, makeFacts([key, survivor])).verdicts[0]?.held?.kind ?? null;
  expect(heldOf(firstSeen(10))).toBe('watched_too_short');
  expect(heldOf(firstSeen(30))).toBeNull();
});

test('R1: evidence older than max_evidence_age holds a key; fresher evidence does not', () => {
  const keys = [makeKey(1), survivor];
  expect(decide(makeFacts(keys, { listedAt: daysAgo(1) }))[1]).toMatch(/is not within 1h; run keywarden sync keys/);
  expect(decide(makeFacts(keys, { listedAt: daysAgo(-1) }))[1]).toMatch(/is not within 1h/);
  expect(decide(makeFacts(keys, { listedAt: daysAgo(1 / 24) }))[1]).toBeNull();
});

/** Returns a branch credential, or a credential of another kind, in a project of its own. */
const other = (number: number, kind: KeyFacts['kind'], change: Partial<KeyFacts> = {}) =>
  makeKey(number, { kind, scope: `1/${kind}:acme/quiet-river`, projectId: 'quiet-river', ...change });
const ofBranchRule = { name: 'stale', match: { kinds: ['branch_credential'] }, never_used_for: '30d' };
const ofBranches = policySchema.parse({ rules: [{ ...ofBranchRule, action: 'revoke' }] });

test('only a rule that names their kind flags credentials other than API keys, and a project may lose its last one', () => {
  const keys = [makeKey(1), survivor, other(2, 'branch_credential')];
  expect(decide(makeFacts(keys))).toEqual({ 1: null });
  expect(decide(makeFacts(keys), ofBranches)).toEqual({ 2: null });
});

test('R1: a plan accepts day-old listings of credentials other than API keys, and no older ones, unless max_evidence_age is longer', () => {
  const keys = [other(1, 'branch_credential')];
  expect(decide(makeFacts(keys, { listedAt: daysAgo(1) }), ofBranches)[1]).toBeNull();
  const patient = { ...ofBranches, max_evidence_age: { text: '2d', ms: 2 * 86_400_000 } };
  expect(decide(makeFacts(keys, { listedAt: daysAgo(1.5) }), patient)[1]).toBeNull();
  const text = decide(makeFacts(keys, { listedAt: daysAgo(1.1) }), ofBranches)[1];
  expect(text).toMatch(/is not within 26h; run keywarden sync credentials/);
});

test('a credential that Keywarden only reports stays, even if a signed review decided to revoke it', () => {
  const reviewedOut = { review: '1', by: 'ada', at: daysAgo(1), reason: 'not needed' };
  const decided = decide(
    makeFacts([other(1, 'role', { reviewedOut }), other(2, 'branch_credential', { reviewedOut })]),
  );
  expect(decided[1]).toBe('Keywarden does not revoke a role; revoke it in the control plane');
  expect(decided[2]).toBeNull();
});

test('R6: credentials other than API keys wait for a person, in any mode of their organization', () => {
  const enforcement = { organizations: { '*': { mode: 'enforce' } } };
  const policy = policySchema.parse({ enforcement, rules: [{ ...ofBranchRule, action: 'revoke' }] });
  const { verdicts, automatic } = judge(policy, makeFacts([other(1, 'branch_credential')]));
  expect(verdicts.map(({ held }) => held)).toEqual([null]);
  expect(automatic).toEqual([]);
});

test.each([
  [{ ...ofBranchRule, action: 'revoke', mode: 'enforce' }, /mode: enforce is for API keys/],
  [{ ...ofBranchRule, action: 'rotate' }, /action: rotate is for API keys/],
  [
    { ...ofBranchRule, match: { kinds: ['role'] }, action: 'revoke' },
    /action: revoke is for API keys and branch_creden/,
  ],
  [{ name: 'a', match: { kinds: ['jwks'] }, creator_left: true, action: 'report' }, /are conditions of API keys/],
])('a rule that does not fit its credential kinds is refused: %j', (rule, message) => {
  expect(() => policySchema.parse({ rules: [rule] })).toThrow(message);
});

test('R8: a rule on number revokes a key in use only if it sets even_in_use', () => {
  const rule = { name: 'one-only', more_than: { number: 1, per: 'organization' }, action: 'revoke' };
  const keys = [makeKey(1, { use: usedDaysAgo(1) }), makeKey(2, { use: usedDaysAgo(2) })];
  expect(decide(makeFacts(keys), policySchema.parse({ rules: [rule] }))[2]).toMatch(/it was used within 30d/);
  expect(decide(makeFacts(keys), policySchema.parse({ rules: [{ ...rule, even_in_use: true }] }))[2]).toBeNull();
});

test('R3: a plan contains what the quotas allow, the longest unused first; the rest is listed as waiting', () => {
  const keys = [10, 40, 30, 20].map((days, index) =>
    makeKey(index + 1, { use: usedDaysAgo(days + 100), creatorId: `user-${index % 2}` }),
  );
  const survivor = makeKey(9, { use: usedDaysAgo(1) });
  const decideBy = (quotas: object, revokedLastDay = 0) => {
    const policy = policySchema.parse({ quotas, rules: [{ name: 'unused', unused_for: '90d', action: 'revoke' }] });
    const facts = { ...makeFacts([...keys, survivor]), revokedLastDay };
    return judge(policy, facts).verdicts.map(({ key, held }) => [key.number, held?.text ?? null]);
  };
  const waits = (why: string) => expect.stringMatching(why);
  expect(decideBy({})).toEqual([
    ['2', null],
    ['3', null],
    ['4', null],
    ['1', null],
  ]);
  expect(decideBy({ per_run: 3 })).toEqual([
    ['2', null],
    ['3', null],
    ['4', null],
    ['1', waits('at most 3 keys$')],
  ]);
  expect(decideBy({ per_day: 3 }, 2)).toEqual([
    ['2', null],
    ...['3', '4', '1'].map((number) => [number, waits('3 keys in 24 hours')]),
  ]);
  expect(decideBy({ per_creator: 1 })).toEqual([
    ['2', null],
    ['3', null],
    ...['4', '1'].map((number) => [number, waits('1 key of one creator')]),
  ]);
});

test('R3: per_creator counts a person over all scopes of a control plane, and not the keys of unknown creators', () => {
  const policy = { ...neverUsed, quotas: { per_creator: 1 } };
  const waiting = (change: Partial<KeyFacts>) => {
    const inOther = { organizationId: 'other', scope: '1/organization:other', ...change };
    const keys = [makeKey(1, { ...change, scope: '1/organization:acme' }), makeKey(2, inOther)];
    const facts = makeFacts([...keys, survivor, makeKey(98, { ...inOther, use: usedDaysAgo(1) })]);
    return Object.values(decide(facts, policy)).filter((why) => why !== null).length;
  };
  expect(waiting({})).toBe(1);
  expect(waiting({ scope: '2/organization:other' })).toBe(0);
  expect(waiting({ creatorId: 'unknown' })).toBe(0);
});

test('a verdict has only the findings that revoke, and beside them those that something holds, each with its hold', () => {
  const rules = [
    { name: 'never-used', never_used_for: '30d', action: 'revoke' },
    { name: 'old', older_than: '90d', action: 'revoke' },
    { name: 'shown', older_than: '90d', action: 'report' },
  ];
  const exemptions = [{ number: '7', rules: ['old'], reason: 'needed', grantedBy: 'ada', until: daysAgo(-9) }];
  const facts = makeFacts([makeKey(1, { exemptions }), makeKey(99, { createdAt: daysAgo(1), use: usedDaysAgo(1) })]);
  const { verdicts } = judge(policySchema.parse({ rules }), facts);
  const text = `exempt until ${daysAgo(-9)} by ada: needed (exemption 7)`;
  expect(
    verdicts.map(({ held, findings, announcing, kept }) => ({
      held,
      findings: findings.map(({ rule }) => rule.name),
      announcing: announcing.map(({ rule }) => rule.name),
      kept: kept.map(({ finding, hold }) => [finding.rule.name, hold]),
    })),
  ).toEqual([
    {
      held: null,
      findings: ['never-used'],
      announcing: ['never-used'],
      kept: [['old', { kind: 'exempt', text }]],
    },
  ]);
});

test('R8: a key that was used exactly active_within ago is in use', () => {
  const old = policySchema.parse({ rules: [{ name: 'old', older_than: '90d', action: 'revoke' }] });
  const newer = makeKey(99, { createdAt: daysAgo(1) });
  expect(decide(makeFacts([makeKey(1, { use: usedDaysAgo(30) }), newer]), old)[1]).toMatch(/^it was used within 30d/);
  expect(decide(makeFacts([makeKey(1, { use: usedDaysAgo(31) }), newer]), old)[1]).toBeNull();
});

test('R8: a rule with a limit below active_within is not on inactivity, and a limit below a day is refused', () => {
  const rule = { name: 'short', unused_for: '7d', action: 'revoke' };
  const keys = [makeKey(1, { use: usedDaysAgo(8) }), survivor];
  expect(decide(makeFacts(keys), policySchema.parse({ rules: [rule] }))[1]).toMatch(/^it was used within 30d/);
  expect(decide(makeFacts(keys), policySchema.parse({ rules: [{ ...rule, even_in_use: true }] }))[1]).toBeNull();
  expect(decide(makeFacts(keys), policySchema.parse({ active_within: '7d', rules: [rule] }))[1]).toBeNull();
  expect(() => policySchema.parse({ rules: [{ ...rule, unused_for: '6m' }] })).toThrow(/the unit m means minutes/);
});

test('R8: an age rule without even_in_use revokes a key only if two listings in a row show that it is idle', () => {
  const old = { name: 'old', older_than: '90d', action: 'revoke' };
  const once = makeFacts([makeKey(1, { use: usedDaysAgo(60) }), survivor], { priorListedAt: null });
  expect(decide(once, policySchema.parse({ rules: [old] }))[1]).toMatch(/^only one complete listing shows it so far/);
  expect(decide(once, policySchema.parse({ rules: [{ ...old, even_in_use: true }] }))[1]).toBeNull();
});

test('R8: a key that was used a minute ago and exceeds every age rule is kept without even_in_use', () => {
  const ages = ['30d', '90d', '365d', '3000d'].map((age) => ({
    name: `old-${age}`,
    older_than: age,
    action: 'revoke',
  }));
  const key = makeKey(1, { createdAt: daysAgo(4000), use: usedDaysAgo(1 / 1440) });
  const by = (change: object) => policySchema.parse({ rules: ages.map((rule) => ({ ...rule, ...change })) });
  expect(decide(makeFacts([key, survivor]), by({}))[1]).toMatch(/^it was used within 30d/);
  expect(decide(makeFacts([key, survivor]), by({ even_in_use: true, match: { name: 'key 1' } }))[1]).toBeNull();
});
