import { daysInWords } from './duration.ts';
import type { KeyFacts, Use } from './facts.ts';
import { matchesGlob } from './glob.ts';
import type { Rule } from './schema.ts';

/** A key with its times as numbers: each is compared many times. */
export interface Judged {
  key: KeyFacts;
  nowMs: number;
  createdMs: number;
  lastUseMs: number;
}

/** The facts of one key that a condition was judged on. Only what upstream said, names in order: no time that passes changes it. */
export type KeyEvidence =
  | { condition: 'unused_for' | 'never_used_for' | 'older_than'; created_at: string; use: Use }
  | { condition: 'name_not_matching'; created_at: string; name: string; use: Use }
  | { condition: 'creator_left'; created_at: string; creator_id: string; use: Use };

/** What a condition says of a key: the limit that it passed, the evidence, and the sentence. */
export interface Held {
  limit: string;
  evidence: KeyEvidence;
  reason: string;
}

/** Judges one key by the condition of a rule that looks at single keys; undefined where it does not hold, or is not known. */
export function judgeKey(rule: Rule, judged: Judged): Held | undefined {
  const { key, nowMs, createdMs, lastUseMs } = judged;
  const { createdAt, creatorId, creatorName, name } = key;
  const use = orderedUse(key.use);
  if (rule.unused_for !== undefined) {
    const idleMs = nowMs - lastUseMs;
    if (use.state !== 'used' || !(idleMs > rule.unused_for.ms)) return undefined;
    const reason = `last used ${daysInWords(idleMs)} ago, more than ${rule.unused_for.text}`;
    return { limit: rule.unused_for.text, evidence: { condition: 'unused_for', created_at: createdAt, use }, reason };
  }
  const ageMs = nowMs - createdMs;
  if (rule.never_used_for !== undefined) {
    if (use.state !== 'never' || !(ageMs > rule.never_used_for.ms)) return undefined;
    const reason = `never used in the ${daysInWords(ageMs)} since it was created, more than ${rule.never_used_for.text}`;
    const evidence: KeyEvidence = { condition: 'never_used_for', created_at: createdAt, use };
    return { limit: rule.never_used_for.text, evidence, reason };
  }
  if (rule.older_than !== undefined) {
    if (!(ageMs > rule.older_than.ms)) return undefined;
    const reason = `created ${daysInWords(ageMs)} ago, more than ${rule.older_than.text}`;
    return { limit: rule.older_than.text, evidence: { condition: 'older_than', created_at: createdAt, use }, reason };
  }
  if (rule.name_not_matching !== undefined) {
    if (rule.name_not_matching.some((pattern) => matchesGlob(pattern, name))) return undefined;
    const limit = rule.name_not_matching.join(' or ');
    const evidence: KeyEvidence = { condition: 'name_not_matching', created_at: createdAt, name, use };
    return { limit, evidence, reason: `its name "${name}" is not of ${limit}` };
  }
  if (rule.creator_left === true) {
    if (key.creator !== 'left') return undefined;
    const reason = `its creator ${creatorName ?? creatorId} is no member of the organization any more`;
    const evidence: KeyEvidence = { condition: 'creator_left', created_at: createdAt, creator_id: creatorId, use };
    return { limit: 'a member', evidence, reason };
  }
  return undefined;
}

function orderedUse(use: Use): Use {
  return use.state === 'used' ? { at: use.at, from: use.from, state: use.state } : use;
}
