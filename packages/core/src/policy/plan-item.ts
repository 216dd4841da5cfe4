import { sha256 } from '../values/json.ts';
import type { KeyFacts } from './facts.ts';
import type { Evidence, Finding } from './finding.ts';
import type { Hold, Verdict } from './holds.ts';
import type { Action } from './schema.ts';

/** Evidence without ranks. Ranks change by the minute, and each change would make another plan. */
type PlannedEvidence =
  | Exclude<Evidence, { condition: 'more_than' | 'all' | 'any' }>
  | Omit<Extract<Evidence, { condition: 'more_than' }>, 'rank'>
  | { condition: 'all' | 'any'; of: PlannedEvidence[] };

interface PlannedFinding {
  evidence: PlannedEvidence;
  rule: string;
}

export interface PlanItem {
  action: Action;
  findings: PlannedFinding[];
  /** Rules that hold but do not allow the revocation, while others do; absent if there are none. */
  kept?: { rule: string; why: Hold }[];
  key: ReturnType<typeof toPlannedKey>;
}

/** A key to revoke. `sha256` is the hash of what a person approves of it: the key, the action, and the reason by each rule. */
export interface ApprovedItem extends PlanItem {
  sha256: string;
}

/** A key with the findings that a plan shows. */
export type ShownKey = Pick<Verdict, 'key' | 'findings'> & Partial<Pick<Verdict, 'kept'>>;
const strength: Record<Action, number> = { report: 0, notify: 1, rotate: 2, revoke: 3 };

/** Returns a key with the findings that it is revoked for, as plans contain it. */
export function toItem({ key, findings, kept = [] }: ShownKey): PlanItem {
  let action = findings[0]?.rule.action ?? 'revoke';
  for (const { rule } of findings) if (strength[rule.action] > strength[action]) action = rule.action;
  const planned = findings.map(toPlanned);
  if (kept.length === 0) return { action, findings: planned, key: toPlannedKey(key) };
  const others = kept.map(({ finding, hold }) => ({ rule: finding.rule.name, why: hold }));
  return { action, findings: planned, kept: others, key: toPlannedKey(key) };
}

function toPlanned({ rule, evidence }: Finding): PlannedFinding {
  return { evidence: withoutRank(evidence), rule: rule.name };
}

function withoutRank(evidence: Evidence): PlannedEvidence {
  if (evidence.condition === 'all' || evidence.condition === 'any')
    return { condition: evidence.condition, of: evidence.of.map(withoutRank) };
  if (evidence.condition !== 'more_than') return evidence;
  const { condition, count, limit, per } = evidence;
  return { condition, count, limit, per };
}

/**
 * Returns a key, or another credential, as a plan names it: enough for a person to recognize it, and no secret. `number` is the store's own number; `branch_id`
 * is absent if the credential belongs to no branch.
 */
function toPlannedKey(key: KeyFacts) {
  const { number, scope, id, kind, name, owner } = key;
  return {
    ...(key.branchId === undefined ? {} : { branch_id: key.branchId }),
    created_at: key.createdAt,
    creator_id: key.creatorId,
    creator_name: key.creatorName,
    id,
    kind,
    name,
    number,
    organization_id: key.organizationId,
    owner,
    project_id: key.projectId,
    scope,
  };
}

/** Returns evidence without the number of keys in a group. That changes with every revocation, so it is no part of a reason. */
function withoutCount(evidence: PlannedEvidence): object {
  if (evidence.condition === 'all' || evidence.condition === 'any')
    return { ...evidence, of: evidence.of.map(withoutCount) };
  if (evidence.condition !== 'more_than') return evidence;
  const { count: _, ...reason } = evidence;
  return reason;
}

/**
 * Returns the hash of what a person approves of a key: the key, the action, and the reason by each rule. Objects have their names in order, so equal
 * content is equal text.
 */
export function hashItem({ action, findings, key: { number, scope, id, kind } }: PlanItem): string {
  const reasons = findings.map((finding) => ({ ...finding, evidence: withoutCount(finding.evidence) }));
  return sha256(JSON.stringify({ action, findings: reasons, key: { id, kind, number, scope } }));
}

/** Returns whether a finding is what a plan's reader approved: the same rule for the same reason. */
export function isSameReason(planned: PlannedFinding, finding: Finding): boolean {
  const reasonOf = (evidence: PlannedEvidence) => JSON.stringify(withoutCount(evidence));
  return planned.rule === finding.rule.name && reasonOf(planned.evidence) === reasonOf(withoutRank(finding.evidence));
}
