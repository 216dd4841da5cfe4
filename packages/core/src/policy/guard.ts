import { countOf } from '../values/index.ts';
import { compareInstants, toMs } from '../values/time.ts';
import { isRevocable, unknownCreator } from '../wire/index.ts';
import {
  controlPlaneOf,
  type Exemption,
  exemptionOf,
  type Facts,
  isCreationKnown,
  type KeyFacts,
  type ScopeFacts,
} from './facts.ts';
import type { Finding, Judgement } from './finding.ts';
import { dailyQuotaHold, type Hold, identityHold, ownKeyHold, scopeHold, type Verdict } from './holds.ts';
import { graceEnd } from './notices.ts';
import { byUse, mostRecentlyUsed } from './ranks.ts';
import { type Policy, restsOnUse } from './schema.ts';

/** Decides which flagged keys may be revoked, longest unused first, and holds the others; quotas apply elsewhere. Pure. */
export function guard(policy: Policy, facts: Facts, judgements: Judgement[]): Verdict[] {
  const longestUnusedFirst = judgements.filter(isFlagged).toSorted(inRevocationOrder);
  const verdicts = longestUnusedFirst.map((judgement) => judge(policy, facts, judgement));
  return keepOnePerOrganization(facts, verdicts).map(holdUnannounced);
}

/** Orders the longest unused first. Keys whose revocation failed lately come last, so that they take no quota from the others. */
function inRevocationOrder(a: Judgement, b: Judgement): number {
  return Number(a.key.hasFailedLately) - Number(b.key.hasFailedLately) || byUse(b.timed, a.timed);
}

/** Returns whether rules flag the key, or may flag it: an unknown last use or creation may hide a finding. */
function isFlagged({ key, findings, unknowns }: Judgement): boolean {
  return findings.some(isRevoking) || (unknowns.length > 0 && (key.use.state === 'unknown' || !isCreationKnown(key)));
}

const isRevoking = ({ rule }: Finding) => rule.action === 'revoke';

function judge(policy: Policy, facts: Facts, { key, timed: { scope }, findings, unknowns }: Judgement): Verdict {
  const flagging = findings.filter(isRevoking);
  const stays = (held: Hold | null): Verdict => ({ key, findings: flagging, announcing: [], kept: [], held });
  const [unknown] = unknowns;
  if (flagging.length === 0 && unknown !== undefined)
    return stays({ kind: 'unknown', text: `${unknown.why} (${unknown.rule.name})` });
  const held =
    reportOnly(key) ??
    ownKeyHold(facts, key) ??
    inRotation(key) ??
    identityHold(key) ??
    scopeHold(policy, scope, key.kind);
  if (held !== null) return stays(held);
  const { free, kept } = holdEach(flagging, (finding) => holdFinding(policy, finding, scope));
  if (free.length === 0) return stays(kept[0]?.hold ?? null);
  return { key, findings: free, announcing: free, kept, held: null };
}

/** Returns the findings that nothing holds, and each other one with its hold. */
function holdEach(
  findings: Finding[],
  holdOf: (finding: Finding) => Hold | null,
): Pick<Verdict, 'kept'> & { free: Finding[] } {
  const free: Finding[] = [];
  const kept: Verdict['kept'] = [];
  for (const finding of findings) {
    const hold = holdOf(finding);
    if (hold === null) free.push(finding);
    else kept.push({ finding, hold });
  }
  return { free, kept };
}

/** Returns a hold for kinds that Keywarden only reports. A person revokes them in the control plane. */
function reportOnly({ kind }: KeyFacts): Hold | null {
  if (isRevocable(kind)) return null;
  return { kind: 'report_only', text: `Keywarden does not revoke a ${kind}; revoke it in the control plane` };
}

/** T4: returns a hold for a key in an open rotation. Only that rotation can revoke it. */
export function inRotation({ lineage }: KeyFacts): Hold | null {
  if (lineage == null || lineage.rotation === null) return null;
  const { id, role } = lineage.rotation;
  const what = role === 'old' ? 'the old key' : 'the successor';
  return { kind: 'in_rotation', text: `it is ${what} of rotation ${id}, and only that rotation can revoke it` };
}

/** Returns why one rule must not revoke the key; another rule still may. */
function holdFinding(policy: Policy, finding: Finding, scope: ScopeFacts): Hold | null {
  return exempt(finding) ?? seenOnce(finding, scope) ?? watchedTooShort(policy, finding) ?? inUse(policy, finding);
}

function exempt({ rule, key }: Finding): Hold | null {
  const found = exemptionOf(key, rule.name);
  return found === undefined ? null : { kind: 'exempt', text: exemptionInWords(found) };
}

export function exemptionInWords({ number, grantedBy, until, reason }: Exemption): string {
  return `exempt until ${until} by ${grantedBy}: ${reason} (exemption ${number})`;
}

/** Returns a hold until two complete listings in a row show the key. The second must have begun after the first ended. */
function seenOnce({ rule, key }: Finding, { priorListedAt }: ScopeFacts): Hold | null {
  if (!restsOnUse(rule) || hasSeen(priorListedAt, key)) return null;
  return { kind: 'seen_once', text: 'only one complete listing shows it so far; use is judged on two in a row' };
}

