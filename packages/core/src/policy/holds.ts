import { toMs } from '../values/time.ts';
import { type CredentialKind, isKeyKind } from '../wire/index.ts';
import type { Facts, KeyFacts, ScopeFacts } from './facts.ts';
import { type Finding } from './finding.ts';
import type { Policy } from './schema.ts';

/** A key that a rule would revoke: either it may go, for the findings that it names, or `held` says why it stays. */
export interface Verdict {
  key: KeyFacts;
  findings: Finding[];
  /** Findings that nothing but a notice holds, or not even that: owners are told of these. */
  announcing: Finding[];
  /** Findings that would not let it go, where others do, and why. */
  kept: { finding: Finding; hold: Hold }[];
  held: Hold | null;
}

/** Why a flagged key stays. */
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
 * Returns why a revocation that no plan decides must not happen now: a rotation's old key, or an orphan. The key's scope, its incidents, the
 * daily quota and the key's own identity must all permit it (R1, R2, R3, R5); null if they do. `exceptOwnOf` names the connections that a
 * rotation has moved off the key.
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
    incidentHold(scope) ??
    dailyQuotaHold(policy, facts.revokedLastDay) ??
    (key === undefined ? null : identityHold(key)) ??
    ownKeyHold(facts, id, exceptOwnOf)
  );
}

/**
 * Returns why no key of a scope may be revoked now, whatever says that it may go: a rule, a rotation or an orphan. R2: a connection that
 * sees the scope has an own key that is not known. R1: the last complete listing is too old, or of a time that is still to come.
 */
export function scopeHold(policy: Policy, scope: ScopeFacts, kind: CredentialKind = 'organization'): Hold | null {
  return unknownOwnKeyHold(scope) ?? staleEvidenceHold(policy, scope, kind);
}

function unknownOwnKeyHold({ unknownOwnKey: [connection] }: ScopeFacts): Hold | null {
  if (connection === undefined) return null;
  const text = `connection ${connection} sees this scope and its own key is not known; set its key_id`;
  return { kind: 'own_key_unknown', text };
}

/** How far a listing may seem to lie ahead: the control plane's Date has whole seconds, and ours drifts. */
const aheadMs = 300_000;

/** Other credentials than API keys are listed daily, so a plan accepts older listings of them. Each is listed again right before the call. */
const listedDailyMs = 26 * 3_600_000;

function staleEvidenceHold(policy: Policy, { listedAt, nowMs }: ScopeFacts, kind: CredentialKind): Hold | null {
  const ageMs = nowMs === null ? Number.NaN : nowMs - toMs(listedAt);
  const mostMs = isKeyKind(kind) ? policy.max_evidence_age.ms : Math.max(policy.max_evidence_age.ms, listedDailyMs);
  if (ageMs <= mostMs && ageMs >= -aheadMs) return null;
  const within = mostMs === policy.max_evidence_age.ms ? policy.max_evidence_age.text : '26h';
  const what = isKeyKind(kind) ? 'keys' : 'credentials';
  const text = `its last complete listing, of ${listedAt}, is not within ${within}; run keywarden sync ${what}`;
  return { kind: 'stale_evidence', text };
}

/** R5: while an incident of a scope is open, only a person's own command revokes there. */
export function incidentHold({ openIncidents }: ScopeFacts): Hold | null {
  if (openIncidents === 0) return null;
  return { kind: 'open_incident', text: 'an incident of its scope is open; see keywarden incidents' };
}

/** R3: `revoked` keys have gone in the last 24 hours, or are about to. */
export function dailyQuotaHold({ quotas: { per_day: perDay } }: Policy, revoked: number): Hold | null {
  if (perDay === undefined || revoked < perDay) return null;
  return { kind: 'over_quota', text: `at most ${perDay} keys are revoked in 24 hours` };
}

/** R2: a connection's own key never goes, whichever connection looks and whatever address it looks through. */
export function ownKeyHold({ ownKeys }: Facts, id: string, exceptOf?: ReadonlySet<string>): Hold | null {
  const own = ownKeys.find(({ keyId, connection }) => keyId === id && exceptOf?.has(connection) !== true);
  return own === undefined ? null : { kind: 'own_key', text: `connection ${own.connection} itself uses this key` };
}

/** Its id was another key's, or two scopes show it: what is known of the one must not flag the other. */
export function identityHold({ isInQuestion, otherScope }: KeyFacts): Hold | null {
  if (otherScope !== undefined)
    return { kind: 'identity_changed', text: `the list of ${otherScope} shows it too, and a key is of one scope` };
  if (isInQuestion !== true) return null;
  return {
    kind: 'identity_changed',
    text: 'its id was another key’s, and no person has closed that incident; see keywarden incidents',
  };
}
