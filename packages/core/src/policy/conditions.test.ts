import { daysAgo, findAll, makeFacts, makeKey, usedDaysAgo } from '@keywarden/testkit/policy/facts';
import { expect, test } from 'vitest';
import { evaluate } from './evaluate.ts';
import type { KeyFacts } from './facts.ts';
import { policySchema } from './schema.ts';

const policy = (...rules: object[]) =>
  policySchema.parse({ rules: rules.map((rule) => ({ name: 'r', action: 'report', ...rule })) });
const found = (condition: object, keys: KeyFacts[]) =>
  findAll(policy(condition), makeFacts(keys)).map(({ number, reason }) => [number, reason]);
const numbers = (condition: object, keys: KeyFacts[]) => found(condition, keys).map(([number]) => number);

const old = { older_than: '100d' };
const unused = { unused_for: '90d' };
const keys = [
  makeKey(1, { use: usedDaysAgo(100) }),
  makeKey(2, { use: usedDaysAgo(1) }),
  makeKey(3, { use: usedDaysAgo(100), createdAt: daysAgo(99) }),
  makeKey(4, { use: { state: 'unknown' } }),
];

test('all, any and not combine conditions; an unknown result is neither true nor false', () => {
  expect(numbers({ all: [old, unused] }, keys)).toEqual(['1']);
  expect(numbers({ any: [old, unused] }, keys)).toEqual(['1', '2', '3', '4']);
  expect(numbers({ not: unused }, keys)).toEqual(['2']);
  expect(numbers({ all: [old, { not: unused }] }, keys)).toEqual(['2']);
  expect(numbers({ not: { any: [unused, { never_used_for: '1d' }] } }, keys)).toEqual(['2']);
});

test('a combination lists each of its reasons', () => {
  const [key] = keys;
  expect(found({ all: [old, unused] }, key ? [key] : [])).toEqual([
    ['1', 'created 365 days ago, more than 100d; last used 100 days ago, more than 90d'],
  ]);
  expect(
    found({ all: [old, { not: { any: [{ unused_for: '200d' }, { creator_left: true }] } }] }, key ? [key] : []),
  ).toEqual([
    ['1', 'created 365 days ago, more than 100d; this condition does not hold: unused_for 200d or creator_left'],
  ]);
});

test('a key that might be flagged, if its facts were known, is reported as unknown with the reason', () => {
  const rule = policySchema.parse({ rules: [{ name: 'r', action: 'revoke', ...unused }] });
  const [judgement] = evaluate(rule, makeFacts([makeKey(4, { use: { state: 'unknown' } })]));
  expect(judgement?.unknowns.map(({ why }) => why)).toEqual([
    'its last use is unknown: it moved backwards, is before its creation or in the future, or has no time',
  ]);
});

test('R1: whether an unknown creator has left is unknown, also for the opposite condition', () => {
  const creators = (['member', 'left', 'unknown'] as const).map((creator, index) => makeKey(index + 1, { creator }));
  expect(numbers({ creator_left: true }, creators)).toEqual(['2']);
  expect(numbers({ not: { creator_left: true } }, creators)).toEqual(['1']);
});

const usedFrom = (number: number, from: string, others: string[] = []) =>
  makeKey(number, {
    use: { state: 'used', at: daysAgo(1), from },
    addresses: others.map((address) => ({ address, at: daysAgo(2) })),
  });

test.each([
  ['the first address of a chain of proxies counts', '198.51.100.4,203.0.113.7', [], ['1']],
  ['an address inside is none', '203.0.113.7,198.51.100.4', [], []],
  ['an IPv6 address inside is none', '2001:db8::7', [], []],
  ['another IPv6 address is outside', '2001:db9::7', [], ['1']],
  ['an IPv4 address written as IPv6 is that IPv4 address', '::ffff:203.0.113.7', [], []],
  ['an earlier use from outside counts though the last was inside', '203.0.113.7', ['192.0.2.1'], ['1']],
  ['an unreadable address is unknown', 'unix', [], []],
])('used_outside: %s', (_name, from, others, expected) => {
  const rule = { used_outside: ['203.0.113.0/24', '2001:db8::/32'] };
  expect(numbers(rule, [usedFrom(1, from, others)])).toEqual(expected);
});

