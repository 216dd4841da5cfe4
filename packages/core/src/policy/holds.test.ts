import { daysAgo, makeFacts, makeKey, usedDaysAgo } from '@keywarden/testkit/policy/facts';
import { describe, expect, test } from 'vitest';
import { unwantedRotationHold } from './automatic.ts';
import type { ScopeFacts } from './facts.ts';
import { revocationHold } from './holds.ts';
import { judge } from './plan.ts';
import { policySchema } from './schema.ts';

const policy = policySchema.parse({
  quotas: { per_day: 3 },
  rules: [{ name: 'never-used', never_used_for: '30d', action: 'revoke' }],
});
const key = makeKey(1);
const survivor = makeKey(99, { use: usedDaysAgo(1) });

/** Returns what holds the key from a rule, and from a rotation. */
function holdsOf(scope: Partial<ScopeFacts>, ownKeys: { connection: string; keyId: string }[] = []) {
  const facts = makeFacts([key, survivor], scope, ownKeys);
  const [verdict] = judge(policy, facts).verdicts;
  return { rule: verdict?.held?.kind ?? null, rotation: revocationHold(policy, facts, key)?.kind ?? null };
}

describe('every hold of a scope applies to rules and to rotations', () => {
  test.each<[string, Partial<ScopeFacts>, string | null]>([
    ['fresh evidence', {}, null],
    ['R1: evidence that is too old', { listedAt: daysAgo(1) }, 'stale_evidence'],
    ['R1: evidence of a time that is still to come', { listedAt: daysAgo(-1) }, 'stale_evidence'],
    ['R1: evidence as far ahead as clocks may differ', { listedAt: daysAgo(-300 / 86_400) }, null],
    ['R1: a clock that is not trusted', { nowMs: null }, 'stale_evidence'],
    ['R2: an own key that is not known', { unknownOwnKey: ['main'] }, 'own_key_unknown'],
  ])('%s', (_name, scope, kind) => {
    expect(holdsOf(scope).rotation).toBe(kind);
    // A rule has no findings in a scope whose time is unknown.
    expect(holdsOf(scope).rule).toBe(scope.nowMs === null ? null : kind);
  });

  test('R2: a connection’s own key is held, except from the rotation that has moved the connection off it', () => {
    const ownKeys = [{ connection: 'main', keyId: key.id }];
    expect(holdsOf({}, ownKeys)).toEqual({ rule: 'own_key', rotation: 'own_key' });
    const facts = makeFacts([key, survivor], {}, ownKeys);
    expect(revocationHold(policy, facts, { ...key, exceptOwnOf: new Set(['main']) })).toBeNull();
  });
});

test('R2: a key that two connections use stays while a rotation has moved only one of them off it', () => {
  const ownKeys = ['main', 'second'].map((connection) => ({ connection, keyId: key.id }));
  const facts = makeFacts([key, survivor], {}, ownKeys);
  const hold = (moved: string[]) => revocationHold(policy, facts, { ...key, exceptOwnOf: new Set(moved) });
  expect(hold(['main'])).toEqual({ kind: 'own_key', text: 'connection second itself uses this key' });
  expect(hold(['main', 'second'])).toBeNull();
});

test('R2: an own key’s id holds each key with that id, except the certain keys of other control planes', () => {
  const own = (otherKeys?: string[]) => ({ connection: 'main', keyId: key.id, ...(otherKeys && { otherKeys }) });
  const kindOf = (otherKeys?: string[]) =>
    revocationHold(policy, { ...makeFacts([key, survivor]), ownKeys: [own(otherKeys)] }, key)?.kind;
  expect([kindOf(), kindOf(['99']), kindOf([key.number])]).toEqual(['own_key', 'own_key', undefined]);
});

test('R3, R5: the daily quota, an open incident and a missing listing of the scope hold a rotation', () => {
  const facts = makeFacts([key, survivor]);
  expect(revocationHold(policy, { ...facts, revokedLastDay: 3 }, key)?.kind).toBe('over_quota');
  expect(revocationHold(policy, { ...facts, revokedLastDay: 2 }, key)).toBeNull();
  expect(revocationHold(policy, makeFacts([key], { usesInFlight: 1 }), key)?.kind).toBe('open_incident');
  expect(revocationHold(policy, facts, { ...key, scope: '9/organization:other' })?.kind).toBe('stale_evidence');
});

test('neither a rule nor a rotation revokes a key whose id belonged to another key, or that two scopes show', () => {
  for (const change of [{ hasOpenKeyChange: true }, { otherScope: '1/organization:other' }]) {
    const questioned = makeKey(1, change);
    const facts = makeFacts([questioned, survivor]);
    expect(revocationHold(policy, facts, questioned)?.kind).toBe('identity_changed');
    expect(revocationHold(policy, facts, survivor)).toBeNull();
    // A key that no listing shows yet, such as an orphan.
    expect(revocationHold(policy, facts, makeKey(2))).toBeNull();
    expect(judge(policy, facts).verdicts.map(({ held }) => held?.kind)).toEqual(['identity_changed']);
  }
});

test('R6: a rotation that the policy began needs the policy’s current consent; one that a person requested does not', () => {
  const rotating = (change: object, organizations: object = { '*': { mode: 'enforce' } }) =>
    policySchema.parse({
      enforcement: { organizations },
      rules: [
        { name: 'old', older_than: '90d', action: 'rotate', mode: 'enforce', rotation: { sink: 'files' }, ...change },
      ],
    });
  const facts = makeFacts([makeKey(98, { kind: 'personal', scope: '1/user:ada' }), key]);
  const begun = { key, rule: 'old', via: 'policy' };
  expect(unwantedRotationHold(rotating({}), facts, begun)).toBeNull();
  expect(unwantedRotationHold(rotating({ mode: 'plan' }), facts, begun)).toMatch(/no longer rotates/);
  expect(unwantedRotationHold(rotating({}, {}), facts, begun)).toMatch(/no longer in mode: enforce/);
  expect(unwantedRotationHold(rotating({}), makeFacts([]), begun)).toMatch(/does not show it/);
  for (const [name, unwanted] of [
    ['key*', null],
    [key.name, null],
    ['prod-*', 'rule old no longer matches it'],
  ])
    expect(unwantedRotationHold(rotating({ match: { name } }), facts, begun)).toBe(unwanted);
  const exemption = { number: '1', rules: null, reason: 'needed', grantedBy: 'ada', until: daysAgo(-9) };
  expect(unwantedRotationHold(rotating({}), makeFacts([makeKey(1, { exemptions: [exemption] })]), begun)).toMatch(
    /exempt from old until/,
  );
  expect(unwantedRotationHold(rotating({ mode: 'plan' }), facts, { ...begun, via: 'report' })).toBeNull();
  // Another rule, no rule, and a rule of the same name that rotates nothing do not consent.
  for (const rule of ['other', null])
    expect(unwantedRotationHold(rotating({}), facts, { ...begun, rule })).toBe(
      `rule ${rule} no longer rotates keys automatically`,
    );
  const revoking = rotating({ action: 'revoke', rotation: undefined });
  expect(unwantedRotationHold(revoking, facts, begun)).toMatch(/no longer rotates/);
});
