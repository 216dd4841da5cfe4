import { dayMs } from '../values/index.ts';
import { sha256 } from '../values/json.ts';
import { toMs } from '../values/time.ts';
import { mentions } from './condition-schema.ts';
import { makeMatch } from './evaluate.ts';
import { exemptionOf, type Facts, type KeyFacts, type ScopeFacts } from './facts.ts';
import type { Finding } from './finding.ts';
import { hasSeen } from './guard.ts';
import { useInFlightHold, type Verdict } from './holds.ts';
import { modeOf, type Policy, restsOnUse } from './schema.ts';

/** A scope in which one plan flags more keys than the breaker allows (R3). */
export interface Breaker {
  scope: string;
  /** Flagged keys that nothing but a quota, a notice or a second listing holds, except those of a plan that a person applied. */
  flagged: number;
  /** The SHA-256 of the numbers of the flagged keys: an approval of a plan covers exactly these. */
  flagged_sha256: string;
  /** The former name of `flagged`, served for one more version. */
  condemned: number;
  /** All live keys of the scope. */
  active: number;
  percent: number;
}

/** Smaller scopes have no breaker: one key of nine is already more than a tenth. */
const leastKeysForBreaker = 10;

/** Holds that end automatically and therefore do not exclude a key from the breaker's count. */
export const temporaryHoldKinds = ['over_quota', 'unannounced', 'seen_once'];

/** Returns the open breakers. The share is compared without rounding: `flagged * 100 > percent * active`. */
export function openBreakers(
  { enforcement: { breaker_percent: percent } }: Policy,
  facts: Facts,
  verdicts: Verdict[],
): Breaker[] {
  const live = new Map<string, number>();
  for (const { scope } of facts.keys) live.set(scope, (live.get(scope) ?? 0) + 1);
  const counted = verdicts.filter(
    ({ key, held }) => !key.isAcknowledged && (held === null || temporaryHoldKinds.includes(held.kind)),
  );
  const flagged = Map.groupBy(counted, ({ key }) => key.scope);
  const breakers = facts.scopes.flatMap(({ scope, missing, goneLately }) => {
    const active = (live.get(scope) ?? 0) + missing;
    const numbers = (flagged.get(scope) ?? []).map(({ key }) => key.number).toSorted();
    const count = numbers.length;
    if (active + goneLately < leastKeysForBreaker || count * 100 <= percent * active) return [];
    return [{ active, condemned: count, flagged: count, flagged_sha256: sha256(numbers.join()), percent, scope }];
  });
  return breakers.toSorted((a, b) => (a.scope < b.scope ? -1 : 1));
}

/** A key that its rule and organization allow to be revoked automatically. `waits` says why it waits; null if it may be revoked now. */
export interface AutomaticVerdict {
  verdict: Verdict;
  /** Findings that allow automatic revocation; empty if `waits` is not null. */
  findings: Finding[];
  waits: string | null;
}

/**
 * Returns which of the keys that nothing holds may be revoked automatically (R6). Rule and organization must both be in `mode: enforce`. Two listings
 * at least an hour apart must show the key if its rule rests on use. The token that signed its access review must not be revoked, if its rule rests on that.
 * No breaker and no incident of a use in flight may be open, and a canary must have been revoked before. Quotas apply afterwards. Pure; keeps the order of
 * the verdicts.
 */
export function automatic(
  policy: Policy,
  facts: Facts,
  { verdicts, breakers }: { verdicts: Verdict[]; breakers: Breaker[] },
): AutomaticVerdict[] {
  const scopes = new Map(facts.scopes.map((scope) => [scope.scope, scope]));
  const broken = new Set(breakers.map(({ scope }) => scope));
  const canaries = new Set<string>();
  return verdicts.flatMap((verdict): AutomaticVerdict[] => {
    const scope = scopes.get(verdict.key.scope);
    if (scope === undefined || verdict.held !== null) return [];
    const isIn = modeOf(policy, verdict.key) === 'enforce';
    const enforced = verdict.findings.filter(({ rule }) => isIn && rule.mode === 'enforce');
    if (enforced.length === 0) return [];
    const signed = enforced.filter((finding) => !restsOnRevokedSigner(finding));
    const findings = signed.filter(({ rule }) => !restsOnUse(rule) || hasSeen(scope.hourPriorListedAt, verdict.key));
    const waits =
      (signed.length === 0 ? unsignedInWords : null) ??
      (findings.length === 0 ? 'two complete listings at least an hour apart must show it' : null) ??
      useInFlightHold(scope)?.text ??
      (broken.has(scope.scope) ? brokenInWords : waitsForCanary(policy, scope, canaries));
    return [{ verdict, findings: waits === null ? findings : [], waits }];
  });
}

