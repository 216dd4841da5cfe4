import { daysAgo, makeFacts, makeKey, usedDaysAgo } from '@keywarden/testkit/policy/facts';
import { expect, test } from 'vitest';
import { canonicalJson, sha256 } from '../values/json.ts';
import { findingsOf } from './evaluate.ts';
import type { Exemption, KeyFacts } from './facts.ts';
import { isApprovedContent, makePlan } from './plan.ts';
import { isSameReason } from './plan-item.ts';
import { policySchema } from './schema.ts';

const survivor = makeKey(99, { use: usedDaysAgo(1), createdAt: daysAgo(1) });
const neverUsed = policySchema.parse({ rules: [{ name: 'never-used', never_used_for: '30d', action: 'revoke' }] });
const exemption = (number: string, ...rules: string[]): Exemption => ({
  number,
  rules: rules.length === 0 ? null : rules,
  reason: 'needed',
  grantedBy: 'ada',
  until: daysAgo(-9),
});
const exemptBy = (number: string) => `exempt until ${daysAgo(-9)} by ada: needed (exemption ${number})`;
const inRotation = (role: 'old' | 'successor'): Partial<KeyFacts> => ({
  lineage: { number: '1', creatorId: 'ada', name: 'key x', rotation: { id: 'abcd2345', role } },
});
const rotating = 'of rotation abcd2345, and only that rotation can revoke it';

test('a plan reports a key by each rule that neither an exemption nor its rotation covers, and holds it if none is left', () => {
  const policy = policySchema.parse({
    rules: [
      { name: 'old', older_than: '90d', action: 'report' },
      { name: 'age', older_than: '30d', action: 'rotate' },
      { name: 'seen', older_than: '90d', action: 'notify' },
      { name: 'left', creator_left: true, action: 'revoke' },
      { name: 'gone', name_not_matching: ['key *'], action: 'revoke', even_in_use: true },
    ],
  });
  const young = { createdAt: daysAgo(60) };
  const { document } = makePlan(
    policy,
    makeFacts([
      makeKey(1),
      makeKey(2, { exemptions: [exemption('7', 'age')] }),
      makeKey(3, { exemptions: [exemption('8')] }),
      makeKey(4, { exemptions: [exemption('8', 'old', 'seen'), exemption('9', 'age')] }),
      makeKey(5, inRotation('old')),
      makeKey(6, { ...young, ...inRotation('old') }),
      makeKey(7, { ...young, ...inRotation('successor') }),
      makeKey(8, { ...inRotation('old'), exemptions: [exemption('8', 'old', 'seen')] }),
      makeKey(10, { name: 'bot' }),
      // A rule’s result is unknown, and nothing else flags it: no plan lists it.
      makeKey(11, { createdAt: daysAgo(1), creator: 'unknown' }),
      survivor,
    ]),
  );
  const shown = (items: typeof document.reported) =>
    items.map(({ key, action, findings }) => [key.number, action, ...findings.map(({ rule }) => rule)]);
  expect(shown(document.reported)).toEqual([
    ['1', 'rotate', 'old', 'age', 'seen'],
    ['2', 'notify', 'old', 'seen'],
    ['5', 'notify', 'old', 'seen'],
  ]);
  expect(shown(document.items)).toEqual([['10', 'revoke', 'gone']]);
  expect(document.held.map(({ key, why }) => [key.number, why.kind, why.text])).toEqual([
    ['3', 'exempt', exemptBy('8')],
    ['4', 'exempt', `${exemptBy('8')}; ${exemptBy('9')}`],
    ['6', 'in_rotation', `it is the old key ${rotating}`],
    ['7', 'in_rotation', `it is the successor ${rotating}`],
    ['8', 'exempt', exemptBy('8')],
  ]);
});

test('a plan names what it cannot see: personal keys of members that no connection lists, and scopes whose time is unknown', () => {
  const facts = makeFacts([survivor]);
  const scopes = (['b', 'a', 'c'] as const).flatMap((scope) =>
    facts.scopes.map((each) => ({
      ...each,
      scope,
      unseenMembers: { a: null, b: 2, c: 0 }[scope],
      nowMs: scope === 'a' ? null : each.nowMs,
    })),
  );
  expect(makePlan(neverUsed, { ...facts, scopes }).document.blind_spots).toEqual([
    { kind: 'clock', members: null, scope: 'a' },
    { kind: 'personal_keys', members: null, scope: 'a' },
    { kind: 'personal_keys', members: 2, scope: 'b' },
  ]);
});

