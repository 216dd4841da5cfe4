import { daysAgo, makeFacts, makeKey, usedDaysAgo } from '@keywarden/testkit/policy/facts';
import { expect, test } from 'vitest';
import type { Announcement, Facts } from './facts.ts';
import { basisOf, dueNotices, lapsedAnnouncements } from './notices.ts';
import { makePlan } from './plan.ts';
import { modeOf, type Policy, policySchema } from './schema.ts';

const rule = { name: 'unused', unused_for: '90d', action: 'revoke', notices: ['1d', '15d', '7d'] };
const policy = policySchema.parse({ rules: [rule] });
const survivor = makeKey(99, { use: usedDaysAgo(1) });
const use = usedDaysAgo(100);

/** Returns the basis of an announcement of a policy's first rule, for key 1 used 100 days ago. */
function basisBy(policy: Policy): string {
  const key = makeKey(1, { use });
  const bases = policy.rules.map((rule) =>
    basisOf({ key, rule, isEnforced: rule.mode === 'enforce' && modeOf(policy, key) === 'enforce' }),
  );
  return bases[0] ?? '';
}

function facts(
  accepted: Announcement['accepted'] | null,
  change: Parameters<typeof makeKey>[1] = {},
  by = policy,
): Facts {
  const announcements = accepted === null ? [] : [{ rule: 'unused', basis: basisBy(by), accepted }];
  return makeFacts([makeKey(1, { use, announcements, ...change }), survivor]);
}
const at = (step: string, days: number) => ({ step, at: daysAgo(days) });
function judge(given: Facts, by = policy) {
  const plan = makePlan(by, given);
  return {
    items: plan.document.items.length,
    held: plan.document.held.map(({ why }) => why.text),
    due: dueNotices(plan).map(({ step }) => step),
    lapsed: lapsedAnnouncements(given, plan).map(({ rule: name }) => name),
  };
}

test('R9: a revocation that was not announced is held, and its longest notice is due at once', () => {
  const unannounced = {
    items: 0,
    held: ['its 15d notice was not accepted yet'],
    due: ['15d'],
  };
  expect(judge(facts(null))).toMatchObject(unannounced);
  expect(judge(facts([]))).toMatchObject(unannounced);
});

test('R9: each shorter notice is due when that much grace is left; the key is revoked once all were accepted and the grace is over', () => {
  const wait = (date: string) => [`its revocation was announced, and can happen after ${date}`];
  expect(judge(facts([at('15d', 7)]))).toMatchObject({ items: 0, due: [] });
  expect(judge(facts([at('15d', 8)]))).toMatchObject({ items: 0, due: ['7d'] });
  expect(judge(facts([at('15d', 14), at('7d', 6)]))).toMatchObject({ items: 0, due: ['1d'] });
  expect(judge(facts([at('15d', 14.5), at('7d', 6.5), at('1d', 0.5)]))).toMatchObject({
    held: wait(daysAgo(-0.5)),
    due: [],
  });
  expect(judge(facts([at('15d', 15), at('7d', 7), at('1d', 1)]))).toMatchObject({ items: 1, held: [], due: [] });
});

test('R9: a notice that was accepted late moves the end; after a long interruption the grace starts anew', () => {
  expect(judge(facts([at('15d', 40)]))).toMatchObject({ items: 0, due: ['7d'] });
  expect(judge(facts([at('15d', 40), at('7d', 0)]))).toMatchObject({ items: 0, due: [] });
  expect(judge(facts([at('15d', 40), at('7d', 7), at('1d', 0)])).items).toBe(0);
  expect(judge(facts([at('15d', 40), at('7d', 8), at('1d', 1)])).items).toBe(1);
});

test('R9, counter-test: without notices the same key is revoked at once', () => {
  const silent = policySchema.parse({ rules: [{ ...rule, notices: undefined }] });
  expect(judge(facts(null), silent)).toMatchObject({ items: 1, due: [] });
});

test('R9: a use makes another finding, which is announced anew', () => {
  const accepted = [at('15d', 15), at('7d', 7), at('1d', 1)];
  expect(judge(facts(accepted, { use: usedDaysAgo(95) }))).toMatchObject({
    items: 0,
    due: ['15d'],
    lapsed: ['unused'],
  });
  expect(judge(facts(accepted, { use: usedDaysAgo(1) }))).toMatchObject({ items: 0, due: [], lapsed: ['unused'] });
});

