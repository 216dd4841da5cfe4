import type { KeyFacts } from './facts.ts';
import type { Grouping, Judged } from './judged.ts';
import type { Rule } from './schema.ts';

/**
 * The facts that a condition was judged on. Only what upstream said and what the policy says, names in order: no time that passes
 * changes it.
 */
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

/** Rule R holds for key K, with the evidence. `explain` says it in words. */
export interface Finding {
  rule: Rule;
  key: KeyFacts;
  /** The control plane's present at which it was judged. */
  nowMs: number;
  evidence: Evidence;
}

/** What the rules say of one key. */
export interface Judgement {
  judged: Judged;
  key: KeyFacts;
  findings: Finding[];
  /** Rules that would revoke it and of which nobody can tell whether they hold, with why. */
  unknowns: { rule: Rule; why: string }[];
}
