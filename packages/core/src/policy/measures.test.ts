import { daysAgo, makeKey, nowMs, usedDaysAgo } from '@keywarden/testkit/policy/facts';
import { expect, test } from 'vitest';
import type { KeyFacts } from './facts.ts';
import { assessor, type Measured } from './measures.ts';

test.each<[Measured, Partial<KeyFacts>, string]>([
  [{ of: 'idle', days: 90 }, { use: usedDaysAgo(91) }, 'yes: last used 91 days ago, more than 90d'],
  [{ of: 'idle', days: 90 }, {}, 'yes: never used in the 365 days since it was created, more than 90d'],
  [{ of: 'idle', days: 90 }, { use: usedDaysAgo(90) }, 'no'],
  [
    { of: 'idle', days: 90 },
    { use: { state: 'unknown', unobserved: { since: null } } },
    'unknown: its last use is unknown: no listing shows it for that time',
  ],
  [{ of: 'old', days: 90 }, { use: usedDaysAgo(1) }, 'yes: created 365 days ago, more than 90d'],
  [{ of: 'old', days: 365 }, {}, 'no'],
  [{ of: 'orphaned' }, { creator: 'left' }, 'yes: its creator Ada is no longer a member of the organization'],
  [{ of: 'orphaned' }, {}, 'no'],
  [{ of: 'orphaned' }, { creator: 'unknown' }, 'unknown: it is unknown whether its creator is still a member'],
  [{ of: 'expired' }, { expiresAt: daysAgo(2) }, 'yes: expired 2 days ago'],
  [{ of: 'expired' }, { expiresAt: daysAgo(-1) }, 'no'],
])('%j of a key with %j', (measured, change, expected) => {
  const assessment = assessor(measured, nowMs)(makeKey(1, change));
  const because = assessment.result === 'no' ? '' : `: ${assessment.because}`;
  expect(`${assessment.result}${because}`).toBe(expected);
});
