import { toMs } from '../wire/index.ts';
import { daysInWords } from './duration.ts';
import type { Facts, KeyFacts, Use } from './facts.ts';
import type { Policy, Rule } from './schema.ts';

/** Rule R holds for key K: the value that was found, the limit that it passed, the evidence, and the sentence that says so. */
export interface Finding {
  rule: string;
  action: Rule['action'];
  key: KeyFacts;
  limit: string;
  evidence: Evidence;
  reason: string;
}

/** The facts that a finding was judged on, as JSON keeps them. Only what upstream said: no time that passes changes it. */
export type Evidence =
  | { condition: 'unused_for' | 'never_used_for'; created_at: string; use: Use }
  | {
      condition: 'more_than';
      created_at: string;
      use: Use;
      per: 'organization' | 'creator';
      count: number;
      rank: number;
    };

/**
 * Judges every key by every rule. Pure: the same facts, policy and times give the same findings in the same order, whatever
 * the order of the keys. Keys of a scope whose time is unknown are judged by nothing.
 */
export function evaluate(policy: Policy, facts: Facts): Finding[] {
  const nowByScope = new Map(facts.scopes.map((scope) => [scope.scope, scope.nowMs]));
  const judged = facts.keys.toSorted(byNumber).flatMap((key): Judged[] => {
    const nowMs = nowByScope.get(key.scope);
    if (nowMs === undefined || nowMs === null) return [];
    return [{ key, nowMs, createdMs: toMs(key.createdAt), lastUseMs: lastUseMs(key) }];
  });
  return policy.rules.flatMap((rule) =>
    judgeRule(
      rule,
      judged.filter(({ key }) => matches(rule, key)),
    ),
  );
}

/** A key with its times as numbers: each is compared many times. */
interface Judged {
  key: KeyFacts;
  nowMs: number;
  createdMs: number;
  lastUseMs: number;
}

function judgeRule(rule: Rule, judged: Judged[]): Finding[] {
  if (rule.more_than !== undefined) return judgeNumber(rule, rule.more_than, judged);
  return judged.flatMap((each) => judgeInactivity(rule, each) ?? []);
}

function matches({ match }: Rule, key: KeyFacts): boolean {
  if (match.kinds !== undefined && !match.kinds.includes(key.kind)) return false;
  return (
    match.organizations === undefined ||
    (key.organizationId !== null && match.organizations.includes(key.organizationId))
  );
}

function judgeInactivity(rule: Rule, { key, nowMs, createdMs, lastUseMs }: Judged): Finding | undefined {
  const { createdAt, use } = key;
  if (rule.unused_for !== undefined && use.state === 'used') {
    const idleMs = nowMs - lastUseMs;
    if (!(idleMs > rule.unused_for.ms)) return undefined;
    const reason = `last used ${daysInWords(idleMs)} ago, more than ${rule.unused_for.text}`;
    const evidence: Evidence = { condition: 'unused_for', created_at: createdAt, use };
    return { rule: rule.name, action: rule.action, key, limit: rule.unused_for.text, evidence, reason };
  }
  if (rule.never_used_for !== undefined && use.state === 'never') {
    const ageMs = nowMs - createdMs;
    if (!(ageMs > rule.never_used_for.ms)) return undefined;
    const reason = `never used in the ${daysInWords(ageMs)} since it was created, more than ${rule.never_used_for.text}`;
    const evidence: Evidence = { condition: 'never_used_for', created_at: createdAt, use };
    return { rule: rule.name, action: rule.action, key, limit: rule.never_used_for.text, evidence, reason };
  }
  return undefined;
}

/** Of a group that is over the number, the longest unused are over; a group with a use that is unknown is not judged. */
function judgeNumber(rule: Rule, { number, per }: NonNullable<Rule['more_than']>, judged: Judged[]): Finding[] {
  const groups = Map.groupBy(
    judged,
    ({ key }) => `${key.scope} ${per === 'organization' ? key.organizationId : key.creatorId}`,
  );
  return [...groups.values()].flatMap((group) => {
    if (group.length <= number || group.some(({ key }) => key.use.state === 'unknown')) return [];
    const ranked = group.toSorted(byUse);
    return ranked.slice(number).map(({ key }, index) => {
      const rank = number + index + 1;
      const reason = `number ${rank} by last use of ${group.length} keys of one ${per}, more than ${number}`;
      const { createdAt, use } = key;
      const evidence: Evidence = { condition: 'more_than', created_at: createdAt, use, per, count: group.length, rank };
      return { rule: rule.name, action: rule.action, key, limit: `${number} per ${per}`, evidence, reason };
    });
  });
}

/** Most recently used first, then the unknown, then the never used; among equals the younger, then the smaller number. */
export function mostRecentlyUsedFirst<T>(items: readonly T[], keyOf: (item: T) => KeyFacts): T[] {
  return items
    .map((item) => ({ item, key: keyOf(item) }))
    .map((each) => ({ ...each, createdMs: toMs(each.key.createdAt), lastUseMs: lastUseMs(each.key) }))
    .toSorted(byUse)
    .map(({ item }) => item);
}

type Ranked = Omit<Judged, 'nowMs'>;

function byUse(a: Ranked, b: Ranked): number {
  return b.lastUseMs - a.lastUseMs || b.createdMs - a.createdMs || byNumber(a.key, b.key);
}

function lastUseMs({ use }: KeyFacts): number {
  switch (use.state) {
    case 'used':
      return toMs(use.at);
    case 'unknown':
      return 1;
    case 'never':
      return 0;
    default:
      return use satisfies never;
  }
}

function byNumber(a: KeyFacts, b: KeyFacts): number {
  return Number(a.number) - Number(b.number);
}
