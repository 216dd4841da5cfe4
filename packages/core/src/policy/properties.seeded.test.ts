import { sized } from '@keywarden/testkit';
import { daysAgo, makeFacts, makeKey, nowMs, usedDaysAgo } from '@keywarden/testkit/policy/facts';
import { mayRevoke, msOf, rulesOf } from '@keywarden/testkit/policy/second-judge';
import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { canonicalJson } from '../values/json.ts';
import type { Condition } from './condition-schema.ts';
import { findingsOf } from './evaluate.ts';
import { explain } from './explain.ts';
import type { Facts, KeyFacts, Use } from './facts.ts';
import { basisOf } from './notices.ts';
import { makePlan, type Plan } from './plan.ts';
import { modeOf, type Policy, policySchema } from './schema.ts';

// Any keys, any policy, any time. Each planned revocation is checked by a second judge, which is slow and judges one key at a time.

const places = {
  acme: { scope: '1/organization:acme', organizationId: 'acme' },
  other: { scope: '1/organization:other', organizationId: 'other' },
  ada: { scope: '1/user:ada', organizationId: null },
  branch: { scope: '1/branch_credential:acme/quiet-river', organizationId: 'acme', projectId: 'quiet-river' },
  role: { scope: '1/role:acme/quiet-river', organizationId: 'acme', projectId: 'quiet-river' },
};
/** Mostly the value that lets keys be revoked, sometimes another. */
const mostly = <T>(usual: T, ...others: T[]) =>
  fc.oneof({ weight: 6, arbitrary: fc.constant(usual) }, { weight: 1, arbitrary: fc.constantFrom(...others) });

const days = fc.integer({ min: 0, max: 120 });
const anyUse = fc.oneof(
  { weight: 1, arbitrary: fc.constant<Use>({ state: 'never' }) },
  { weight: 1, arbitrary: fc.constant<Use>({ state: 'unknown' }) },
  { weight: 4, arbitrary: days.map(usedDaysAgo) },
);
const ruleNames = ['r0', 'r1', 'r2', 'r3'];
const anyKey = fc.record({
  place: fc.constantFrom('acme' as const, 'other' as const, 'ada' as const, 'branch' as const, 'role' as const),
  expiresAt: fc.option(fc.integer({ min: -60, max: 20 }).map(daysAgo), { nil: undefined }),
  use: anyUse,
  createdAt: fc.integer({ min: 0, max: 400 }).map(daysAgo),
  creatorId: fc.constantFrom('ada', 'bo'),
  creator: fc.constantFrom('member' as const, 'left' as const, 'unknown' as const),
  name: fc.constantFrom('ci-deploy', 'tmp'),
  presentSince: mostly(daysAgo(100), daysAgo(0)),
  isAcknowledged: fc.boolean(),
  exempt: mostly<string[] | null | undefined>(undefined, null, ['r0'], ['r1', 'r2']),
  accepted: fc.option(fc.record({ '10d': days, '2d': days }), { nil: undefined }),
  reviewedOut: mostly<'signed' | 'by a revoked token' | null>(null, 'signed', 'by a revoked token'),
});
const duration = fc.integer({ min: 1, max: 100 }).map((count) => `${count}d`);
/** The conditions that this test makes no rules of: combinations, and those that may not revoke. */
type Others = 'all' | 'any' | 'not' | 'unscoped' | 'used_outside';
const leaves: Record<Exclude<keyof Condition, Others>, fc.Arbitrary<object>> = {
  unused_for: fc.record({ unused_for: duration }),
  never_used_for: fc.record({ never_used_for: duration }),
  older_than: fc.record({ older_than: duration }),
  creator_left: fc.constant({ creator_left: true }),
  without_expiry: fc.constant({ without_expiry: true }),
  expires_within: fc.record({ expires_within: duration }),
  name_not_matching: fc.constant({ name_not_matching: ['ci-*'] }),
  reviewed_out: fc.constant({ reviewed_out: true }),
  more_than: fc.record({
    more_than: fc.record({
      number: fc.integer({ min: 1, max: 4 }),
      per: fc.constantFrom('creator', 'organization'),
    }),
  }),
};
const leaf = fc.oneof(...Object.values(leaves));
const condition = fc.oneof(
  { weight: 5, arbitrary: leaf },
  { weight: 1, arbitrary: fc.record({ all: fc.array(leaf, { minLength: 1, maxLength: 2 }) }) },
  { weight: 1, arbitrary: fc.record({ any: fc.array(leaf, { minLength: 1, maxLength: 2 }) }) },
  { weight: 1, arbitrary: fc.record({ not: leaf }) },
);
const anyRule = fc.record({
  condition,
  revokes: mostly(true, false),
  enforces: fc.boolean(),
  notices: mostly<string[] | undefined>(undefined, ['10d', '2d']),
  even: fc.boolean(),
  kinds: mostly<string[] | undefined>(undefined, ['branch_credential'], ['organization', 'branch_credential']),
});
const anyPolicy = fc
  .record({
    rules: fc.array(anyRule, { minLength: 1, maxLength: 4 }),
    quotas: fc.record(
      {
        per_run: fc.integer({ min: 1, max: 5 }),
        per_day: fc.integer({ min: 1, max: 5 }),
        per_creator: fc.integer({ min: 1, max: 3 }),
      },
      { requiredKeys: [] },
    ),
  })
  .map(({ rules, quotas }) =>
    policySchema.parse({
      quotas,
      enforcement: { organizations: { '*': { mode: 'enforce' }, personal: { mode: 'enforce' } } },
      rules: rules.map((rule, index) => toRule(rule, ruleNames[index] ?? '')),
    }),
  );

