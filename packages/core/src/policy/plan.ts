import { createHash } from 'node:crypto';
import type { Evidence } from './conditions.ts';
import { evaluate, type Finding } from './evaluate.ts';
import { exemptionOf, type Facts, type KeyFacts } from './facts.ts';
import { exemptionInWords, guard, type Hold, type Verdict } from './guard.ts';
import type { Action, KeyKind, Policy } from './schema.ts';
import { type Breaker, openBreakers, type UnattendedVerdict, unattended } from './unattended.ts';

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
  owner: string;
  created_at: string;
}

/** Ranks change by the minute, and each change would be another plan. */
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
  key: PlannedKey;
}

/** What no connection can see, and is therefore in no plan. */
interface BlindSpot {
  kind: 'personal_keys' | 'clock';
  scope: string;
  members: number | null;
}

/** Which shape a plan has; one of another shape is not carried out. */
export const planVersion = 2;

/** Findings turned into intended actions. Holds only facts and decisions: the same facts give the same bytes and the same hash. */
export interface PlanDocument {
  blind_spots: BlindSpot[];
  breakers: Breaker[];
  held: (PlanItem & { why: Hold })[];
  items: PlanItem[];
  policy_sha256: string;
  reported: PlanItem[];
  version: typeof planVersion;
}

export interface Plan {
  /** `p-` and the first twelve digits of the hash. */
  id: string;
  sha256: string;
  /** The document as canonical JSON, which is what the hash is of, in parts: a million keys are more than one text should be. */
  canonical: string[];
  document: PlanDocument;
  findings: Finding[];
  verdicts: Verdict[];
  /** Of each item, whether it may be revoked without a person. */
  unattended: UnattendedVerdict[];
}

/** Judges, guards and lays down a plan. Pure. */
export function makePlan(policy: Policy, facts: Facts): Plan {
  const judgements = evaluate(policy, facts);
  const verdicts = guard(policy, facts, judgements);
  const reported: PlanItem[] = [];
  const held = verdicts.flatMap((verdict) =>
    verdict.held === null ? [] : [{ ...toItem(verdict), why: verdict.held }],
  );
  const condemned = new Set(verdicts.map(({ key }) => key));
  for (const { key, findings } of judgements) {
    const [first, ...others] = findings.filter(({ rule }) => rule.action !== 'revoke');
    if (first === undefined || condemned.has(key)) continue;
    const telling = [first, ...others].filter(({ rule }) => exemptionOf(key, rule.name) === undefined);
    if (telling.length > 0) {
      reported.push(toItem({ key, findings: telling }));
      continue;
    }
    const exemption = exemptionOf(key, first.rule.name);
    const text = exemption === undefined ? '' : exemptionInWords(exemption);
    held.push({ ...toItem({ key, findings: [first, ...others] }), why: { kind: 'exempt', text } });
  }
  const document: PlanDocument = {
    blind_spots: findBlindSpots(facts),
    breakers: openBreakers(policy, facts, verdicts),
    held,
    items: verdicts.flatMap((verdict) => (verdict.held === null ? [toItem(verdict)] : [])),
    policy_sha256: sha256(canonicalJson(policy)),
    reported,
    version: planVersion,
  };
  const canonical = writeCanonical(document);
  const hash = createHash('sha256');
  for (const part of canonical) hash.update(part);
  const digest = hash.digest('hex');
  return {
    id: `p-${digest.slice(0, 12)}`,
    sha256: digest,
    canonical,
    document,
    findings: judgements.flatMap((judgement) => judgement.findings),
    verdicts,
    unattended: unattended(policy, facts, verdicts),
  };
}

/** What a plan does not see: the personal keys of members who have no connection here, and scopes whose time is unknown. */
function findBlindSpots({ scopes }: Facts): BlindSpot[] {
  return scopes
    .flatMap(({ scope, unseenMembers, nowMs }): BlindSpot[] => [
      ...(unseenMembers === 0 ? [] : [{ kind: 'personal_keys' as const, members: unseenMembers, scope }]),
      ...(nowMs === null ? [{ kind: 'clock' as const, members: null, scope }] : []),
    ])
    .toSorted((a, b) => (`${a.scope} ${a.kind}` < `${b.scope} ${b.kind}` ? -1 : 1));
}

const strongestFirst: Action[] = ['revoke', 'rotate', 'notify', 'report'];

function toItem({ key, findings }: Pick<Verdict, 'key' | 'findings'>): PlanItem {
  const action = strongestFirst.find((each) => findings.some(({ rule }) => rule.action === each)) ?? 'revoke';
  return { action, findings: findings.map(toPlanned), key: toPlannedKey(key) };
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

function toPlannedKey(key: KeyFacts): PlannedKey {
  const { number, scope, id, kind, name, owner } = key;
  return {
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

/** Its objects are made with their names in order, so that what is written is canonical; a test compares. */
function writeCanonical(document: PlanDocument): string[] {
  const parts: string[] = [];
  for (const [index, [name, value]] of Object.entries(document).entries()) {
    parts.push(`${index === 0 ? '{' : ','}${JSON.stringify(name)}:`);
    if (Array.isArray(value)) parts.push('[', ...inChunks(value), ']');
    else parts.push(JSON.stringify(value));
  }
  return [...parts, '}'];
}

const chunkLength = 1000;

function inChunks(values: unknown[]): string[] {
  const chunks = Array.from({ length: Math.ceil(values.length / chunkLength) }, (_, index) =>
    JSON.stringify(values.slice(index * chunkLength, (index + 1) * chunkLength)).slice(1, -1),
  );
  return chunks.map((chunk, index) => (index === 0 ? chunk : `,${chunk}`));
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
