import { findAll, makeFacts, makeKey, usedDaysAgo } from '@keywarden/testkit/policy/facts';
import { expect, test } from 'vitest';
import type { KeyFacts, Lineage } from './facts.ts';
import { judge } from './plan.ts';
import { policySchema } from './schema.ts';

// T4: Keywarden mints the successors of a rotation, and they count as the keys of the person who created the first key.

const policy = (rule: object, change: object = {}) =>
  policySchema.parse({ rules: [{ name: 'r', action: 'report', ...rule }], ...change });
const flagged = (rule: object, keys: KeyFacts[]) => findAll(policy(rule), makeFacts(keys)).map(({ number }) => number);
const lineageOf = (change: Partial<Lineage> = {}): Lineage => ({
  number: '1',
  creatorId: 'ada',
  name: 'ci-a',
  rotation: null,
  ...change,
});

test('T4: the old key and the successor of an open rotation count once towards more_than', () => {
  const keys = (isRotating: boolean) => [
    ...(['old', 'successor'] as const).map((role, index) =>
      makeKey(index + 1, {
        use: usedDaysAgo(2 - index),
        ...(isRotating ? { lineage: lineageOf({ rotation: { id: 'abcdefgh', role } }) } : {}),
      }),
    ),
    makeKey(3, { use: usedDaysAgo(3) }),
  ];
  const rule = { more_than: { number: 2, per: 'organization' }, action: 'revoke', even_in_use: true };
  expect(flagged(rule, keys(true))).toEqual([]);
  expect(flagged(rule, keys(false))).toEqual(['3']);
});

test('T4: a successor is judged by the name of its lineage, without what a rotation adds to it', () => {
  const successor = { name: 'ci-a kw-abcdefgh-1' };
  const rule = { name_not_matching: ['ci-a'] };
  expect(flagged(rule, [makeKey(1, { ...successor, lineage: lineageOf() })])).toEqual([]);
  expect(flagged(rule, [makeKey(1, successor)])).toEqual(['1']);
  const named = { older_than: '1d', match: { name: 'ci-a' } };
  expect(flagged(named, [makeKey(1, { ...successor, lineage: lineageOf() }), makeKey(2, successor)])).toEqual(['1']);
});

test('T4: a rule on creators matches a successor by the creator of its lineage, not by the account that minted it', () => {
  const successor = makeKey(1, { creatorId: 'keywarden', lineage: lineageOf() });
  const matched = (creator: string) => flagged({ older_than: '1d', match: { creators: [creator] } }, [successor]);
  expect(matched('ada')).toEqual(['1']);
  expect(matched('keywarden')).toEqual([]);
});

test('T4: the quota per_creator counts successors as keys of their lineage’s creator', () => {
  const keys = [1, 2].map((number) =>
    makeKey(number, { creatorId: `minter-${number}`, lineage: lineageOf({ number: String(number) }) }),
  );
  const rule = { never_used_for: '30d', action: 'revoke' };
  const facts = makeFacts([...keys, makeKey(9, { use: usedDaysAgo(1) })]);
  const { verdicts } = judge(policy(rule, { quotas: { per_creator: 1 } }), facts);
  expect(verdicts.map(({ held }) => held?.kind ?? null)).toEqual([null, 'over_quota']);
});

test('T4: more_than per creator counts a successor as a key of its lineage’s creator', () => {
  const keys = [
    makeKey(1, { use: usedDaysAgo(1) }),
    makeKey(2, { use: usedDaysAgo(2), creatorId: 'keywarden', lineage: lineageOf() }),
    makeKey(3, { use: usedDaysAgo(3), creatorId: 'keywarden' }),
  ];
  expect(flagged({ more_than: { number: 1, per: 'creator' } }, keys)).toEqual(['2']);
});
