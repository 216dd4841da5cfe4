import { toMs } from '../wire/index.ts';
import { type Finding, mostRecentlyUsedFirst } from './evaluate.ts';
import type { Facts, KeyFacts, ScopeFacts } from './facts.ts';
import type { Policy } from './schema.ts';

/** A key that a rule would revoke: either it may go, or `held` says why it stays. */
export interface Verdict {
  key: KeyFacts;
  findings: Finding[];
  held: string | null;
}

/** Groups findings whose action is to revoke by key, longest unused first, and holds what must not go. Pure; order does not matter. */
export function guard(policy: Policy, facts: Facts, findings: Finding[]): Verdict[] {
  const scopes = new Map(facts.scopes.map((scope) => [scope.scope, scope]));
  const condemned = Map.groupBy(
    findings.filter((finding) => finding.action === 'revoke'),
    (finding) => finding.key.number,
  );
  const verdicts = [...condemned.values()].flatMap((group): Verdict[] => {
    const key = group[0]?.key;
    const scope = key && scopes.get(key.scope);
    if (key === undefined || scope === undefined) return [];
    return [{ key, findings: group, held: reasonToHold(policy, facts, { key, scope, findings: group }) }];
  });
  const longestUnusedFirst = mostRecentlyUsedFirst(verdicts, ({ key }) => key).toReversed();
  return holdOverQuota(policy, facts, keepOnePerOrganization(facts, longestUnusedFirst));
}

function reasonToHold(policy: Policy, facts: Facts, { key, scope, findings }: Condemned): string | null {
  return ownKey(facts, key, scope) ?? staleEvidence(policy, scope) ?? inUse(policy, { key, scope, findings });
}

interface Condemned {
  key: KeyFacts;
  scope: ScopeFacts;
  findings: Finding[];
}

/**
 * R2: a connection's own key never goes, whichever connection looks and whatever address it looks through; while one is not
 * known, nothing goes in any scope that its connection sees.
 */
function ownKey({ ownKeys }: Facts, key: KeyFacts, scope: ScopeFacts): string | null {
  const own = ownKeys.find(({ keyId }) => keyId === key.id);
  if (own !== undefined) return `connection ${own.connection} itself uses this key`;
  const [unknown] = scope.unknownOwnKey;
  return unknown === undefined
    ? null
    : `connection ${unknown} sees this scope and its own key is not known; set its key_id`;
}

/** How far a listing may seem to lie ahead: the control plane's Date has whole seconds, and ours drifts. */
const aheadMs = 300_000;

/** R1: evidence must be fresh, and not of a time that is still to come. */
function staleEvidence(policy: Policy, { listedAt, nowMs }: ScopeFacts): string | null {
  const ageMs = nowMs === null ? Number.NaN : nowMs - toMs(listedAt);
  if (ageMs <= policy.max_evidence_age.ms && ageMs >= -aheadMs) return null;
  return `its last complete listing, of ${listedAt}, is not within ${policy.max_evidence_age.text}; run keywarden sync keys`;
}

/** R8: a key in use is revoked by a rule on number only if that rule says so. */
function inUse(policy: Policy, { key, scope, findings }: Condemned): string | null {
  if (key.use.state !== 'used' || scope.nowMs === null) return null;
  if (scope.nowMs - toMs(key.use.at) > policy.active_within.ms) return null;
  const allowed = policy.rules.filter((rule) => rule.even_in_use).map((rule) => rule.name);
  if (findings.some((finding) => allowed.includes(finding.rule))) return null;
  return `it was used within ${policy.active_within.text}, and no rule that condemns it says even_in_use`;
}

/** R3: a plan holds what the quotas allow, the longest unused first; the others wait, named, for a later one. */
function holdOverQuota({ quotas }: Policy, { revokedLastDay }: Facts, verdicts: Verdict[]): Verdict[] {
  const { per_run: perRun = Infinity, per_day: perDay = Infinity, per_creator: perCreator = Infinity } = quotas;
  const ofCreator = new Map<string, number>();
  let going = 0;
  return verdicts.map((verdict) => {
    if (verdict.held !== null) return verdict;
    const creator = `${verdict.key.scope} ${verdict.key.creatorId}`;
    const own = ofCreator.get(creator) ?? 0;
    if (own >= perCreator)
      return { ...verdict, held: `it waits: a plan revokes at most ${perCreator} keys of one creator` };
    if (going >= perRun) return { ...verdict, held: `it waits: a plan revokes at most ${perRun} keys` };
    if (going + revokedLastDay >= perDay)
      return { ...verdict, held: `it waits: at most ${perDay} keys are revoked in 24 hours` };
    ofCreator.set(creator, own + 1);
    going += 1;
    return verdict;
  });
}

/** R2: an organization keeps one key that is not condemned; if all are, the most recently used stays. */
function keepOnePerOrganization(facts: Facts, verdicts: Verdict[]): Verdict[] {
  const going = new Set(verdicts.filter((verdict) => verdict.held === null).map((verdict) => verdict.key.number));
  const organizations = Map.groupBy(
    facts.keys.filter((key) => key.kind !== 'personal'),
    (key) => key.scope,
  );
  const kept = new Set<string>();
  for (const keys of organizations.values()) {
    if (!keys.every((key) => going.has(key.number))) continue;
    const [last] = mostRecentlyUsedFirst(keys, (key) => key);
    if (last !== undefined) kept.add(last.number);
  }
  const held = 'every key of its organization is condemned, and the most recently used one stays';
  return verdicts.map((verdict) => (kept.has(verdict.key.number) ? { ...verdict, held } : verdict));
}