/** Returns a valid rule: one on inactivity does not set even_in_use, and one that only reports has no notices. */
function toRule(
  {
    condition: when,
    revokes,
    enforces,
    notices,
    even,
    kinds,
  }: (typeof anyRule)['generate'] extends (...given: never[]) => { value: infer R } ? R : never,
  name: string,
): object {
  const rule = { name, ...when, action: revokes ? 'revoke' : 'report' };
  if (!revokes) return rule;
  const full = { ...rule, notices, mode: enforces ? 'enforce' : 'plan', even_in_use: even };
  const ofKinds = { ...full, match: { kinds }, mode: 'plan' };
  const tried = [...(kinds === undefined ? [] : [ofKinds, { ...ofKinds, even_in_use: false }]), full];
  const taken = tried.find((each) => policySchema.safeParse({ rules: [each] }).success);
  return taken ?? { ...full, even_in_use: false };
}

const anyFacts = fc
  .record({
    keys: fc.array(anyKey, { maxLength: 24 }),
    listedMinutesAgo: mostly(30, 0, 60, 61, -3, -10, 26 * 60, 26 * 60 + 1),
    isClockKnown: mostly(true, false),
    unknownOwnKey: mostly<string[]>([], ['main']),
    own: fc.constantFrom('1', '1001', '1003'),
    priorDays: mostly<number | null>(1 / 24, null, 5),
    wentDays: mostly<number[]>([], [0.5], [3]),
    revokedLastDay: mostly(0, 2, 4),
  })
  .map(({ keys, own, revokedLastDay, ...scope }): Facts => {
    const prior = scope.priorDays === null ? null : daysAgo(scope.priorDays);
    const facts = makeFacts(
      keys.map((key, index) => toKey(key, index + 1)),
      {
        listedAt: new Date(nowMs - scope.listedMinutesAgo * 60_000).toISOString(),
        nowMs: scope.isClockKnown ? nowMs : null,
        unknownOwnKey: scope.unknownOwnKey,
        priorListedAt: prior,
        hourPriorListedAt: prior,
        automatic: scope.wentDays.map(daysAgo),
      },
      [{ connection: 'main', keyId: own }],
    );
    return { ...facts, revokedLastDay };
  });

