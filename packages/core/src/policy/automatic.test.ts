import { daysAgo, makeFacts, makeKey, usedDaysAgo } from '@keywarden/testkit/policy/facts';
import { expect, test } from 'vitest';
import { mayFollowCanary } from './automatic.ts';
import type { Facts, KeyFacts, ScopeFacts } from './facts.ts';
import { makePlan } from './plan.ts';
import { policySchema } from './schema.ts';

const rule = { name: 'never-used', never_used_for: '30d', action: 'revoke', mode: 'enforce' };
const enforcement = { organizations: { acme: { mode: 'enforce' } } };
const policyOf = (change: object = {}) => policySchema.parse({ enforcement, rules: [rule], ...change });
const live = Array.from({ length: 20 }, (_, index) => makeKey(100 + index, { use: usedDaysAgo(1) }));

/** Returns why each item waits, or null if it may be revoked automatically. */
function decide(facts: Facts, policy = policyOf()): Record<string, string | null> {
  return Object.fromEntries(makePlan(policy, facts).automatic.map(({ verdict, waits }) => [verdict.key.number, waits]));
}
const among = (keys: KeyFacts[], change: Partial<ScopeFacts> = {}) => makeFacts([...keys, ...live], change);
const went = { automatic: [daysAgo(2)] };

test('R6: a key is revoked automatically only if its rule and its organization are both in mode: enforce', () => {
  const facts = among([makeKey(1)]);
  expect(decide(facts)).toEqual({ 1: null });
  expect(decide(facts, policyOf({ rules: [{ ...rule, mode: 'plan' }] }))).toEqual({});
  expect(decide(facts, policyOf({ enforcement: {} }))).toEqual({});
  expect(decide(facts, policyOf({ enforcement: { organizations: { '*': { mode: 'enforce' } } } }))).toEqual({
    1: null,
  });
  const but = { '*': { mode: 'enforce' }, acme: { mode: 'plan' } };
  expect(decide(facts, policyOf({ enforcement: { organizations: but } }))).toEqual({});
});

test('R6: personal keys are in mode: enforce only under the name personal', () => {
  const personal = { kind: 'personal', organizationId: null, scope: '1/user:ada' } as const;
  const facts = makeFacts([makeKey(1, personal), makeKey(2, { ...personal, use: usedDaysAgo(1) })]);
  expect(decide(facts, policyOf({ enforcement: { organizations: { '*': { mode: 'enforce' } } } }))).toEqual({});
  expect(decide(facts, policyOf({ enforcement: { organizations: { personal: { mode: 'enforce' } } } }))[1]).toBeNull();
});

test('inactivity is enforced only if two listings an hour apart both show the key', () => {
  const waits = 'two complete listings at least an hour apart must show it';
  expect(decide(among([makeKey(1)], { hourPriorListedAt: null }))).toEqual({ 1: waits });
  expect(decide(among([makeKey(1, { presentSince: daysAgo(1 / 96) })]))).toEqual({ 1: waits });
});

test('R6: in each scope one canary is revoked first, and the rest after canary_wait', () => {
  const keys = [makeKey(1), makeKey(2), makeKey(3, { scope: '1/organization:other', organizationId: 'other' })];
  const both = policyOf({ enforcement: { organizations: { '*': { mode: 'enforce' } } } });
  const others = makeKey(4, { scope: '1/organization:other', organizationId: 'other', use: usedDaysAgo(1) });
  const first = decide(among([...keys, others]), both);
  expect(first).toEqual({ 1: 'one key of its scope is revoked first, the others 24h later', 2: null, 3: null });
  const waiting = decide(among([makeKey(2)], { automatic: [daysAgo(0.9)] }));
  expect(waiting[2]).toMatch(/^a key of its scope was revoked first, at .*; the others follow 24h later$/);
  expect(decide(among([makeKey(2)], { automatic: [daysAgo(1)] }))).toEqual({ 2: null });
});

