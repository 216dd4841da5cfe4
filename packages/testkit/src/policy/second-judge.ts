import type { Condition, Facts, KeyFacts, Policy, Rule } from '@keywarden/core/policy';
import { nowMs } from './facts.ts';

// The reference that tests compare the policy with. It looks at one key at a time, and is slow and plain.

/** A time in ms. */
export const msOf = (at: string) => Date.parse(at);

/** Returns whether a condition holds for a key; undefined if it is unknown. */
function holds(of: Condition, key: KeyFacts, keys: KeyFacts[]): boolean | undefined {
  const every = (parts: (boolean | undefined)[]) =>
    parts.includes(false) ? false : parts.includes(undefined) ? undefined : true;
  if (of.all) return every(of.all.map((part) => holds(part, key, keys)));
  if (of.any) {
    const denied = every(of.any.map((part) => negated(holds(part, key, keys))));
    return negated(denied);
  }
  if (of.not) return negated(holds(of.not, key, keys));
  if (of.older_than) return nowMs - msOf(key.createdAt) > of.older_than.ms;
  if (of.name_not_matching) return !key.name.startsWith('ci-');
  if (of.reviewed_out) return key.reviewedOut !== undefined;
  if (of.without_expiry) return key.expiresAt === undefined;
  if (of.expires_within) return key.expiresAt !== undefined && msOf(key.expiresAt) - nowMs <= of.expires_within.ms;
  if (of.creator_left) return key.creator === 'unknown' ? undefined : key.creator === 'left';
  if (of.more_than) return isOver(of.more_than, key, keys);
  if (key.use.state === 'unknown') return undefined;
  const ageMs = nowMs - msOf(key.createdAt);
  if (of.never_used_for) return key.use.state === 'never' && ageMs > of.never_used_for.ms;
  const limitMs = of.unused_for?.ms ?? Number.NaN;
  return key.use.state === 'used' && nowMs - msOf(key.use.at) > limitMs && ageMs > limitMs;
}

const negated = (value: boolean | undefined) => (value === undefined ? undefined : !value);

function isOver(
  { number, per }: NonNullable<Condition['more_than']>,
  key: KeyFacts,
  keys: KeyFacts[],
): boolean | undefined {
  const group = keys.filter(
    (each) => each.scope === key.scope && (per !== 'creator' || each.creatorId === key.creatorId),
  );
  if (group.length <= number) return false;
  if (group.some((each) => each.use.state === 'unknown')) return undefined;
  return group.filter((each) => isBefore(each, key)).length >= number;
}

function isBefore(a: KeyFacts, b: KeyFacts): boolean {
  const order = (key: KeyFacts) => [
    key.use.state === 'used' ? msOf(key.use.at) : 0,
    msOf(key.createdAt),
    -Number(key.number),
  ];
  const [left, right] = [order(a), order(b)];
  const at = left.findIndex((value, index) => value !== right[index]);
  return (left[at] ?? 0) > (right[at] ?? 0);
}

const isOnUse = (of: Condition): boolean =>
  [of.unused_for, of.never_used_for, of.more_than].some((each) => each !== undefined) ||
  [...(of.all ?? []), ...(of.any ?? []), ...(of.not ? [of.not] : [])].some(isOnUse);

const looksAt = ({ match: { kinds = ['personal', 'organization', 'project'] } }: Rule, { kind }: KeyFacts) =>
  kinds.includes(kind);

/** Returns the rules of a policy for a key. A signed review revokes a key of any kind, unless the policy has a rule about reviews for it. */
export function rulesOf({ rules }: Policy, key: KeyFacts): Rule[] {
  if (rules.some((rule) => rule.condition.reviewed_out && looksAt(rule, key))) return rules;
  return [
    ...rules,
    {
      name: 'access-review',
      match: { kinds: [key.kind] },
      condition: { reviewed_out: true },
      source: null,
      action: 'revoke',
      mode: 'plan',
      notices: [],
      even_in_use: true,
    },
  ];
}

/** Returns whether one rule alone may revoke a key. Each invariant is restated independently here. */
export function mayRevoke(rule: Rule, key: KeyFacts, { keys, scopes }: Facts): boolean {
  const scope = scopes.find((each) => each.scope === key.scope);
  const isSeenTwice =
    (!isOnUse(rule.condition) && rule.even_in_use) ||
    (scope?.priorListedAt != null && msOf(key.presentSince) <= msOf(scope.priorListedAt));
  const isExempt = key.exemptions.some(({ rules }) => rules === null || rules.includes(rule.name));
  const isIdle = key.use.state === 'never' || (key.use.state === 'used' && nowMs - msOf(key.use.at) > 30 * 86_400_000);
  const steps = key.announcements.find((each) => each.rule === rule.name)?.accepted ?? [];
  const isAnnounced = rule.notices.every((notice) =>
    steps.some(({ step, at }) => step === notice.text && msOf(at) + notice.ms <= nowMs),
  );
  const isIdleByRule = isCertainlyIdle(rule.condition);
  const among = keys.filter((each) => looksAt(rule, each));
  return (
    rule.action === 'revoke' &&
    looksAt(rule, key) &&
    holds(rule.condition, key, among) === true &&
    isSeenTwice &&
    !isExempt &&
    (isIdle || rule.even_in_use || isIdleByRule) &&
    isAnnounced
  );
}

function isCertainlyIdle(of: Condition): boolean {
  if (of.all) return of.all.some(isCertainlyIdle);
  if (of.any) return of.any.every(isCertainlyIdle);
  return of.never_used_for !== undefined || (of.unused_for?.ms ?? 0) >= 30 * 86_400_000;
}
