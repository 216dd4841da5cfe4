import { daysAgo, makeFacts, makeKey, usedDaysAgo } from '@keywarden/testkit/policy/facts';
import { expect, test } from 'vitest';
import { evaluate, findingsOf } from './evaluate.ts';
import { conditionInWords, explain, limitInWords } from './explain.ts';
import type { KeyFacts } from './facts.ts';
import { policySchema } from './schema.ts';

const used = { use: usedDaysAgo(100) };
const reviewedOut = { review: '7', by: 'ada', at: daysAgo(1), reason: 'not needed' };
const projects = [{ id: 'quiet-river', name: 'shop' }];

test.each<[object, Partial<KeyFacts>, string, string]>([
  [{ unused_for: '90d' }, used, 'last used 100 days ago, more than 90d', '90d'],
  [{ never_used_for: '30d' }, {}, 'never used in the 365 days since it was created, more than 30d', '30d'],
  [{ older_than: '1d' }, {}, 'created 365 days ago, more than 1d', '1d'],
  [
    { more_than: { number: 1, per: 'creator' } },
    {},
    'number 2 by last use of 2 keys of one creator, more than 1',
    '1 per creator',
  ],
  [
    { used_outside: ['10.0.0.0/8', '::1'] },
    used,
    'used from 203.0.113.7, outside 10.0.0.0/8, ::1',
    '10.0.0.0/8 or ::1',
  ],
  [
    { creator_left: true },
    { creator: 'left' },
    'its creator Ada is no longer a member of the organization',
    'a member',
  ],
  [{ without_expiry: true }, {}, 'it does not expire', 'an expiry'],
  [{ expires_within: '14d' }, { expiresAt: daysAgo(0) }, 'expired less than a day ago', '14d'],
  [{ expires_within: '14d' }, { expiresAt: daysAgo(-14) }, 'expires in 14 days, less than 14d', '14d'],
  [{ name_not_matching: ['ci-*', 'x'] }, {}, 'its name "key 1" does not match ci-* or x', 'ci-* or x'],
  [{ reviewed_out: true }, { reviewedOut }, 'access review 7 decided to revoke it, by ada: not needed', 'review 7'],
  [
    { unscoped: true },
    used,
    'it has all permissions of its organization, whose only project is quiet-river',
    'project quiet-river',
  ],
  [
    { all: [{ older_than: '1d' }, { unused_for: '9d' }] },
    used,
    'created 365 days ago, more than 1d; last used 100 days ago, more than 9d',
    '1d and 9d',
  ],
  [
    { any: [{ older_than: '1d' }, { unused_for: '9d' }] },
    used,
    'created 365 days ago, more than 1d; last used 100 days ago, more than 9d',
    '1d or 9d',
  ],
  [{ not: { unused_for: '9d' } }, {}, 'this condition does not hold: unused_for 9d', 'not (unused_for 9d)'],
])('a finding by %j says the value and the limit', (condition, change, reason, limit) => {
  const policy = policySchema.parse({
    rules: [{ name: 'r', match: { name: 'key *' }, action: 'report', ...condition }],
  });
  const facts = makeFacts([makeKey(1, change), makeKey(2, { use: usedDaysAgo(0) })], { projects });
  const [finding] = findingsOf({ judgements: evaluate(policy, facts) }).filter(({ key }) => key.number === '1');
  expect([finding && explain(finding), finding && limitInWords(finding.evidence)]).toEqual([reason, limit]);
});

test('a condition in words has each setting, with parentheses around parts of several conditions', () => {
  const [a, b] = [{ older_than: '9d' }, { unused_for: '9d' }];
  const leaves = [
    b,
    { never_used_for: '9d' },
    a,
    { more_than: { number: 2, per: 'project' } },
    { used_outside: ['10.0.0.0/8', '::1'] },
    { creator_left: true },
    { without_expiry: true },
    { expires_within: '9d' },
    { name_not_matching: ['a', 'b*'] },
    { reviewed_out: true },
    { unscoped: true },
  ];
  const words = (condition: object) => {
    const { rules } = policySchema.parse({ rules: [{ name: 'r', action: 'report', ...condition }] });
    return rules.map((rule) => conditionInWords(rule.condition)).join('');
  };
  expect(words({ any: leaves }).split(' or ')).toEqual([
    'unused_for 9d',
    'never_used_for 9d',
    'older_than 9d',
    'more_than 2 per project',
    'used_outside 10.0.0.0/8, ::1',
    'creator_left',
    'without_expiry',
    'expires_within 9d',
    'name_not_matching a, b*',
    'reviewed_out',
    'unscoped',
  ]);
  expect(words({ all: [{ any: [a] }, { any: [a, b] }, { not: b }] })).toBe(
    'older_than 9d and (older_than 9d or unused_for 9d) and not (unused_for 9d)',
  );
});