/** Returns whether the key was in a listing and in all later ones. */
export function hasSeen(listedAt: string | null, { presentSince }: Pick<KeyFacts, 'presentSince'>): boolean {
  return listedAt !== null && compareInstants(presentSince, listedAt) <= 0;
}

function watchedTooShort({ min_observation: wanted }: Policy, { key, nowMs }: Finding): Hold | null {
  if (wanted === undefined || nowMs - toMs(key.firstSeenAt) >= wanted.ms) return null;
  return {
    kind: 'watched_too_short',
    text: `it was first observed at ${key.firstSeenAt}, less than ${wanted.text} ago`,
  };
}

/** R8: returns a hold for a key in use, unless the rule sets even_in_use. A rule on inactivity flags no such key. */
function inUse({ active_within: within }: Policy, { key: { use }, rule, nowMs }: Finding): Hold | null {
  if (use.state === 'never' || rule.even_in_use) return null;
  if (use.state === 'unknown') return { kind: 'unknown', text: 'its last use is unknown, and it may be in use' };
  if (nowMs - toMs(use.at) > within.ms) return null;
  return { kind: 'in_use', text: `it was used within ${within.text}, and no rule that flags it sets even_in_use` };
}

/** R2: keeps one key of each organization. If all of its keys are flagged, the most recently used one stays. */
function keepOnePerOrganization(facts: Facts, verdicts: Verdict[]): Verdict[] {
  const going = new Set(verdicts.filter((verdict) => verdict.held === null).map((verdict) => verdict.key));
  const keysByScope = Map.groupBy(
    facts.keys.filter((key) => key.kind === 'organization' || key.kind === 'project'),
    (key) => key.scope,
  );
  const kept = new Set<KeyFacts>();
  for (const scope of facts.scopes) {
    const keys = keysByScope.get(scope.scope) ?? [];
    const last = keys.every((key) => going.has(key)) ? mostRecentlyUsed(keys, scope) : undefined;
    if (last !== undefined) kept.add(last);
  }
  const text = 'every key of its organization is flagged, and Keywarden keeps the most recently used one';
  return verdicts.map((verdict) =>
    kept.has(verdict.key) ? { ...verdict, held: { kind: 'last_of_organization', text } } : verdict,
  );
}

/** R9: holds a key until all notices of one of its rules were accepted and their grace period is over. */
function holdUnannounced(verdict: Verdict): Verdict {
  if (verdict.held !== null) return verdict;
  const { free, kept } = holdEach(verdict.findings, unannounced);
  if (free.length > 0) return { ...verdict, findings: free, kept: [...verdict.kept, ...kept] };
  return { ...verdict, held: kept[0]?.hold ?? null };
}

function unannounced(finding: Finding): Hold | null {
  const { endMs, missing } = graceEnd(finding);
  if (endMs !== null && endMs <= finding.nowMs) return null;
  const text =
    endMs === null
      ? `its ${missing} notice was not accepted yet`
      : `its revocation was announced, and can happen after ${new Date(endMs).toISOString()}`;
  return { kind: 'unannounced', text };
}

/** R3: holds the keys beyond the quotas for a later plan. Keys in `first` come before the others, each group longest unused first. */
export function holdOverQuota(
  policy: Policy,
  { revokedLastDay }: Facts,
  { verdicts, first }: { verdicts: Verdict[]; first: Set<KeyFacts> },
): Verdict[] {
  const { per_run: perRun = Infinity, per_creator: perCreator = Infinity } = policy.quotas;
  const free = verdicts.filter(({ held }) => held === null);
  const inTurn = [...free.filter(({ key }) => first.has(key)), ...free.filter(({ key }) => !first.has(key))];
  const ofCreator = new Map<string, number>();
  const waiting = new Map<KeyFacts, string>();
  let going = 0;
  for (const { key } of inTurn) {
    // A person has one id in all scopes of a control plane.
    const creatorId = key.lineage?.creatorId ?? key.creatorId;
    const creator = `${controlPlaneOf(key.scope)} ${creatorId}`;
    const own = ofCreator.get(creator) ?? 0;
    const overDay = dailyQuotaHold(policy, going + revokedLastDay);
    // Keys with an unknown creator may have different creators.
    if (own >= perCreator && creatorId !== unknownCreator)
      waiting.set(key, `a plan revokes at most ${countOf(perCreator, 'key')} of one creator`);
    else if (going >= perRun) waiting.set(key, `a plan revokes at most ${countOf(perRun, 'key')}`);
    else if (overDay !== null) waiting.set(key, overDay.text);
    else {
      ofCreator.set(creator, own + 1);
      going += 1;
    }
  }
  return verdicts.map((verdict) => {
    const why = waiting.get(verdict.key);
    return why === undefined
      ? verdict
      : { ...verdict, held: { kind: 'over_quota', text: `it waits for a later plan: ${why}` } };
  });
}