type AnyKey = Parameters<Parameters<typeof anyKey.map>[0]>[0];

function toKey({ place, exempt, accepted, ...rest }: AnyKey, number: number): KeyFacts {
  const { expiresAt, reviewedOut, ...facts } = rest;
  const isSignerRevoked = reviewedOut !== 'signed';
  const decision = { review: '1', by: 'bo', at: daysAgo(1), reason: 'unused', isSignerRevoked };
  const kinds = { ada: 'personal', acme: 'organization', other: 'organization', branch: 'branch_credential' } as const;
  const kind = place === 'role' ? 'role' : kinds[place];
  const key = makeKey(number, {
    ...facts,
    ...places[place],
    kind,
    ...(place === 'branch' && expiresAt ? { expiresAt } : {}),
    ...(reviewedOut === null ? {} : { reviewedOut: decision }),
  });
  const until = daysAgo(-9);
  const exemptions = exempt === undefined ? [] : [{ number: '1', rules: exempt, reason: 'x', grantedBy: 'ada', until }];
  const steps = Object.entries(accepted ?? {}).map(([step, ago]) => ({ step, at: daysAgo(ago) }));
  return {
    ...key,
    exemptions,
    announcements: accepted === undefined ? [] : [{ rule: '', basis: '', accepted: steps }],
  };
}

/** Returns facts in which each announcement exists for every rule. */
function announce(policy: Policy, facts: Facts): Facts {
  const keys = facts.keys.map((key) => ({
    ...key,
    announcements: key.announcements.flatMap(({ accepted }) =>
      policy.rules.map((rule) => {
        const isEnforced = rule.mode === 'enforce' && modeOf(policy, key) === 'enforce';
        return { rule: rule.name, basis: basisOf({ key, rule, isEnforced }), accepted };
      }),
    ),
  }));
  return { ...facts, keys };
}

