import { makeFacts, makeKey, nowMs } from '@keywarden/testkit/policy/facts';
import { expect, test } from 'vitest';
import { evaluate, type Finding, policySchema } from '../policy/index.ts';
import { type OpeningFacts, openingLimits } from './opening.ts';

const hoursAgo = (hours: number) => new Date(nowMs - hours * 3_600_000).toISOString();

const policyWith = (settings: object = {}) =>
  policySchema.parse({
    enforcement: { canary_wait: '6h' },
    rules: ['old', 'ancient'].map((name, index) => ({
      name,
      older_than: `${90 + index}d`,
      action: 'rotate',
      rotation: { sink: 'files' },
    })),
    ...settings,
  });

/** Returns the findings of a rule about these keys. */
function findingsOf(keys: ReturnType<typeof makeKey>[], rule = 'old'): Finding[] {
  return evaluate(policyWith(), makeFacts(keys))
    .flatMap(({ findings }) => findings)
    .filter((finding) => finding.rule.name === rule);
}

const factsOf = (change: Partial<OpeningFacts> = {}): OpeningFacts => ({
  open: 0,
  failures: new Map(),
  canaryOf: () => hoursAgo(7),
  ...change,
});

/** Opens what the limits allow of these findings, in one pass. Returns the numbers of the keys. */
function opened(findings: Finding[], facts: Partial<OpeningFacts> = {}, settings: object = {}): string[] {
  const limits = openingLimits(policyWith(settings), factsOf(facts));
  return findings
    .filter((finding) => {
      const isAllowed = limits.whyNot(finding) === null;
      if (isAllowed) limits.take(finding);
      return isAllowed;
    })
    .map(({ key }) => key.number);
}

const three = [makeKey(1), makeKey(2), makeKey(3)];

test('at most open_rotations rotations are open at once, with those that are open already', () => {
  const quotas = { open_rotations: 3 };
  expect(opened(findingsOf(three), { open: 1 }, { quotas })).toEqual(['1', '2']);
  expect(opened(findingsOf(three), { open: 3 }, { quotas })).toEqual([]);
  expect(opened(findingsOf(three), { open: 99 })).toEqual(['1']);
});

test('R6: one key of a rule and scope goes first, and the others once its successor was delivered for canary_wait', () => {
  const none = { canaryOf: () => undefined };
  expect(opened(findingsOf(three), none)).toEqual(['1']);
  expect(opened(findingsOf(three), { canaryOf: () => null })).toEqual([]);
  expect(opened(findingsOf(three), { canaryOf: () => hoursAgo(5) })).toEqual([]);
  expect(opened(findingsOf(three), { canaryOf: () => hoursAgo(6) })).toEqual(['1', '2', '3']);
  const elsewhere = makeKey(4, { scope: '1/organization:other', organizationId: 'other' });
  expect(opened([...findingsOf([...three, elsewhere]), ...findingsOf(three, 'ancient')], none)).toEqual([
    '1',
    '4',
    '1',
  ]);
});

test('a key whose last rotation failed rests for a day, and one that a person gave up waits for a person', () => {
  const failed = (hours: number, givenUpBy: string | null = null) => ({
    failures: new Map([['2', { at: hoursAgo(hours), givenUpBy }]]),
  });
  expect(opened(findingsOf(three), failed(23))).toEqual(['1', '3']);
  expect(opened(findingsOf(three), failed(24))).toEqual(['1', '2', '3']);
  expect(opened(findingsOf(three), failed(1000, 'ada'))).toEqual(['1', '3']);
});

test('a refusal says what limits the rotation, and whether another pass may open it', () => {
  const refusal = (facts: Partial<OpeningFacts>, settings: object = {}) =>
    findingsOf([makeKey(2)]).map((finding) => openingLimits(policyWith(settings), factsOf(facts)).whyNot(finding))[0];
  const failed = (givenUpBy: string | null) => ({ failures: new Map([['2', { at: hoursAgo(1), givenUpBy }]]) });
  const whyNot = 'ada gave up its last rotation; run keywarden rotate 1002 to start another';
  expect(refusal(failed('ada'))).toEqual({ whyNot, isTransient: false });
  expect([
    refusal(failed(null)),
    refusal({ open: 1 }, { quotas: { open_rotations: 1 } }),
    refusal({ canaryOf: () => null }),
    refusal({ canaryOf: () => hoursAgo(1) }),
  ]).toEqual(
    [
      'its last rotation failed within a day',
      'the policy allows 1 open rotation at once',
      ...[1, 2].map(() => 'one key of its scope goes first, the others 6h after its successor was delivered'),
    ].map((why) => ({ whyNot: why, isTransient: true })),
  );
});
