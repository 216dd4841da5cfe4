import { createHash } from 'node:crypto';
import { type Evidence, evaluate, type Finding } from './evaluate.ts';
import type { Facts, KeyFacts } from './facts.ts';
import { guard, type Verdict } from './guard.ts';
import type { KeyKind, Policy } from './schema.ts';

/** A key as a plan names it: enough for a person to know it, and no secret. `number` is the store's own. */
interface PlannedKey {
  number: string;
  scope: string;
  id: string;
  kind: KeyKind;
  name: string;
  organization_id: string | null;
  project_id: string | null;
  creator_id: string;
  creator_name: string | null;
  created_at: string;
}

/**
 * The evidence as far as it stays the same while the finding does: among keys of one group uses and ranks change by the minute,
 * and each change would be another plan. Findings are stored with all of it.
 */
type PlannedEvidence =
  | Exclude<Evidence, { condition: 'more_than' }>
  | Omit<Extract<Evidence, { condition: 'more_than' }>, 'use' | 'rank'>;

export interface PlanItem {
  action: 'revoke';
  key: PlannedKey;
  findings: PlannedFinding[];
}

interface PlannedFinding {
  rule: string;
  limit: string;
  evidence: PlannedEvidence;
}

/** Findings turned into intended actions. Holds only facts and decisions: the same facts give the same bytes and the same hash. */
export interface PlanDocument {
  version: 1;
  policy_sha256: string;
  items: PlanItem[];
  held: (PlanItem & { why: string })[];
  reported: { key: PlannedKey; findings: PlannedFinding[] }[];
}

export interface Plan {
  /** `p-` and the first twelve digits of the hash. */
  id: string;
  sha256: string;
  /** The document as canonical JSON, which is what the hash is of. */
  canonical: string;
  document: PlanDocument;
  findings: Finding[];
  verdicts: Verdict[];
}

/** Judges, guards and lays down a plan. Pure. */
export function makePlan(policy: Policy, facts: Facts): Plan {
  const findings = evaluate(policy, facts);
  const verdicts = guard(policy, facts, findings);
  const condemned = new Set(verdicts.map((verdict) => verdict.key.number));
  const reports = Map.groupBy(
    findings.filter((finding) => finding.action === 'report' && !condemned.has(finding.key.number)),
    (finding) => finding.key.number,
  );
  const document: PlanDocument = {
    held: verdicts.flatMap((verdict) => (verdict.held === null ? [] : [{ ...toItem(verdict), why: verdict.held }])),
    items: verdicts.flatMap((verdict) => (verdict.held === null ? [toItem(verdict)] : [])),
    policy_sha256: sha256(canonicalJson(policy)),
    reported: [...reports.values()].flatMap((group) => {
      const key = group[0]?.key;
      return key === undefined ? [] : [{ findings: group.map(toPlanned), key: toPlannedKey(key) }];
    }),
    version: 1,
  };
  // Its objects are made with their names in order: what is written is canonical, and a test compares. A plan may hold a million findings.
  const canonical = JSON.stringify(document);
  const hash = sha256(canonical);
  return { id: `p-${hash.slice(0, 12)}`, sha256: hash, canonical, document, findings, verdicts };
}

function toItem({ key, findings }: Verdict): PlanItem {
  return { action: 'revoke', findings: findings.map(toPlanned), key: toPlannedKey(key) };
}

function toPlanned({ rule, limit, evidence }: Finding): PlannedFinding {
  if (evidence.condition !== 'more_than') return { evidence, limit, rule };
  const { condition, count, created_at, per } = evidence;
  return { evidence: { condition, count, created_at, per }, limit, rule };
}

function toPlannedKey(key: KeyFacts): PlannedKey {
  const { number, scope, id, kind, name } = key;
  return {
    created_at: key.createdAt,
    creator_id: key.creatorId,
    creator_name: key.creatorName,
    id,
    kind,
    name,
    number,
    organization_id: key.organizationId,
    project_id: key.projectId,
    scope,
  };
}

/** JSON with its names in order, so that equal values are equal bytes. */
export function canonicalJson(value: unknown): string {
  return JSON.stringify(value, (_key, inner: unknown) =>
    typeof inner === 'object' && inner !== null && !Array.isArray(inner)
      ? Object.fromEntries(Object.entries(inner).toSorted(([a], [b]) => (a < b ? -1 : 1)))
      : inner,
  );
}

/** The SHA-256 of a text, in hexadecimal digits. */
export function sha256(text: string): string {
  return createHash('sha256').update(text).digest('hex');
}