test('R3: a plan with an open breaker has another id than a plan of the same items without one', () => {
  const plan = (isAcknowledged: boolean) =>
    makePlan(
      policyOf({ enforcement: { ...enforcement, breaker_percent: 10 } }),
      among([1, 2, 3].map((number) => makeKey(number, { isAcknowledged }))),
    );
  const [open, closed] = [plan(false), plan(true)];
  expect([open, closed].map(({ document }) => document.breakers.length)).toEqual([1, 0]);
  expect(open.document.items).toEqual(closed.document.items);
  expect(open.id).not.toBe(closed.id);
});

test('R6: a canary of more than 30 days ago does not count, and an open incident stops its scope', () => {
  const keys = [makeKey(1), makeKey(2)];
  expect(
    Object.values(decide(among(keys, { automatic: [daysAgo(31)] }))).filter((waits) => waits === null),
  ).toHaveLength(1);
  expect(decide(among(keys, { ...went, usesInFlight: 1 }))[1]).toMatch(/incident of its scope is open/);
});

test('R3: over the breaker no key is revoked automatically; at the limit keys are; the plan states both counts', () => {
  const flagged = Array.from({ length: 6 }, (_, index) => makeKey(index + 1));
  const plan = makePlan(policyOf(), among(flagged, went));
  expect(plan.document.breakers).toEqual([
    {
      active: 26,
      condemned: 6,
      flagged: 6,
      flagged_sha256: expect.any(String),
      percent: 20,
      scope: '1/organization:acme',
    },
  ]);
  expect(plan.document.items).toHaveLength(6);
  expect(plan.automatic.every(({ waits }) => waits?.startsWith('the breaker of its scope is open') === true)).toBe(
    true,
  );
  const five = decide(among(flagged.slice(0, 5), went));
  expect(Object.values(five)).toEqual([null, null, null, null, null]);
});

test('R3: keys that wait for a quota count for the breaker; those of a plan that a person applied do not', () => {
  const flagged = Array.from({ length: 10 }, (_, index) => makeKey(index + 1));
  const small = policyOf({ quotas: { per_run: 2 } });
  const open = decide(among(flagged, went), small);
  expect(Object.values(open).every((waits) => waits?.startsWith('the breaker') === true)).toBe(true);
  const known = flagged.map((key) => ({ ...key, isAcknowledged: true }));
  expect(Object.values(decide(among(known, went), small)).filter((waits) => waits === null)).toHaveLength(2);
});

test('R3: a scope of fewer than ten keys has no breaker', () => {
  const nine = [...live.slice(0, 6), ...Array.from({ length: 3 }, (_, index) => makeKey(index + 1))];
  expect(makePlan(policyOf(), makeFacts(nine, went)).document.breakers).toEqual([]);
  expect(makePlan(policyOf(), makeFacts([...nine, makeKey(4)], went)).document.breakers).toHaveLength(1);
});

test('R3: keys whose notices are not accepted yet, and keys seen once, still count as flagged', () => {
  const flagged = Array.from({ length: 6 }, (_, index) => makeKey(index + 1));
  const announcing = policyOf({ rules: [{ ...rule, notices: ['15d'] }] });
  expect(makePlan(announcing, among(flagged, went)).document).toMatchObject({
    items: [],
    breakers: [{ flagged: 6 }],
  });
  expect(makePlan(policyOf(), among(flagged, { ...went, priorListedAt: null })).document.breakers).toHaveLength(1);
});

test('R3: a scope that shrinks below ten keys within a day keeps its breaker', () => {
  const nine = [...live.slice(0, 6), ...Array.from({ length: 3 }, (_, index) => makeKey(index + 1))];
  expect(makePlan(policyOf(), makeFacts(nine, { ...went, goneLately: 1 })).document.breakers).toHaveLength(1);
  expect(makePlan(policyOf(), makeFacts(nine, { ...went, missing: 1 })).document.breakers).toMatchObject([
    { flagged: 3, active: 10 },
  ]);
});

