import { policyFile } from '@keywarden/core/ledger';
import { z } from 'zod';
import { type EventIndex, findEvent } from './evidence-events.ts';
import { parseOnce } from './json.ts';
import type { Verdict } from './verdict.ts';

// The documents of an evidence archive, compared with the events that have their hash or text.

interface Document {
  file: string;
  events: EventIndex;
  verdict: Verdict;
}

/** Compares the document of a signed review with what was signed. */
export function compareReview({ file, events, verdict }: Document, review: string, sha256: string): void {
  const signed = findEvent(events, 'review.signed', { review_number: review })?.content.sha256;
  if (signed === undefined) verdict.unproven.push(`${file}: its signature has no receipt`);
  else if (signed === sha256) verdict.proven.push(`${file} is what was signed`);
  else verdict.wrong.push(`${file} is not what was signed`);
}

const policySchema = z.looseObject({ sha256: z.string() });

/** Returns the hash of a policy that the ledger recorded; null for any other. */
export function comparePolicy({ file, text, events, verdict }: Document & { text: string }): string | null {
  const { sha256 } = policySchema.parse(parseOnce(text));
  const stored = findEvent(events, 'policy.stored', { sha256 })?.content;
  if (typeof stored?.document !== 'string') {
    verdict.unproven.push(`${file}: the policy has no receipt`);
    return null;
  }
  // Letter by letter: parsers read other digits of a number as the same, and leave out fields with a name that every object has.
  const { document, first_used_at: usedFrom } = stored;
  const recorded = typeof usedFrom === 'string' ? policyFile({ usedFrom, sha256, document }) : null;
  if (text !== recorded?.text || file !== recorded.name) {
    verdict.wrong.push(`${file} is not the policy that the ledger recorded`);
    return null;
  }
  verdict.proven.push(`${file} is a policy that the ledger recorded`);
  return sha256;
}