test('R9: an announcement lapses while another reason keeps the key, and stays valid while its scope cannot be judged', () => {
  const accepted = [at('15d', 15), at('7d', 7), at('1d', 1)];
  const exemptions = [{ number: '1', rules: null, reason: 'migration', grantedBy: 'ada', until: daysAgo(-1) }];
  expect(judge(facts(accepted, { exemptions }))).toMatchObject({ items: 0, due: [], lapsed: ['unused'] });
  const given = facts(accepted);
  const blind = { ...given, scopes: given.scopes.map((scope) => ({ ...scope, nowMs: null })) };
  expect(judge(blind)).toMatchObject({ items: 0, due: [], lapsed: [] });
  const stale = { ...given, scopes: given.scopes.map((scope) => ({ ...scope, listedAt: daysAgo(1) })) };
  expect(judge(stale)).toMatchObject({ items: 0, due: [], lapsed: [] });
});

test('a rule that only notifies sends one notification', () => {
  const notify = policySchema.parse({ rules: [{ name: 'unused', unused_for: '90d', action: 'notify' }] });
  expect(judge(facts(null), notify)).toMatchObject({ due: ['once'], lapsed: [] });
  expect(judge(facts([at('once', 3)], {}, notify), notify)).toMatchObject({ due: [], lapsed: [] });
});

test('R9: a new owner, or a changed rule, is announced anew', () => {
  const accepted = [at('15d', 15), at('7d', 7), at('1d', 1)];
  expect(judge(facts(accepted)).items).toBe(1);
  expect(judge(facts(accepted, { owner: 'zoe' }))).toMatchObject({
    items: 0,
    due: ['15d'],
    lapsed: ['unused'],
  });
  const other = policySchema.parse({ rules: [{ ...rule, unused_for: '60d' }] });
  expect(judge(facts(accepted), other)).toMatchObject({ items: 0, due: ['15d'], lapsed: ['unused'] });
});

test('R9: a revocation that does not happen within 90 days of its announcement is announced again', () => {
  expect(judge(facts([at('15d', 105), at('7d', 97), at('1d', 91)]))).toMatchObject({ items: 1, lapsed: [] });
  expect(judge(facts([at('15d', 106), at('7d', 98), at('1d', 92)]))).toMatchObject({ items: 0, lapsed: ['unused'] });
});

test('R9: a rule without even_in_use rests on the key’s use, for any condition; a rule with it does not', () => {
  const old = (evenInUse: boolean) =>
    policySchema.parse({ rules: [{ ...rule, unused_for: undefined, older_than: '90d', even_in_use: evenInUse }] });
  const accepted = [at('15d', 15), at('7d', 7), at('1d', 1)];
  const usedSince = { use: usedDaysAgo(35) };
  expect(judge(facts(accepted, {}, old(false)), old(false)).items).toBe(1);
  expect(judge(facts(accepted, usedSince, old(false)), old(false))).toMatchObject({ items: 0, lapsed: ['unused'] });
  expect(judge(facts(accepted, usedSince, old(true)), old(true))).toMatchObject({ items: 1, lapsed: [] });
});

test('R9: an announcement stays valid while its rule’s result is unknown, so that an unknown use restarts no grace period', () => {
  const many = policySchema.parse({
    rules: [{ name: 'unused', more_than: { number: 1, per: 'creator' }, action: 'revoke', notices: ['15d'] }],
  });
  const given = facts([at('15d', 14)], {}, many);
  const glitch = { ...given, keys: [...given.keys, makeKey(2, { use: { state: 'unknown' } })] };
  expect(judge(glitch, many)).toMatchObject({ items: 0, lapsed: [] });
});

test('R9: an announcement under a condition is none under another condition of the same parts', () => {
  const [a, b, c] = [{ unused_for: '90d' }, { older_than: '365d' }, { never_used_for: '30d' }];
  const basisUnder = (condition: object) =>
    basisBy(policySchema.parse({ rules: [{ name: 'unused', action: 'revoke', notices: ['1d'], ...condition }] }));
  expect(basisUnder({ all: [{ any: [a, b] }, c] })).not.toBe(basisUnder({ any: [a, { all: [b, c] }] }));
});