function expectGoverned(policy: Policy, given: Facts): void {
  const facts = announce(policy, given);
  const plan = makePlan(policy, facts);
  const numbers = new Set(plan.document.items.map((item) => item.key.number));
  const going = facts.keys.filter((key) => numbers.has(key.number));
  const automatic = plan.automatic.filter(({ waits }) => waits === null).map(({ verdict }) => verdict.key);
  const [scope] = facts.scopes;
  const ageMs = nowMs - msOf(scope?.listedAt ?? '');

  // R1: flagged by a rule of this policy, on fresh evidence, by a known clock.
  expect(going.filter((key) => !rulesOf(policy, key).some((rule) => mayRevoke(rule, key, facts)))).toEqual([]);
  // Credentials other than keys are listed once a day.
  const oldestMs = ({ kind }: KeyFacts) => (kind === 'branch_credential' ? 26 * 3_600_000 : 3_600_000);
  const isJudged = (key: KeyFacts) => scope?.nowMs === nowMs && ageMs <= oldestMs(key) && ageMs >= -300_000;
  expect(going.filter((key) => !isJudged(key))).toEqual([]);
  expect(going.filter(({ kind }) => kind === 'role')).toEqual([]);

  // R2: never the connection's own key, no key while that is unknown, and never all keys of an organization.
  expect(going.filter(({ id }) => facts.ownKeys.some(({ keyId }) => keyId === id))).toEqual([]);
  expect(scope?.unknownOwnKey.length === 0 ? [] : going).toEqual([]);
  const organizations = facts.scopes.filter((each) => [places.acme.scope, places.other.scope].includes(each.scope));
  const emptied = organizations.filter(({ scope: name }) =>
    facts.keys.every((key) => key.scope !== name || going.includes(key)),
  );
  expect(emptied).toEqual([]);

  // R3: quotas, and breakers for automatic revocations.
  const { per_run: perRun = Infinity, per_day: perDay = Infinity, per_creator: perCreator = Infinity } = policy.quotas;
  expect(going.length).toBeLessThanOrEqual(Math.min(perRun, Math.max(0, perDay - facts.revokedLastDay)));
  expect(largestGroup(going, ({ scope, creatorId }) => `${scope.split('/')[0]} ${creatorId}`)).toBeLessThanOrEqual(
    perCreator,
  );
  expect(automatic.filter((key) => isBroken(key.scope, plan, facts))).toEqual([]);
  expect(automatic.length).toBeLessThanOrEqual(Math.min(perRun, Math.max(0, perDay - facts.revokedLastDay)));
  expect(largestGroup(automatic, ({ scope, creatorId }) => `${scope.split('/')[0]} ${creatorId}`)).toBeLessThanOrEqual(
    perCreator,
  );

  // R6: automatically only what an enforcing rule flags, and one key in a scope until its canary is a day old.
  const enforcing = policy.rules.filter((rule) => rule.mode === 'enforce');
  expect(automatic.filter(({ kind }) => kind === 'branch_credential')).toEqual([]);
  expect(
    automatic.filter((key) => !enforcing.some((rule) => mayRevoke(rule, key, facts) && isSigned(rule, key))),
  ).toEqual([]);
  const went = scope?.automatic ?? [];
  const hadCanary = went.some((at) => nowMs - msOf(at) >= 86_400_000);
  const first = went.length === 0 ? 1 : 0;
  expect(largestGroup(automatic, (key) => key.scope)).toBeLessThanOrEqual(hadCanary ? Infinity : first);

  // Every finding explains itself, and the order of the input does not matter.
  expect(
    findingsOf(plan)
      .map(explain)
      .filter((text) => /undefined|NaN|^$/.test(text)),
  ).toEqual([]);
  expect([...plan.canonical()].join('')).toBe(canonicalJson(plan.document));
  const turned = { ...facts, keys: facts.keys.toReversed(), scopes: facts.scopes.toReversed() };
  expect(makePlan(policy, turned).id).toBe(plan.id);
}

/** Returns whether a rule rests on no access review, or on one whose signer still has the token. */
const isSigned = ({ condition }: Policy['rules'][number], { reviewedOut }: KeyFacts) =>
  reviewedOut?.isSignerRevoked !== true || !JSON.stringify(condition).includes('"reviewed_out"');

function largestGroup(keys: KeyFacts[], groupOf: (key: KeyFacts) => string): number {
  return Math.max(0, ...[...Map.groupBy(keys, groupOf).values()].map((group) => group.length));
}

/** Returns whether a scope of ten keys or more has over a fifth flagged and not acknowledged. Counts items, and keys that wait for a quota. */
function isBroken(scope: string, { document: { items, held } }: Plan, { keys }: Facts): boolean {
  const own = keys.filter((key) => key.scope === scope);
  const waiting = held.filter((item) => ['over_quota', 'unannounced', 'seen_once'].includes(item.why.kind));
  const flagged = [...items, ...waiting].map((item) => item.key.number);
  const unknown = own.filter((key) => !key.isAcknowledged && flagged.includes(key.number));
  return own.length >= 10 && unknown.length * 5 > own.length;
}

test('R1, R2, R3, R6, R8, R9: for any keys, policy and time, only permitted keys are revoked, each with a reason', () => {
  fc.assert(fc.property(anyPolicy, anyFacts, expectGoverned), { numRuns: sized(2000) });
});

test('the property is not vacuous: the second judge and the plan both let keys be revoked', () => {
  let going = 0;
  const runs = sized(300);
  fc.assert(
    fc.property(anyPolicy, anyFacts, (policy, facts) => {
      going += makePlan(policy, announce(policy, facts)).document.items.length;
    }),
    { numRuns: runs, seed: 7 },
  );
  expect(going).toBeGreaterThan(runs / 3);
});
