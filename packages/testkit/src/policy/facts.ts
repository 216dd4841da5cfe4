import type { Facts, KeyFacts, Policy, ScopeFacts } from '@keywarden/core/policy';
import { evaluate, explain } from '@keywarden/core/policy';

const now = '2026-06-01T00:00:00Z';
export const nowMs = Date.parse(now);

/** Returns an instant this many days before the tests' current time. */
export function daysAgo(days: number): string {
  return new Date(nowMs - days * 86_400_000).toISOString();
}

/** Returns a year-old key of organization `acme` that was never used, with the given changes. */
export function makeKey(number: number, change: Partial<KeyFacts> = {}): KeyFacts {
  return {
    number: String(number),
    scope: '1/organization:acme',
    id: String(1000 + number),
    kind: 'organization',
    name: `key ${number}`,
    organizationId: 'acme',
    projectId: null,
    creatorId: 'ada',
    creatorName: 'Ada',
    creator: 'member',
    owner: 'ada',
    createdAt: daysAgo(365),
    use: { state: 'never' },
    presentSince: daysAgo(100),
    firstSeenAt: daysAgo(100),
    exemptions: [],
    announcements: [],
    isAcknowledged: false,
    hasFailedLately: false,
    ...change,
  };
}

export function usedDaysAgo(days: number): KeyFacts['use'] {
  return { state: 'used', at: daysAgo(days), from: '203.0.113.7' };
}

/** Returns facts about keys. A connection whose own key is 1 has just listed their scopes. */
export function makeFacts(
  keys: KeyFacts[],
  change: Partial<ScopeFacts> = {},
  ownKeys = [{ connection: 'main', keyId: '1' }],
): Facts {
  const scopes = [...new Set(keys.map((key) => key.scope))].map((scope) => ({
    scope,
    listedAt: now,
    priorListedAt: daysAgo(1 / 96),
    hourPriorListedAt: daysAgo(1 / 24),
    nowMs,
    unknownOwnKey: [],
    automatic: [],
    usesInFlight: 0,
    missing: 0,
    goneLately: 0,
    unseenMembers: 0,
    ...change,
  }));
  return { keys, scopes, ownKeys, revokedLastDay: 0 };
}

/** Returns the findings of the rules by key: the rule, the reason as text and the evidence. */
export function findAll(policy: Policy, facts: Facts) {
  return evaluate(policy, facts).flatMap(({ findings }) =>
    findings.map((finding) => ({
      number: finding.key.number,
      rule: finding.rule.name,
      reason: explain(finding),
      evidence: finding.evidence,
    })),
  );
}
