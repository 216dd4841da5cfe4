import type { KeyFacts } from './facts.ts';
import type { Rule } from './schema.ts';
import type { Grouping, TimedKey } from './timed-key.ts';

/** The facts that a condition was judged on: only upstream data and policy settings, so that it does not change as time passes. */
export type Evidence =
  | { condition: 'unused_for'; last_used_at: string; limit: string }
  | { condition: 'never_used_for' | 'older_than'; created_at: string; limit: string }
  | { condition: 'more_than'; count: number; limit: number; per: Grouping; rank: number }
  | { condition: 'without_expiry'; created_at: string }
  | { condition: 'expires_within'; expires_at: string; limit: string }
  | { addresses: string[]; condition: 'used_outside'; limit: string[] }
  | { condition: 'creator_left'; creator_id: string }
  | { by: string; condition: 'reviewed_out'; decided_at: string; reason: string; review: string }
  | { condition: 'name_not_matching'; limit: string[]; name: string }
  | { by: 'only_project' | 'name'; condition: 'unscoped'; project_id: string }
  | { condition: 'all' | 'any'; of: Evidence[] }
  | { condition: 'not'; of: string };

/** Rule R matches key K, with the evidence. `explain` turns it into text. */
export interface Finding {
  rule: Rule;
  key: KeyFacts;
  /** The control plane's time at which the rule was judged. */
  nowMs: number;
  evidence: Evidence;
  /** Whether rule and organization are both in `mode: enforce`: then the key is revoked without a person (R6). */
  isEnforced: boolean;
}

/** The result of all rules for one key. */
export interface Judgement {
  timed: TimedKey;
  key: KeyFacts;
  findings: Finding[];
  /** Revoking rules whose result is unknown, with the reason. */
  unknowns: { rule: Rule; why: string }[];
}
