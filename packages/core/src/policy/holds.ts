import { countOf } from '../values/index.ts';
import { toMs } from '../values/time.ts';
import { type CredentialKind, isKeyKind } from '../wire/index.ts';
import { type Facts, isOwn, type KeyFacts, type ScopeFacts } from './facts.ts';
import type { Finding } from './finding.ts';
import type { Policy } from './schema.ts';

/** A key that a rule flags. Without `held` it may be revoked for its findings; otherwise `held` says why it stays. */
export interface Verdict {
  key: KeyFacts;
  findings: Finding[];
  /** Findings that nothing, or only a notice, holds: their owners are notified. */
  announcing: Finding[];
  /** Findings that do not allow the revocation while others do, each with its hold. */
  kept: { finding: Finding; hold: Hold }[];
  held: Hold | null;
}

/** The reason why a flagged key stays. */
export interface Hold {
  kind:
    | 'report_only'
    | 'own_key'
    | 'own_key_unknown'
    | 'in_rotation'
    | 'identity_changed'
    | 'stale_evidence'
    | 'unknown'
    | 'exempt'
    | 'seen_once'
    | 'watched_too_short'
    | 'in_use'
    | 'last_of_organization'
    | 'unannounced'
    | 'open_incident'
    | 'over_quota';
  text: string;
}

/**
 * Returns why a revocation outside a plan (a rotation's old key, or an orphan) must not happen now. The key's scope, its incidents, the daily quota
 * and the key's own identity must all permit it (R1, R2, R3, R5). Returns null if they do. `exceptOwnOf` names the connections that a rotation has
 * moved off the key.
 */
export function revocationHold(
  policy: Policy,
  facts: Facts,
  {
    scope: name,
    number,
    id,
    exceptOwnOf,
  }: { scope: string; number: string; id: string; exceptOwnOf?: ReadonlySet<string> },
): Hold | null {
  const scope = facts.scopes.find((each) => each.scope === name);
  if (scope === undefined) return { kind: 'stale_evidence', text: 'no complete listing shows its scope' };
  const key = facts.keys.find((each) => each.number === number);
  return (
    scopeHold(policy, scope) ??
    useInFlightHold(scope) ??
    dailyQuotaHold(policy, facts.revokedLastDay) ??
    (key === undefined ? null : identityHold(key)) ??
    ownKeyHold(facts, { id, number }, exceptOwnOf)
  );
}

/**
 * Returns why no key of a scope may be revoked now, even for a rule, a rotation or an orphan. R2: the own key of a connection that sees the scope is
 * unknown. R1: the last complete listing is too old, or has a future time.
 */
export function scopeHold(policy: Policy, scope: ScopeFacts, kind: CredentialKind = 'organization'): Hold | null {
  return unknownOwnKeyHold(scope) ?? staleEvidenceHold(policy, scope, kind);
}

function unknownOwnKeyHold({ unknownOwnKey: [connection] }: ScopeFacts): Hold | null {
  if (connection === undefined) return null;
  const text = `connection ${connection} lists this scope, and its own key is unknown: set its key_id to an id that listings show`;
  return { kind: 'own_key_unknown', text };
}

/** How far in the future a listing may seem to be: the control plane's Date has whole seconds, and our clock drifts. */
const aheadMs = 300_000;

/** Other credentials than API keys are listed daily, so a plan accepts older listings of them. Each is listed again right before the call. */
const listedDailyMs = 26 * 3_600_000;

function staleEvidenceHold(policy: Policy, { listedAt, nowMs }: ScopeFacts, kind: CredentialKind): Hold | null {
  const ageMs = (nowMs ?? Number.NaN) - toMs(listedAt);
  const mostMs = isKeyKind(kind) ? policy.max_evidence_age.ms : Math.max(policy.max_evidence_age.ms, listedDailyMs);
  if (ageMs <= mostMs && ageMs >= -aheadMs) return null;
  const within = mostMs === policy.max_evidence_age.ms ? policy.max_evidence_age.text : '26h';
  const what = isKeyKind(kind) ? 'keys' : 'credentials';
  const text = `its last complete listing, of ${listedAt}, is not within ${within}; run keywarden sync ${what}`;
  return { kind: 'stale_evidence', text };
}

/** R5: returns a hold while an incident is open of a key of the scope that was used while it was revoked. Then only a person's own command revokes there. */
export function useInFlightHold({ usesInFlight }: ScopeFacts): Hold | null {
  if (usesInFlight === 0) return null;
  return { kind: 'open_incident', text: 'an incident of its scope is open; see keywarden incidents' };
}

/** R3: returns a hold if `revoked` reaches the daily quota. `revoked` counts the keys revoked in the last 24 hours, or about to be. */
export function dailyQuotaHold({ quotas: { per_day: perDay } }: Policy, revoked: number): Hold | null {
  if (perDay === undefined || revoked < perDay) return null;
  return { kind: 'over_quota', text: `the policy revokes at most ${countOf(perDay, 'key')} in 24 hours` };
}

/** R2: returns a hold for a connection's own key, through any connection and any address. `exceptOf` names connections that no longer use it. */
export function ownKeyHold(
  { ownKeys }: Facts,
  key: Pick<KeyFacts, 'id' | 'number'>,
  exceptOf?: ReadonlySet<string>,
): Hold | null {
  const own = ownKeys.find((each) => isOwn(each, key) && exceptOf?.has(each.connection) !== true);
  return own === undefined ? null : { kind: 'own_key', text: `connection ${own.connection} itself uses this key` };
}

/** Returns a hold if the key's id belonged to another key, or two scopes show it. The facts of one record must not flag the other. */
export function identityHold({ hasOpenKeyChange, otherScope }: KeyFacts): Hold | null {
  if (otherScope !== undefined)
    return {
      kind: 'identity_changed',
      text: `the list of ${otherScope} also shows it, and a key belongs to one scope`,
    };
  if (hasOpenKeyChange !== true) return null;
  return {
    kind: 'identity_changed',
    text: 'its id belonged to another key, and no person has closed that incident; see keywarden incidents',
  };
}