test('used_outside names the addresses', () => {
  expect(found({ used_outside: ['10.0.0.0/8'] }, [usedFrom(1, '203.0.113.7', ['192.0.2.1', '10.1.2.3'])])).toEqual([
    ['1', 'used from 192.0.2.1, 203.0.113.7, outside 10.0.0.0/8'],
  ]);
});

test('unscoped finds organization keys in use that one project key could replace', () => {
  const one = [{ id: 'quiet-river-123', name: 'shop' }];
  const two = [...one, { id: 'late-lake-456', name: 'blog' }];
  const used = [
    makeKey(1, { use: usedDaysAgo(1), name: 'deploy of Shop' }),
    makeKey(2, { use: usedDaysAgo(1), name: 'workshop' }),
    makeKey(3, { use: usedDaysAgo(1), name: 'shop and blog' }),
    makeKey(4, { name: 'shop' }),
    makeKey(6, { use: usedDaysAgo(1), name: 'workshop of the shop' }),
    makeKey(5, { use: usedDaysAgo(1), name: 'shop', kind: 'project', projectId: 'quiet-river-123' }),
    makeKey(7, { use: usedDaysAgo(1), name: 'shopping' }),
    makeKey(8, { use: usedDaysAgo(1), name: 'ci_quiet-river-123' }),
  ];
  const findings = (projects: typeof one | null) => findAll(policy({ unscoped: true }), makeFacts(used, { projects }));
  const reason = 'it has all permissions of its organization, and its name contains only project quiet-river-123';
  expect(findings(two).map((each) => [each.number, each.reason])).toEqual([
    ['1', reason],
    ['6', reason],
    ['8', reason],
  ]);
  expect(findings(one).map(({ number }) => number)).toEqual(['1', '2', '3', '6', '7', '8']);
  expect(findings(null)).toEqual([]);
  const unnamed = [{ id: 'odd-oak-789', name: '' }, ...one];
  const dash = makeKey(1, { use: usedDaysAgo(1), name: '- shop' });
  expect(findAll(policy({ unscoped: true }), makeFacts([dash], { projects: unnamed }))).toHaveLength(1);
  expect(findAll(policy({ unscoped: true }), makeFacts([dash]))).toEqual([]);
});

test('each preset matches its standard: idle or never used for the limit, or older than an age', () => {
  const idle = (days: number) => [makeKey(1, { use: usedDaysAgo(days) }), makeKey(2, { createdAt: daysAgo(days) })];
  expect(numbers({ preset: 'cis-controls-5.3' }, idle(45))).toEqual([]);
  expect(numbers({ preset: 'cis-controls-5.3' }, idle(46))).toEqual(['1', '2']);
  expect(numbers({ preset: 'pci-dss-8.2.6' }, idle(90))).toEqual([]);
  expect(numbers({ preset: 'pci-dss-8.2.6' }, idle(91))).toEqual(['1', '2']);
  expect(numbers({ preset: 'github-unused-365d' }, idle(366))).toEqual(['2']);
  expect(numbers({ preset: 'cis-aws-1.14' }, [makeKey(1, { createdAt: daysAgo(91), use: usedDaysAgo(1) })])).toEqual([
    '1',
  ]);
  expect(policy({ preset: 'cis-aws-1.14' }).rules[0]?.source).toMatch(/CIS Amazon Web Services Foundations/);
});

test('owners matches the current owner of a key', () => {
  const owned = [makeKey(1, { owner: 'ada@acme.example' }), makeKey(2, { owner: 'platform' })];
  expect(numbers({ ...old, match: { owners: ['platform'] } }, owned)).toEqual(['2']);
});

