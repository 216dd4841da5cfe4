import { policyFile } from '@keywarden/core/ledger';
import { canonicalJson, sha256 as sha256Of } from '@keywarden/core/values';
import { z } from 'zod';
import type { Archive } from '../archive.ts';
import { parseOnce } from '../json.ts';
import type { Verdict } from '../verdict.ts';
import { type EventIndex, findEvent } from './events.ts';
import type { Binding, Row } from './sources.ts';

// The documents of an evidence archive, compared with the events that have their hash or text.

interface Document {
  file: string;
  events: EventIndex;
  verdict: Verdict;
}

/** Compares the document of a signed review with what was signed. Returns whether it is that. */
function compareReview({ file, events, verdict }: Document, review: string, sha256: string): boolean {
  const signed = findEvent(events, 'review.signed', { review_number: review })?.content.sha256;
  if (signed === undefined) verdict.unproven.push(`${file}: its signature has no receipt`);
  else if (signed === sha256) verdict.proven.push(`${file} is what was signed`);
  else verdict.wrong.push(`${file} is not what was signed`);
  return signed === sha256;
}

/** What the document of a signed review has: fields of the review, and the hash of each item by the number of its key. */
export interface SignedReview {
  review: Row;
  items: Map<string, string>;
}

const documentSchema = z.object({
  review: z.record(z.string(), z.unknown()),
  items: z.array(z.looseObject({ key: z.looseObject({ number: z.string() }), decision: z.string() })),
});

/** Compares the documents of signed reviews with what was signed. Returns those that are that, by the number of the review. */
export async function readReviews(
  archive: Archive,
  listed: { file: string; sha256: string }[],
  { events, verdict }: Omit<Document, 'file'>,
): Promise<Map<string, SignedReview>> {
  const reviews = new Map<string, SignedReview>();
  for (const { file, sha256 } of listed) {
    const review = reviewFile.exec(file)?.[1];
    if (review === undefined || !compareReview({ file, events, verdict }, review, sha256)) continue;
    reviews.set(review, readReview(await archive.text(file)));
  }
  return reviews;
}

export const reviewFile = /^reviews\/(\d+)\.json$/;

function readReview(text: string): SignedReview {
  const { review, items } = documentSchema.parse(JSON.parse(text));
  const countOf = (decision: string) => items.filter((item) => item.decision === decision).length;
  const counts = { keys: items.length, keep: countOf('keep'), revoke: countOf('revoke'), rotate: countOf('rotate') };
  return {
    review: { ...review, ...counts, undecided: 0 },
    items: new Map(items.map((item) => [item.key.number, hashOfRow(item)])),
  };
}

const hashOfRow = (row: Row) => sha256Of(canonicalJson(row));

/** Compares a row with the document of its review. Returns the fields that are compared, and whether they are what was signed; null without a document. */
export function compareWithReview(
  row: Row,
  { document }: Binding,
  reviews: Map<string, SignedReview>,
): { fields: string[]; isSame: boolean } | null {
  const signed = document === undefined ? undefined : reviews.get(String(row[document.review]));
  if (signed === undefined) return null;
  if (document?.is === 'item') {
    const { number } = (row.key ?? {}) as Row;
    return { fields: Object.keys(row), isSame: signed.items.get(String(number)) === hashOfRow(row) };
  }
  const fields = Object.keys(signed.review);
  const partOf = (whole: Row) => canonicalJson(Object.fromEntries(fields.map((field) => [field, whole[field]])));
  return { fields, isSame: partOf(row) === partOf(signed.review) };
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