/** Returns whether a finding rests on an access review whose signer's token was revoked since, perhaps because it was stolen. Then a person decides. */
export function restsOnRevokedSigner({ key: { reviewedOut }, rule: { condition } }: Finding): boolean {
  return reviewedOut?.isSignerRevoked === true && mentions(condition, ['reviewed_out']);
}

const unsignedInWords =
  'the token that signed its access review was revoked: a person must approve the plan, or another review be signed';

const brokenInWords = 'the breaker of its scope is open, until a person applies a plan that flags these keys';

/**
 * Returns why a rotation that the policy began must not retire its old key now (R6). The rule or the organization no longer enforces, the rule no longer
 * matches the key, or the key is exempt. Returns null if nothing changed, and for a rotation that a person requested. The rule's condition need not hold any
 * more: a key that its clients leave may cease to meet it.
 */
export function unwantedRotationHold(
  policy: Policy,
  facts: Facts,
  { key: { number }, rule: name, via }: { key: Pick<KeyFacts, 'number'>; rule: string | null; via: string },
): string | null {
  if (via !== 'policy') return null;
  const rule = policy.rules.find((each) => each.name === name && each.rotation !== undefined);
  if (rule === undefined || rule.mode !== 'enforce') return `rule ${name} no longer rotates keys automatically`;
  const key = facts.keys.find((each) => each.number === number);
  if (key === undefined) return 'the last listing does not show it';
  if (modeOf(policy, key) !== 'enforce') return 'its organization is no longer in mode: enforce';
  if (!makeMatch(rule)({ key })) return `rule ${name} no longer matches it`;
  const exemption = exemptionOf(key, rule.name);
  return exemption === undefined
    ? null
    : // Who sees the rotation may not see the reason, which can be about keys of other organizations.
      `it is exempt from ${rule.name} until ${exemption.until} (exemption ${exemption.number})`;
}

/** After this long without an automatic revocation in a scope, a new canary is revoked first. */
const canaryLastsMs = 30 * dayMs;

/** R6: returns why a key waits for its scope's canary, which goes `canary_wait` before. `taken`: scopes whose canary is of this plan. */
function waitsForCanary(
  { enforcement: { canary_wait: wait } }: Policy,
  { scope, nowMs, automatic: revoked }: ScopeFacts,
  taken: Set<string>,
): string | null {
  const now = nowMs ?? Number.NaN;
  const revokedMs = revoked.map(toMs).filter((ms) => now - ms <= canaryLastsMs);
  const first = revokedMs.length === 0 ? null : Math.min(...revokedMs);
  if (first === null && !taken.has(scope)) {
    taken.add(scope);
    return null;
  }
  if (mayFollowCanary(first, { nowMs: now, waitMs: wait.ms })) return null;
  return first === null
    ? `one key of its scope is revoked first, the others ${wait.text} later`
    : `a key of its scope was revoked first, at ${new Date(first).toISOString()}; the others follow ${wait.text} later`;
}

/**
 * R6: returns whether an automatic action may follow the canary of its group, whose own action was done at `canaryMs` (null: not yet). An unknown time (`nowMs` is
 * NaN) waits.
 */
export function mayFollowCanary(
  canaryMs: number | null,
  { nowMs, waitMs }: { nowMs: number; waitMs: number },
): boolean {
  return canaryMs !== null && nowMs - canaryMs >= waitMs;
}
