import * as store from '@keywarden/db/report';
import {
  findReview,
  type Inventoried,
  type KeyFilter,
  listInventoryHoles,
  type Principal,
  readControlPlaneNow,
} from '@keywarden/db/report';
import { nameOf } from '../access/roles.ts';
import type { Dependencies } from '../environment.ts';
import { notFound, Problem } from '../problem.ts';

export interface AskedReview {
  title: string;
  /** Keys without it. */
  of?: Inventoried;
  filter: KeyFilter;
  /** The filter as it was asked. */
  asked: Record<string, unknown>;
  keepForDays: number;
}

/** Opens a review in the name of whoever asks; answers with its number. Throws a Problem (422) where no key, or too many, are chosen. */
export async function openReview(
  { db, sql }: Dependencies,
  { principal, review }: { principal: Principal; review: AskedReview },
): Promise<string> {
  const asOf = review.filter.asOf ?? (await readControlPlaneNow(db));
  const holes = await listInventoryHoles(db, {
    from: asOf,
    to: asOf,
    organizations: null,
    ...(review.of && { of: review.of }),
  });
  const number = await store.openReview(sql, { ...review, asOf, holes, by: nameOf(principal) });
  if (number !== null) return number;
  throw new Problem(
    422,
    'Cannot be done',
    `A review is of 1 to ${store.mostReviewed} keys; choose others by its filter.`,
  );
}

export interface AskedDecision {
  review: string;
  keys: string[];
  decision: 'keep' | 'revoke' | 'rotate';
  reason: string;
}

/** Decides about keys of an open review, in the name of whoever asks. Throws a Problem for one that is signed, or keys that are not its. */
export async function decideReview(
  { db, sql }: Dependencies,
  { principal, asked }: { principal: Principal; asked: AskedDecision },
): Promise<void> {
  await requireReview(db, asked.review);
  const outcome = await store.decideReview(sql, { ...asked, by: nameOf(principal) });
  if (outcome === 'signed')
    throw new Problem(409, 'Conflict', 'The review is signed, and stays as it is; open another.');
  if (outcome === 'not rotated')
    throw new Problem(422, 'Cannot be done', 'Only API keys are rotated; decide to keep or to revoke the others.');
  if (outcome === 'not its keys') throw new Problem(422, 'Cannot be done', 'Not all of these keys are in the review.');
}

/** Signs a review in the name of whoever asks. Throws a Problem (409) while something is undecided, or where it is signed. */
export async function signReview(
  { db, sql, marks }: Dependencies,
  { principal, review }: { principal: Principal; review: string },
): Promise<Extract<store.Signature, { isSigned: true }>> {
  await requireReview(db, review);
  await marks.move();
  const signature = await store.signReview(sql, { review, by: nameOf(principal) });
  if (signature.isSigned) return signature;
  const { why, undecided } = signature;
  if (why === 'signed') throw new Problem(409, 'Conflict', 'The review is signed already.');
  const keys = undecided === 1 ? '1 key is' : `${undecided} keys are`;
  throw new Problem(409, 'Conflict', `${keys} undecided; decide about each before you sign.`);
}

/** Throws a Problem (404) for a review that is not there. */
export async function requireReview(db: Dependencies['db'], number: string): Promise<{ isSigned: boolean }> {
  const found = await findReview(db, number);
  if (found === undefined) throw notFound('review of this number', '/v1/reviews');
  return found;
}
