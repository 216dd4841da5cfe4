import { daysAgo, makeKey, nowMs } from '@keywarden/testkit/policy/facts';
import { expect, test } from 'vitest';
import { backtest, type KeyHistory } from './backtest.ts';
import type { KeyFacts } from './facts.ts';
import { policySchema } from './schema.ts';

const period = { fromMs: nowMs - 20 * 86_400_000, toMs: nowMs };
const exempt = { number: '1', rules: null, reason: 'needed', grantedBy: 'ada', until: daysAgo(-9) };
const scope = '1/organization:acme';
const daily = Array.from({ length: 21 }, (_, index) => daysAgo(20 - index));

/** Returns the history of a key with uses so many days ago. */
const historyOf = (
  number: number,
  uses: number[],
  { key, ...change }: Partial<Omit<KeyHistory, 'key'>> & { key?: Partial<KeyFacts> } = {},
): KeyHistory => ({
  key: makeKey(number, key),
  goneAt: null,
  creatorLeftAt: null,
  uses: uses.map((days) => ({ at: daysAgo(days), from: null })),
  ...change,
});
const replay = (rule: object, keys: KeyHistory[], listings = new Map([[scope, daily]])) =>
  backtest(
    policySchema.parse({ quotas: { per_run: 1 }, rules: [{ name: 'r', action: 'revoke', ...rule }] }),
    { keys: [...keys, historyOf(99, [21, 1])], listings, ownKeys: [{ connection: 'main', keyId: 'own' }] },
    period,
  );

test('a replay revokes each key on the first day that flags it, and shows the first use after that', () => {
  const { revoked, unjudged, unknown, ...between } = replay({ unused_for: '50d', notices: ['15d'] }, [
    historyOf(1, [70, 60, 5, 4], { key: { exemptions: [exempt] } }),
    historyOf(2, [65], { goneAt: daysAgo(12) }),
    historyOf(3, [65], { goneAt: daysAgo(14) }),
    historyOf(4, [60], { key: { firstSeenAt: daysAgo(8), presentSince: daysAgo(1) } }),
    historyOf(5, [60], { key: { id: 'own' } }),
  ]);
  expect(between).toEqual({ from: daysAgo(20), to: daysAgo(0) });
  expect(unjudged).toEqual([]);
  expect(unknown).toBe(0);
  const reason = (days: number) => [{ rule: 'r', reason: `last used ${days} days ago, more than 50d` }];
  expect(revoked.map(({ key, ...each }) => ({ number: key.number, ...each }))).toEqual([
    { number: '2', at: daysAgo(14), findings: reason(51), usedAfter: null, goneAt: daysAgo(12), isUseUnknown: false },
    { number: '1', at: daysAgo(9), findings: reason(51), usedAfter: daysAgo(5), goneAt: null, isUseUnknown: false },
    { number: '4', at: daysAgo(8), findings: reason(52), usedAfter: null, goneAt: null, isUseUnknown: false },
  ]);
});

test('a replay knows of a use and of a creator who left only from their own times on', () => {
  const left = replay({ creator_left: true, even_in_use: true }, [
    historyOf(1, [], { creatorLeftAt: daysAgo(3) }),
    historyOf(2, [], { key: { creator: 'left' } }),
  ]);
  expect(left.revoked.map(({ key, at }) => [key.number, at])).toEqual([['1', daysAgo(3)]]);
  const never = replay({ never_used_for: '30d' }, [historyOf(1, [18]), historyOf(2, [20])]);
  expect(never.revoked.map(({ key, at, usedAfter }) => [key.number, at, usedAfter])).toEqual([
    ['1', daysAgo(20), daysAgo(18)],
  ]);
});

test('a replay judges no day without a complete listing of the 24 hours before, and counts these days', () => {
  const elsewhere = { scope: '1/organization:other', organizationId: 'other' };
  const once = new Map([
    [scope, daily],
    ['1/organization:other', [daysAgo(12.5), daysAgo(9), daysAgo(-1)]],
  ]);
  const keys = [historyOf(1, [62], { key: elsewhere }), historyOf(2, [1], { key: elsewhere })];
  const { revoked, unjudged } = replay({ unused_for: '50d' }, keys, once);
  expect(revoked.map(({ key, at }) => [key.number, at])).toEqual([['1', daysAgo(9)]]);
  expect(unjudged).toEqual([{ scope: '1/organization:other', days: 19 }]);
});

test('a replay revokes no key whose use, creation or creator is unknown, and counts those that a rule may flag', () => {
  const use = { state: 'unknown' } as const;
  const unused = replay({ unused_for: '50d' }, [historyOf(1, [65], { key: { use } }), historyOf(2, [65])]);
  expect(unused).toMatchObject({ revoked: [{ key: { number: '2' } }], unknown: 1 });
  const old = { older_than: '50d', even_in_use: true };
  const ofAge = replay(old, [
    historyOf(1, [65], { key: { use } }),
    historyOf(2, [], { key: { isCreationUnknown: true } }),
  ]);
  expect(ofAge.revoked.find(({ key }) => key.number === '1')).toMatchObject({ usedAfter: null, isUseUnknown: true });
  expect(ofAge.revoked.map(({ key }) => key.number)).not.toContain('2');
  expect(ofAge.unknown).toBe(1);
  const left = replay({ not: { creator_left: true }, even_in_use: true }, [
    historyOf(1, [], { key: { creator: 'unknown' } }),
  ]);
  expect(left.revoked.map(({ key }) => key.number)).toEqual(['99']);
});
