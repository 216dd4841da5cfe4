import type { Facts, Judgement } from '@keywarden/core/policy';
import type { Connection } from '../connect.ts';

/** One pass over all rotations. */
export interface Run {
  connections: Connection[];
  /** What the policy says of the keys, as they were listed for this pass. */
  facts: Facts;
  judgements: Judgement[];
  /** Names of connections whose credential was refused in this run. */
  refused: Set<string>;
  /** Sinks that did not take a secret in this run, with why: no other is minted for them. */
  failedSinks: Map<string, string>;
}
