import { toMs } from '../wire/index.ts';
import { type Judged, judgeKey, type KeyEvidence } from './conditions.ts';
import type { Facts, KeyFacts, Use } from './facts.ts';
import { matchesGlob } from './glob.ts';
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

/** The facts that a finding was judged on, as JSON keeps them. */
export type Evidence =
  | KeyEvidence
  | {
      condition: 'more_than';
      created_at: string;
      use: Use;
      per: 'organization' | 'creator' | 'project';
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

function judgeRule(rule: Rule, judged: Judged[]): Finding[] {
  if (rule.more_than !== undefined) return judgeNumber(rule, rule.more_than, judged);
  return judged.flatMap((each) => {
    const held = judgeKey(rule, each);
    return held === undefined ? [] : [{ rule: rule.name, action: rule.action, key: each.key, ...held }];
  });
}

function matches({ match }: Rule, key: KeyFacts): boolean {
  const isIn = (wanted: string[] | undefined, value: string | null) =>
    wanted === undefined || (value !== null && wanted.includes(value));
  return (
    isIn(match.kinds, key.kind) &&
    isIn(match.organizations, key.organizationId) &&
    isIn(match.projects, key.projectId) &&
    isIn(match.creators, key.creatorId) &&
    (match.name === undefined || matchesGlob(match.name, key.name))
  );
}

/** Of a group that is over the number, the longest unused are over; a group with a use that is unknown is not judged. */
function judgeNumber(rule: Rule, { number, per }: NonNullable<Rule['more_than']>, judged: Judged[]): Finding[] {
  const groupOf = { organization: 'organizationId', creator: 'creatorId', project: 'projectId' } as const;
  // A key of no project belongs to no project's number.
  const counted = judged.filter(({ key }) => key[groupOf[per]] !== null || per !== 'project');
  const groups = Map.groupBy(counted, ({ key }) => `${key.scope} ${key[groupOf[per]]}`);
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
