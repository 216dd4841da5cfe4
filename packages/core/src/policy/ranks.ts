import type { KeyFacts, ScopeFacts } from './facts.ts';
import { type Grouping, type Judged, toJudged } from './judged.ts';

const fieldOf = { organization: 'organizationId', creator: 'creatorId', project: 'projectId' } as const;

/** A key's place in its group, the most recently used first; without a rank where a use in the group is unknown. */
interface Place {
  count: number;
  rank: number | undefined;
}

/** The place of a key in its group; undefined for one of no group. */
export type RankOf = (judged: Judged) => Place | undefined;

/**
 * Ranks keys, which come most recently used first, within the groups that they form, in one pass. A key of no project is of no
 * project's group.
 */
export function rankByGroup(mostRecentFirst: Judged[], per: Grouping): RankOf {
  const groups = new Map<ScopeFacts, Map<string | null, { count: number; isKnown: boolean }>>();
  const places = new Map<Judged, { group: { count: number; isKnown: boolean }; rank: number }>();
  for (const each of mostRecentFirst) {
    const id = each.key[fieldOf[per]];
    if (id === null && per === 'project') continue;
    const ofScope = groups.get(each.scope) ?? new Map<string | null, { count: number; isKnown: boolean }>();
    const group = ofScope.get(id) ?? { count: 0, isKnown: true };
    group.count += 1;
    if (each.key.use.state === 'unknown') group.isKnown = false;
    if (group.count === 1) groups.set(each.scope, ofScope.set(id, group));
    places.set(each, { group, rank: group.count });
  }
  return (each) => {
    const place = places.get(each);
    return place && { count: place.group.count, rank: place.group.isKnown ? place.rank : undefined };
  };
}

/** Orders most recently used first, then the unknown, then the never used; among equals the younger, then the smaller number. */
export function byUse(a: Judged, b: Judged): number {
  return b.lastUseMs - a.lastUseMs || b.createdMs - a.createdMs || a.order - b.order;
}

/** The one of some keys of a scope that was used last. */
export function mostRecentlyUsed(keys: KeyFacts[], scope: ScopeFacts): KeyFacts | undefined {
  const [first] = keys.map((key) => toJudged(key, scope, 0)).toSorted(byUse);
  return first?.key;
}
