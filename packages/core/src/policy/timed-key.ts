import { toMs } from '../values/time.ts';
import type { KeyFacts, ScopeFacts } from './facts.ts';

/** A key with its times as numbers, because each time is compared often. */
export interface TimedKey {
  key: KeyFacts;
  /** The key's number, which orders equal keys. */
  order: number;
  /** Its index among the keys that are judged together, from 0. */
  index: number;
  scope: ScopeFacts;
  nowMs: number;
  createdMs: number;
  /** 0 if never used, 1 if unknown: both sort before any real use. */
  lastUseMs: number;
}

export type Grouping = 'organization' | 'creator' | 'project';

/** Returns a key with its times as numbers. */
export function toTimedKey(key: KeyFacts, at: Pick<TimedKey, 'scope' | 'nowMs' | 'index'>): TimedKey {
  const { scope, nowMs, index } = at;
  const createdMs = toMs(key.createdAt);
  return { key, order: Number(key.number), index, scope, nowMs, createdMs, lastUseMs: lastUseMs(key) };
}

/** Returns the last use in ms; 0 or 1, below any real time, if there is none. */
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
