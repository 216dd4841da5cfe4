import { toMs } from '../values/time.ts';
import type { KeyFacts, ScopeFacts } from './facts.ts';

/** A key with its times as numbers: each is compared many times. */
export interface Judged {
  key: KeyFacts;
  /** The key's number, by which equals are ordered. */
  order: number;
  /** Where it stands among those that are judged with it, from 0. */
  place: number;
  scope: ScopeFacts;
  nowMs: number;
  createdMs: number;
  /** 0 for one never used, 1 where it is unknown: both are older than any use. */
  lastUseMs: number;
}

export type Grouping = 'organization' | 'creator' | 'project';

/** A key's times as numbers. */
export function toJudged(key: KeyFacts, at: Pick<Judged, 'scope' | 'nowMs' | 'place'>): Judged {
  const { scope, nowMs, place } = at;
  const createdMs = toMs(key.createdAt);
  return { key, order: Number(key.number), place, scope, nowMs, createdMs, lastUseMs: lastUseMs(key) };
}

/** The last use in ms; less than any real one where there is none. */
function lastUseMs({ use }: KeyFacts): number {
  switch (use.state) {
    case 'used':
      return toMs(use.at);
    case 'unknown':
      return 1;
    case 'never':
      return 0;
    default:
      return use satisfies never;
  }
}