test.each([
  [{ all: [] }, /Too small/],
  [{ any: [{ ...old, ...unused }] }, /a condition is exactly one of/],
  [{ not: {} }, /a condition is exactly one of/],
  [{ ...old, preset: 'pci-dss-8.2.6' }, /exactly one of preset/],
  [{ used_outside: ['10.0.0.0/33'] }, /an address or a range/],
  [{ used_outside: ['10.1/16'] }, /an address or a range/],
  [{ used_outside: ['10'] }, /an address or a range/],
  [{ used_outside: ['010.0.0.0/8'] }, /an address or a range/],
  [{ used_outside: ['10.0.0.0/8'], action: 'revoke' }, /an address can be forged/],
  [{ all: [old, { unscoped: true }], action: 'rotate' }, /their action must be report or notify/],
  [{ ...old, mode: 'enforce' }, /mode: enforce requires action: revoke/],
  [{ ...old, notices: ['7d'] }, /notices require action: revoke/],
  [{ ...old, action: 'revoke', notices: ['7d', '1w'] }, /two notices have the same duration/],
  [{ all: [old, unused], action: 'revoke', even_in_use: true }, /does not apply to rules on inactivity/],
  [
    { any: [unused, { never_used_for: '1d' }], action: 'revoke', even_in_use: true },
    /does not apply to rules on inactivity/,
  ],
  [{ unused_for: '30d', action: 'revoke', even_in_use: true }, /does not apply to rules on inactivity/],
])('a rule that makes no sense is refused: %j', (rule, message) => {
  expect(() => policy(rule)).toThrow(message);
});

test('even_in_use applies to a rule that may flag a key in use', () => {
  for (const condition of [{ any: [unused, old] }, { unused_for: '29d' }, { not: unused }])
    expect(policy({ ...condition, action: 'revoke', even_in_use: true }).rules).toHaveLength(1);
});

test('expiry conditions find keys that never expire, that expire soon, and that have expired', () => {
  const some = [
    makeKey(1),
    makeKey(2, { expiresAt: daysAgo(-10) }),
    makeKey(3, { expiresAt: daysAgo(-30) }),
    makeKey(4, { expiresAt: daysAgo(2) }),
  ];
  expect(found({ without_expiry: true }, some)).toEqual([['1', 'it does not expire']]);
  expect(found({ expires_within: '14d' }, some)).toEqual([
    ['2', 'expires in 10 days, less than 14d'],
    ['4', 'expired 2 days ago'],
  ]);
});

test('a credential that expires after the year 9999 does not expire soon', () => {
  const match = { kinds: ['branch_credential' as const] };
  const some = [makeKey(1, { kind: 'branch_credential', expiresAt: '10000-01-01T00:00:00Z' })];
  expect(numbers({ match, expires_within: '14d' }, some)).toEqual([]);
  expect(numbers({ match, not: { expires_within: '14d' } }, some)).toEqual(['1']);
});

test('whether a credential expires whose kind has no expiry upstream is unknown, also for the opposite conditions', () => {
  const match = { kinds: ['role' as const, 'branch_credential' as const] };
  const some = [makeKey(1, { kind: 'role' }), makeKey(2, { kind: 'branch_credential' })];
  expect(numbers({ match, without_expiry: true }, some)).toEqual(['2']);
  expect(numbers({ match, not: { without_expiry: true } }, some)).toEqual([]);
  expect(numbers({ match, not: { expires_within: '14d' } }, some)).toEqual(['2']);
});

test('a credential kind without upstream use data is never judged unused', () => {
  const match = { kinds: ['role' as const] };
  const rule = policySchema.parse({
    rules: [{ name: 'r', match, action: 'report', any: [unused, { never_used_for: '1d' }] }],
  });
  const role = makeKey(1, { kind: 'role', use: { state: 'unknown' } });
  expect(evaluate(rule, makeFacts([role]))).toEqual([]);
  expect(numbers({ match, ...old }, [role])).toEqual(['1']);
});
