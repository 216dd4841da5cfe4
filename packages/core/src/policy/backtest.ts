import { dayMs } from '../values/days.ts';
import { toMs } from '../values/time.ts';
import { evaluate } from './evaluate.ts';
import { explain } from './explain.ts';
import { type Facts, type KeyFacts, nothingOfScope, type ScopeFacts } from './facts.ts';
import type { Finding } from './finding.ts';
import { guard } from './guard.ts';
import type { Policy } from './schema.ts';

/** The stored history of a key. */
export interface KeyHistory {
  /** The key's current facts. The replay leaves out its use, unless that is unknown, and what people decided about it. */
  key: KeyFacts;
  goneAt: string | null;
  /** When Keywarden saw that its creator had left the organization. */
  creatorLeftAt: string | null;
  /** Every recorded use, oldest first. */
  uses: { at: string; from: string | null }[];
}

export interface History {
  keys: KeyHistory[];
  /** The times of each scope's complete listings, oldest first. */
  listings: Map<string, string[]>;
  ownKeys: Facts['ownKeys'];
}

/** A key that the policy would have revoked, and whether that would have been wrong. */
interface WouldRevoke {
  key: KeyFacts;
  at: string;
  findings: { rule: string; reason: string }[];
  /** The first recorded use after that; null if there is none. */
  usedAfter: string | null;
  /** When it was found gone after that. A use after its last listing is then unknown. Null if it is still listed. */
  goneAt: string | null;
  /** Whether its last use is unknown: so is then a use after that which is not recorded. */
  isUseUnknown: boolean;
}

export interface Backtest {
  from: string;
  to: string;
  revoked: WouldRevoke[];
  /** Days on which a scope's keys were not judged, because no complete listing of the 24 hours before is stored. */
  unjudged: { scope: string; days: number }[];
  /** The number of keys that were not judged, because their last use or creation is unknown. */
  unknown: number;
}

/**
 * Replays a policy over the stored observations, with one plan a day, as if each plan had been carried out at once. Ignores quotas, notices and
 * exemptions. Uses current names, owners and creators. Pure.
 */
export function backtest(
  policy: Policy,
  history: History,
  { fromMs, toMs: untilMs }: { fromMs: number; toMs: number },
): Backtest {
  const replayed: Policy = { ...policy, quotas: {}, rules: policy.rules.map((rule) => ({ ...rule, notices: [] })) };
  const revoked = new Map<string, WouldRevoke>();
  const unjudged = new Map<string, number>();
  const unknown = new Set<string>();
  for (let nowMs = fromMs; nowMs <= untilMs; nowMs += dayMs) {
    const scopes = scopesAt(history, nowMs, unjudged);
    const listed = new Set(scopes.map(({ scope }) => scope));
    const there = history.keys.filter(({ key }) => listed.has(key.scope) && !revoked.has(key.number));
    const keys = there.filter((each) => isThere(each, nowMs)).map((each) => keyAt(each, nowMs));
    const facts: Facts = { keys, scopes, ownKeys: history.ownKeys, revokedLastDay: 0 };
    const byNumber = new Map(there.map((each) => [each.key.number, each]));
    for (const { key, findings, held } of guard(replayed, facts, evaluate(replayed, facts))) {
      const each = byNumber.get(key.number);
      if (held?.kind === 'unknown') unknown.add(key.number);
      if (held === null && each !== undefined) revoked.set(key.number, wouldRevoke(each, { key, findings, nowMs }));
    }
  }
  return {
    from: new Date(fromMs).toISOString(),
    to: new Date(untilMs).toISOString(),
    revoked: [...revoked.values()],
    unjudged: [...unjudged].map(([scope, days]) => ({ scope, days })),
    unknown: [...unknown].filter((number) => !revoked.has(number)).length,
  };
}

function wouldRevoke(
  { uses, goneAt }: KeyHistory,
  { key, findings, nowMs }: { key: KeyFacts; findings: Finding[]; nowMs: number },
): WouldRevoke {
  return {
    key,
    at: new Date(nowMs).toISOString(),
    findings: findings.map((finding) => ({ rule: finding.rule.name, reason: explain(finding) })),
    usedAfter: uses.find(({ at }) => toMs(at) > nowMs)?.at ?? null,
    goneAt,
    isUseUnknown: key.use.state === 'unknown',
  };
}

/** Returns the scopes that were listed in the 24 hours before; counts a day in `unjudged` for each other scope. */
function scopesAt({ keys, listings }: History, nowMs: number, unjudged: Map<string, number>): ScopeFacts[] {
  const scopes = [...new Set(keys.map(({ key }) => key.scope))].toSorted();
  return scopes.flatMap((scope): ScopeFacts[] => {
    const times = listings.get(scope) ?? [];
    if (!times.some((at) => toMs(at) <= nowMs && toMs(at) > nowMs - dayMs)) {
      unjudged.set(scope, (unjudged.get(scope) ?? 0) + 1);
      return [];
    }
    const at = new Date(nowMs).toISOString();
    const listed = { listedAt: at, priorListedAt: at, hourPriorListedAt: at };
    return [{ ...nothingOfScope, scope, ...listed, nowMs, unseenMembers: 0 }];
  });
}

function isThere({ key, goneAt }: KeyHistory, nowMs: number): boolean {
  return toMs(key.firstSeenAt) <= nowMs && (goneAt === null || toMs(goneAt) > nowMs);
}

function keyAt({ key, creatorLeftAt, uses }: KeyHistory, nowMs: number): KeyFacts {
  const last = uses.findLast(({ at }) => toMs(at) <= nowMs);
  const hadLeft = creatorLeftAt !== null && toMs(creatorLeftAt) <= nowMs;
  return {
    ...key,
    creator: hadLeft ? 'left' : key.creator === 'unknown' ? 'unknown' : 'member',
    use: key.use.state === 'unknown' ? key.use : last === undefined ? { state: 'never' } : { state: 'used', ...last },
    presentSince: key.firstSeenAt,
    exemptions: [],
    announcements: [],
  };
}