test('R3: keys that wait for a person use no quota of the keys that are revoked automatically', () => {
  const planned = { ...rule, name: 'planned', mode: 'plan', match: { name: 'old *' } };
  const small = policyOf({ quotas: { per_run: 2 }, rules: [{ ...rule, match: { name: 'key *' } }, planned] });
  const old = [1, 2].map((number) => makeKey(number, { name: `old ${number}`, createdAt: daysAgo(400) }));
  const keys = [...old, makeKey(3), makeKey(4), makeKey(5)];
  const plan = makePlan(
    small,
    among(
      keys.map((key) => ({ ...key, isAcknowledged: true })),
      went,
    ),
  );
  expect(plan.automatic.filter(({ waits }) => waits === null)).toHaveLength(2);
  expect(plan.document.items.map(({ key }) => key.name)).toEqual(['key 5', 'key 4']);
  const waiting = makePlan(small, among(keys.map((key) => ({ ...key, isAcknowledged: true }))));
  expect(waiting.document.items.map(({ key }) => key.name)).toContain('old 2');
  expect(
    plan.automatic.filter(
      ({ waits }) => waits?.startsWith('it waits for a later plan: a plan revokes at most 2') === true,
    ),
  ).toHaveLength(1);
});

test('R3: a key that something else holds counts for no breaker, and is no canary; breakers come in order of their scopes', () => {
  const exemptions = [{ number: '1', rules: null, reason: 'needed', grantedBy: 'ada', until: daysAgo(-9) }];
  const flagged = Array.from({ length: 6 }, (_, index) => makeKey(index + 1));
  const [first, ...rest] = flagged.map((key) => (key.number === '1' ? { ...key, exemptions } : key));
  expect(makePlan(policyOf(), among(first === undefined ? [] : [first, ...rest], went)).document.breakers).toEqual([]);
  expect(decide(among([makeKey(1, { exemptions, createdAt: daysAgo(400) }), makeKey(2)]))).toEqual({ 2: null });
  const elsewhere = { scope: '1/organization:aaa', organizationId: 'aaa' };
  const both = [...flagged, ...live].flatMap((key) => [
    key,
    { ...key, ...elsewhere, number: String(Number(key.number) + 1000) },
  ]);
  const { breakers } = makePlan(policyOf(), makeFacts(both)).document;
  expect(breakers.map(({ scope }) => scope)).toEqual(['1/organization:aaa', '1/organization:acme']);
  expect(new Set(breakers.map(({ flagged_sha256: hash }) => hash)).size).toBe(2);
});

test('R6: a canary of exactly 30 days ago counts, and the first one decides; a waiting key has no findings to be revoked for', () => {
  const keys = [makeKey(1), makeKey(2)];
  expect(decide(among(keys, { automatic: [daysAgo(30)] }))).toEqual({ 1: null, 2: null });
  expect(decide(among(keys, { automatic: [daysAgo(2), daysAgo(0.1)] }))).toEqual({ 1: null, 2: null });
  const { automatic } = makePlan(policyOf(), among(keys));
  expect(automatic.map(({ waits, findings }) => [waits === null, findings.length])).toEqual([
    [true, 1],
    [false, 0],
  ]);
});

test('R7: a key whose revocation failed lately comes last, and takes no quota from the others', () => {
  const small = policyOf({ quotas: { per_run: 1 } });
  const facts = among([makeKey(1, { createdAt: daysAgo(400), hasFailedLately: true }), makeKey(2)]);
  expect(makePlan(small, facts).document.items.map(({ key }) => key.number)).toEqual(['2']);
});

const dayLater = { nowMs: 86_400_000, waitMs: 86_400_000 };

test('R6: others follow the first key of a group once its action was done for canary_wait', () => {
  expect(mayFollowCanary(null, dayLater)).toBe(false);
  expect(mayFollowCanary(1, dayLater)).toBe(false);
  expect(mayFollowCanary(0, dayLater)).toBe(true);
});

test('R6: while the time is unknown, no key follows a canary', () => {
  expect(mayFollowCanary(0, { ...dayLater, nowMs: Number.NaN })).toBe(false);
});
