import { makeFacts, makeKey, usedDaysAgo } from '@keywarden/testkit/policy/facts';
import { expect, test } from 'vitest';
import { judge, makePlan } from './plan.ts';
import { policySchema } from './schema.ts';

const none = policySchema.parse({ rules: [] });
const reviewedOut = { review: '7', by: 'ada', at: '2026-05-30T00:00:00Z', reason: 'nobody knows it' };
const survivor = makeKey(99, { use: usedDaysAgo(1) });

function decide(policy = none, change: Parameters<typeof makeKey>[1] = {}) {
  const facts = makeFacts([makeKey(1, { use: usedDaysAgo(1), reviewedOut, ...change }), survivor]);
  return { ...judge(policy, facts), plan: makePlan(policy, facts) };
}

test('a plan under any policy lists a key that a review decided to revoke, in use or not, with the reviewer and the reason', () => {
  const { plan, verdicts } = decide();
  expect(plan.document.items).toMatchObject([
    { action: 'revoke', key: { number: '1' }, findings: [{ rule: 'access-review' }] },
  ]);
  expect(verdicts.map(({ held }) => held)).toEqual([null]);
  const without = decide(none, { reviewedOut: undefined } as never);
  expect(without.plan.document.items).toEqual([]);
});

test('a key that a review decided to revoke is not revoked automatically: a person approves the plan', () => {
  const enforcing = policySchema.parse({
    rules: [],
    enforcement: { organizations: { '*': { mode: 'enforce' } } },
  });
  expect(decide(enforcing).automatic.filter(({ waits }) => waits === null)).toEqual([]);
});

test('R6: once the token of the signer is revoked, a rule on reviews revokes nothing automatically; a person may still approve', () => {
  const policy = policySchema.parse({
    rules: [
      { name: 'out', reviewed_out: true, action: 'revoke', mode: 'enforce', even_in_use: true },
      { name: 'old', older_than: '9d', action: 'revoke', mode: 'enforce', even_in_use: true },
    ],
    enforcement: { organizations: { '*': { mode: 'enforce' } } },
  });
  const [out, old] = [{ ...policy, rules: policy.rules.slice(0, 1) }, policy];
  const revoked = { reviewedOut: { ...reviewedOut, isSignerRevoked: true } };
  const automaticOf = (of: typeof policy, change: object) =>
    decide(of, change).automatic.map(({ findings, waits }) => waits ?? findings.map(({ rule }) => rule.name).join());
  expect(automaticOf(out, {})).toEqual(['out']);
  expect(automaticOf(out, revoked)).toEqual([
    'the token that signed its access review was revoked: a person must approve the plan, or another review be signed',
  ]);
  expect(automaticOf(old, revoked)).toEqual(['old']);
  expect(decide(out, revoked).plan.document.items).toEqual(decide(out).plan.document.items);
});

test('every other hold also applies to it: own keys, rotations and exemptions', () => {
  const lineage = { number: '1', creatorId: 'ada', name: 'x', rotation: { id: 'abcd2345', role: 'old' as const } };
  const exemption = { number: '3', rules: null, reason: 'x', grantedBy: 'ada', until: '2027-01-01T00:00:00Z' };
  expect(decide(none, { id: '1' }).verdicts[0]?.held?.kind).toBe('own_key');
  expect(decide(none, { lineage }).verdicts[0]?.held?.kind).toBe('in_rotation');
  expect(decide(none, { exemptions: [exemption] }).verdicts[0]?.held?.kind).toBe('exempt');
});

test('a policy can override it with a rule of its own, and no other rule may use its name', () => {
  const own = policySchema.parse({ rules: [{ name: 'out', reviewed_out: true, action: 'report' }] });
  expect(decide(own).plan.document).toMatchObject({ items: [], reported: [{ findings: [{ rule: 'out' }] }] });
  const elsewhere = policySchema.parse({
    rules: [
      { name: 'out', match: { organizations: ['other'] }, reviewed_out: true, action: 'report' },
      { name: 'odd', all: [{ not: { reviewed_out: true } }, { older_than: '9d' }], action: 'report' },
    ],
  });
  expect(decide(elsewhere).plan.document.items).toMatchObject([{ findings: [{ rule: 'access-review' }] }]);
  const sameName = policySchema.parse({ rules: [{ name: 'access-review', reviewed_out: true, action: 'report' }] });
  expect(decide(sameName).plan.document).toMatchObject({
    items: [],
    reported: [{ findings: [{ rule: 'access-review' }] }],
  });
  const stolen = { rules: [{ name: 'access-review', older_than: '1d', action: 'report' }] };
  expect(policySchema.safeParse(stolen).error?.issues[0]?.message).toContain(
    'is reserved for the rule of access reviews',
  );
});
