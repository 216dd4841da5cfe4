import { unknownCreator } from '../wire/schemas.ts';
import type { KeyFacts, ScopeFacts } from './facts.ts';
import { type Grouping, type TimedKey, toTimedKey } from './timed-key.ts';

const fieldOf = { organization: 'organizationId', creator: 'creatorId', project: 'projectId' } as const;

/** A key's rank in its group, the most recently used first. `rank` is undefined if a use in the group, or the creator of its keys, is unknown. */
interface Rank {
  count: number;
  rank: number | undefined;
}

interface Group {
  count: number;
  isKnown: boolean;
}

/** Returns the rank of a key in its group, or undefined if it has no group. */
export type RankOf = (timed: TimedKey) => Rank | undefined;

/** Returns the keys of each scope, the most recently used first. No group extends beyond its scope. */
export function sortByUse(timed: TimedKey[]): TimedKey[][] {
  return [...Map.groupBy(timed, ({ scope }) => scope).values()].map((ofScope) => ofScope.toSorted(byUse));
}

/** Ranks keys within their groups in one pass. The keys come scope by scope. A key without a project belongs to no project's group. */
export function rankByGroup(
  scopes: TimedKey[][],
  { count, per, matches }: { count: number; per: Grouping; matches: (timed: TimedKey) => boolean },
): RankOf {
  // Indexed by the keys' places: a Map of a million keys costs more than the judging.
  const groups = Array.from<Group | undefined>({ length: count });
  const ranks = new Uint32Array(count);
  for (const mostRecentFirst of scopes) {
    const ofScope = new Map<string | null, Group>();
    for (const each of mostRecentFirst) {
      const { key } = each;
      const id = per === 'creator' ? (key.lineage?.creatorId ?? key.creatorId) : key[fieldOf[per]];
      // A lineage counts as one key, even while two of its keys live.
      if ((id === null && per === 'project') || key.lineage?.rotation?.role === 'successor' || !matches(each)) continue;
      const group = ofScope.get(id) ?? { count: 0, isKnown: true };
      if (group.count === 0) ofScope.set(id, group);
      group.count += 1;
      if (each.key.use.state === 'unknown' || (per === 'creator' && id === unknownCreator)) group.isKnown = false;
      groups[each.index] = group;
      ranks[each.index] = group.count;
    }
  }
  return ({ index }) => {
    const group = groups[index];
    return group && { count: group.count, rank: group.isKnown ? ranks[index] : undefined };
  };
}

/** Orders the most recently used first, then the unknown, then the never used. Equal keys are ordered by creation, youngest first, then by number. */
export function byUse(a: TimedKey, b: TimedKey): number {
  return b.lastUseMs - a.lastUseMs || b.createdMs - a.createdMs || a.order - b.order;
}

/** Returns the most recently used of some keys of a scope. */
export function mostRecentlyUsed(keys: KeyFacts[], scope: ScopeFacts): KeyFacts | undefined {
  const [first] = keys.map((key) => toTimedKey(key, { scope, nowMs: 0, index: 0 })).toSorted(byUse);
  return first?.key;
}
