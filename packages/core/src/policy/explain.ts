import { countOf, daysInWords, toMs } from '../values/index.ts';
import { byLeaf, type Condition } from './condition-schema.ts';
import type { Evidence, Finding } from './finding.ts';

/** Returns why a rule holds for a key as text: the value, and the limit that it exceeded. */
export function explain({ evidence, key, nowMs }: Finding): string {
  return inWords(evidence, { nowMs, creatorName: key.creatorName });
}

/** Returns evidence as text. */
export function inWords(evidence: Evidence, context: { nowMs: number; creatorName: string | null }): string {
  const since = (at: string) => daysInWords(context.nowMs - toMs(at));
  switch (evidence.condition) {
    case 'unused_for':
      return `last used ${since(evidence.last_used_at)} ago, more than ${evidence.limit}`;
    case 'never_used_for':
      return `never used in the ${since(evidence.created_at)} since it was created, more than ${evidence.limit}`;
    case 'older_than':
      return `created ${since(evidence.created_at)} ago, more than ${evidence.limit}`;
    case 'without_expiry':
      return 'it does not expire';
    case 'expires_within':
      return toMs(evidence.expires_at) <= context.nowMs
        ? `expired ${since(evidence.expires_at)} ago`
        : `expires in ${daysInWords(toMs(evidence.expires_at) - context.nowMs)}, less than ${evidence.limit}`;
    case 'more_than':
      return `number ${evidence.rank} by last use of ${countOf(evidence.count, 'key')} of one ${evidence.per}, more than ${evidence.limit}`;
    case 'used_outside':
      return `used from ${evidence.addresses.join(', ')}, outside ${evidence.limit.join(', ')}`;
    case 'creator_left':
      return `its creator ${context.creatorName ?? evidence.creator_id} is no longer a member of the organization`;
    case 'reviewed_out':
      return `access review ${evidence.review} decided to revoke it, by ${evidence.by}: ${evidence.reason}`;
    case 'name_not_matching':
      return `its name "${evidence.name}" does not match ${evidence.limit.join(' or ')}`;
    case 'unscoped':
      return evidence.by === 'name'
        ? `it has all permissions of its organization, and its name contains only project ${evidence.project_id}`
        : `it has all permissions of its organization, whose only project is ${evidence.project_id}`;
    case 'all':
    case 'any':
      return evidence.of.map((part) => inWords(part, context)).join('; ');
    case 'not':
      return `this condition does not hold: ${evidence.of}`;
    default:
      return evidence satisfies never;
  }
}

/** Returns a condition as text on one line, in the words of its settings. */
export function conditionInWords(condition: Condition): string {
  if (condition.all !== undefined) return condition.all.map(partInWords).join(' and ');
  if (condition.any !== undefined) return condition.any.map(partInWords).join(' or ');
  if (condition.not !== undefined) return `not (${conditionInWords(condition.not)})`;
  return byLeaf(condition, {
    unused_for: ({ text }) => `unused_for ${text}`,
    never_used_for: ({ text }) => `never_used_for ${text}`,
    older_than: ({ text }) => `older_than ${text}`,
    more_than: ({ number, per }) => `more_than ${number} per ${per}`,
    used_outside: (networks) => `used_outside ${networks.join(', ')}`,
    creator_left: () => 'creator_left',
    without_expiry: () => 'without_expiry',
    expires_within: ({ text }) => `expires_within ${text}`,
    name_not_matching: (patterns) => `name_not_matching ${patterns.join(', ')}`,
    reviewed_out: () => 'reviewed_out',
    unscoped: () => 'unscoped',
  });
}

/** Returns a part of a condition. Parentheses tell apart conditions of the same parts: announcements and approvals are about one of them. */
function partInWords(part: Condition): string {
  const { length } = part.all ?? part.any ?? [];
  return length > 1 ? `(${conditionInWords(part)})` : conditionInWords(part);
}

/** Returns the limit of a finding for a table. */
export function limitInWords(evidence: Evidence): string {
  switch (evidence.condition) {
    case 'more_than':
      return `${evidence.limit} per ${evidence.per}`;
    case 'used_outside':
    case 'name_not_matching':
      return evidence.limit.join(' or ');
    case 'without_expiry':
      return 'an expiry';
    case 'creator_left':
      return 'a member';
    case 'reviewed_out':
      return `review ${evidence.review}`;
    case 'unscoped':
      return `project ${evidence.project_id}`;
    case 'all':
    case 'any':
      return evidence.of.map(limitInWords).join(evidence.condition === 'all' ? ' and ' : ' or ');
    case 'not':
      return `not (${evidence.of})`;
    default:
      return evidence.limit;
  }
}