test('R9: an announcement from before rule and organization enforced is none afterwards: the grace period begins again', () => {
  const rule = { name: 'unused', unused_for: '90d', action: 'revoke', even_in_use: false, notices: ['15d'] };
  const by = (mode: string, organization: string) =>
    policySchema.parse({ rules: [{ ...rule, mode }], enforcement: { organizations: { '*': { mode: organization } } } });
  const announcedBy = (policy: Policy) => facts([at('15d', 20)], {}, policy);
  const [planned, half, enforced] = [by('plan', 'enforce'), by('enforce', 'plan'), by('enforce', 'enforce')];
  expect(judge(announcedBy(planned), planned)).toMatchObject({ items: 1 });
  expect(judge(announcedBy(planned), enforced)).toMatchObject({ items: 0, lapsed: ['unused'] });
  expect(judge(announcedBy(half), enforced)).toMatchObject({ items: 0, lapsed: ['unused'] });
  expect(judge(announcedBy(enforced), enforced)).toMatchObject({ items: 1, lapsed: [] });
  // A person applies a plan in either mode.
  expect(judge(announcedBy(half), planned)).toMatchObject({ items: 1, lapsed: [] });
});

test('R9: the text of an announcement’s basis stays the same, since stores hold it', () => {
  const [revoking] = policy.rules;
  const [enforcing] = policySchema.parse({ rules: [{ ...rule, mode: 'enforce' }] }).rules;
  const [telling] = policySchema.parse({ rules: [{ name: 'unused', unused_for: '90d', action: 'notify' }] }).rules;
  if (revoking === undefined || enforcing === undefined || telling === undefined) throw new Error('a rule is missing');
  const basis = (rule: typeof revoking, isEnforced = false, change = {}) =>
    basisOf({ key: makeKey(1, { use, ...change }), rule, isEnforced });
  expect([
    basis(revoking),
    basis(revoking, false, { use: { state: 'never' } }),
    basis(revoking, false, { use: { state: 'unknown' } }),
    basis(enforcing, true),
    basis(telling),
  ]).toEqual([
    `["ada","unused_for 90d","${daysAgo(100)}"]`,
    '["ada","unused_for 90d","never"]',
    '["ada","unused_for 90d","unknown"]',
    `["ada","unused_for 90d","${daysAgo(100)}","enforce"]`,
    '["ada","unused_for 90d",null]',
  ]);
});

test('R9: an announcement of one rule is none of another, also under the same condition', () => {
  const two = policySchema.parse({ rules: [rule, { ...rule, name: 'same', notices: ['15d'] }] });
  const given = facts([at('15d', 15), at('7d', 7), at('1d', 1)], {}, two);
  expect(judge(given, two)).toMatchObject({ items: 1, due: ['15d'], lapsed: [] });
  const [announced] = given.keys.flatMap(({ announcements }) => announcements);
  const other = (days: number) => ({ rule: 'same', basis: basisBy(two), accepted: [at('15d', days)] });
  const withOther = (days: number) =>
    given.keys.map((key) =>
      announced && key.number === '1' ? { ...key, announcements: [announced, other(days)] } : key,
    );
  expect(judge({ ...given, keys: withOther(200) }, two)).toMatchObject({ items: 1, due: ['15d'], lapsed: ['same'] });
  expect(judge({ ...given, keys: withOther(3) }, two)).toMatchObject({ items: 1, due: [], lapsed: [] });
});

test('R9: while one rule may revoke a key, the grace period of another goes on', () => {
  const two = policySchema.parse({
    rules: [
      { ...rule, notices: undefined },
      { ...rule, name: 'slow', notices: ['15d'] },
    ],
  });
  const announcements = [{ rule: 'slow', basis: basisBy(two), accepted: [at('15d', 3)] }];
  expect(judge(makeFacts([makeKey(1, { use, announcements }), survivor]), two)).toMatchObject({ items: 1, lapsed: [] });
});

test('owners are notified of keys over a quota, but not of a key that its organization keeps, nor of an exempt key', () => {
  const slow = { ...rule, name: 'slow', notices: ['15d'] };
  const two = policySchema.parse({ quotas: { per_run: 1 }, rules: [{ ...rule, notices: undefined }, slow] });
  const pair = [makeKey(1, { use }), makeKey(2, { use })];
  expect(judge(makeFacts([...pair, survivor]), two)).toMatchObject({ items: 1, due: ['15d', '15d'] });
  expect(judge(makeFacts([makeKey(1, { use })]))).toMatchObject({ items: 0, due: [] });
  const notify = policySchema.parse({ rules: [{ name: 'unused', unused_for: '90d', action: 'notify' }] });
  const exemptions = [{ number: '1', rules: null, reason: 'migration', grantedBy: 'ada', until: daysAgo(-1) }];
  expect(judge(facts(null, { exemptions }, notify), notify).due).toEqual([]);
  expect(dueNotices(makePlan(notify, facts(null, {}, notify)))).toMatchObject([
    { key: { number: '1' }, rule: 'unused', action: 'notify', basis: basisBy(notify), step: 'once' },
  ]);
});