test('the text of a plan of many keys is its document', () => {
  const keys = Array.from({ length: 100 }, (_, index) => makeKey(index + 1));
  const plan = makePlan(neverUsed, makeFacts([...keys, makeKey(200, { use: usedDaysAgo(1) })]));
  expect(plan.document.items).toHaveLength(100);
  const text = [...plan.canonical()].join('');
  expect(text).toBe(canonicalJson(plan.document));
  expect(plan.sha256).toBe(sha256(text));
  expect(plan.document.items[0]?.findings).toEqual([
    {
      evidence: { condition: 'never_used_for', created_at: daysAgo(365), limit: '30d' },
      rule: 'never-used',
    },
  ]);
});

test('an approval covers exactly the keys, actions, reasons, breakers and policy of its plan', () => {
  const flagged = Array.from({ length: 12 }, (_, index) => makeKey(index + 1));
  const plan = makePlan(neverUsed, makeFacts([...flagged, survivor]));
  const { document } = plan;
  const [first, ...rest] = document.items;
  const [breaker] = document.breakers;
  if (first === undefined || breaker === undefined) throw new Error('the plan has no items or no breaker');
  expect(plan.id).toBe(`p-${plan.approves.slice(0, 12)}`);
  expect(isApprovedContent(document, plan)).toBe(true);
  expect(isApprovedContent(document, { ...plan, id: 'p-000000000000' })).toBe(false);
  expect(isApprovedContent(document, { ...plan, approves: plan.approves.replace(/.$/, 'x') })).toBe(false);
  const withFirst = (change: object, key: object = {}) => ({
    items: [{ ...first, ...change, key: { ...first.key, ...key } }, ...rest],
  });
  const [finding] = first.findings;
  for (const change of [
    { items: rest },
    { items: rest.concat(first) },
    { breakers: [] },
    { breakers: [{ ...breaker, flagged_sha256: 'x' }] },
    { policy_sha256: 'x' },
    withFirst({ action: 'report' as const }),
    withFirst({ findings: [] }),
    withFirst({ findings: finding === undefined ? [] : [{ ...finding, rule: 'other' }] }),
    withFirst({}, { id: '1' }),
    withFirst({}, { number: '1000' }),
    withFirst({}, { scope: '2/organization:acme' }),
    withFirst({}, { kind: 'project' }),
  ])
    expect(isApprovedContent({ ...document, ...change }, plan)).toBe(false);
  // The rest of a key is shown beside it and may change.
  expect(isApprovedContent({ ...document, ...withFirst({}, { name: 'renamed', owner: 'bo' }) }, plan)).toBe(true);
});

test.each<[string, (many: object) => object]>([
  ['alone', (many) => many],
  ['in all', (many) => ({ all: [{ older_than: '1d' }, many] })],
  ['in any', (many) => ({ any: [many, { older_than: '1d' }] })],
])(
  'a plan’s evidence has no rank, and its reasons no count, %s; another limit or rule is another reason',
  (_name, combine) => {
    const policyOf = (number: number) =>
      policySchema.parse({
        rules: ['r', 'same'].map((name) => ({
          name,
          ...combine({ more_than: { number, per: 'creator' } }),
          action: 'revoke',
          even_in_use: true,
        })),
      });
    const group = [1, 2, 3].map((number) => makeKey(number, { use: usedDaysAgo(number) }));
    const ofLast = ({ key }: { key: { number: string } }) => key.number === '3';
    const [planned] = makePlan(policyOf(1), makeFacts(group)).document.items.find(ofLast)?.findings ?? [];
    const found = (number: number, keys: KeyFacts[]) =>
      findingsOf(makePlan(policyOf(number), makeFacts(keys)))
        .filter(ofLast)
        .map((finding) => planned && isSameReason(planned, finding));
    expect(JSON.stringify(planned)).toContain('{"condition":"more_than","count":3,"limit":1,"per":"creator"}');
    expect(found(1, group.slice(1))).toEqual([true, false]);
    expect(found(2, group)).toEqual([false, false]);
  },
);

test('an item of a branch credential names its branch', () => {
  const policy = policySchema.parse({
    rules: [{ name: 'r', match: { kinds: ['branch_credential'] }, never_used_for: '30d', action: 'revoke' }],
  });
  const credential = makeKey(1, { kind: 'branch_credential', scope: '1/branch_credential:acme/p', branchId: 'br-1' });
  const { items } = makePlan(policy, makeFacts([credential])).document;
  expect(items.map(({ key, kept }) => [key.branch_id, kept])).toEqual([['br-1', undefined]]);
});
