import * as store from '@keywarden/db/report';
import { cannotBeDone, conflict, notFound } from '../problem.ts';
import { requireOne } from '../route.ts';
import type { Services } from '../services.ts';

/** The keys that a person asks to review, and how long kept ones need no other review. */
export type ReviewRequest = Omit<store.Chosen, 'asOf' | 'holes' | 'principal'>;

/** Opens a review on behalf of the principal and returns its number. Throws a Problem (422) if the filter selects no key or too many. */
export async function openReview(
  services: Services,
  { principal, title, review }: { principal: store.Principal; title: string; review: ReviewRequest },
): Promise<string> {
  const chosen = await choose(services, review, principal);
  return requireOpened(await store.openReview(services, { ...chosen, title }), 'review');
}

/** Opens a campaign of reviews in the same way. Also throws a Problem (422) for a due date that has passed or is over a year away. */
export async function openCampaign(
  services: Services,
  {
    principal,
    settings,
    review,
  }: { principal: store.Principal; settings: store.NewCampaign['settings']; review: ReviewRequest },
): Promise<string> {
  const chosen = await choose(services, review, principal);
  const { number, isDue } = await store.openCampaign(services, { ...chosen, settings });
  if (!isDue) throw cannotBeDone('due_at must be in the future, and at most a year away.');
  return requireOpened(number, 'campaign');
}

/** Cancels a campaign on behalf of the principal. Throws a Problem if it does not exist (404) or is already canceled (409). */
export async function cancelCampaign(
  { db, sql }: Services,
  request: { campaign: string; reason: string; principal: store.Principal },
): Promise<void> {
  const list = store.campaignList({ number: request.campaign });
  await requireOne(db, list, ['campaign with this number', '/v1/campaigns']);
  if (!(await store.cancelCampaign(sql, request))) throw conflict('The campaign is already canceled.');
}

async function choose({ db }: Services, review: ReviewRequest, principal: store.Principal): Promise<store.Chosen> {
  const asOf = review.filter.asOf ?? (await store.readControlPlaneNow(db));
  const of = review.of && { of: review.of };
  const holes = await store.listInventoryGaps(db, { from: asOf, to: asOf, organizations: null, ...of });
  return { ...review, asOf, holes, principal };
}

function requireOpened(number: string | null, what: 'review' | 'campaign'): string {
  if (number !== null) return number;
  throw cannotBeDone(`A ${what} covers 1 to ${store.mostReviewed} keys; change its filter.`);
}

/** Throws a Problem if the daemon has no sink for the new secrets of these keys. */
export async function requireSink(db: Services['db'], keys: string[]): Promise<void> {
  if ((await store.readEnforcementState(db))?.sinks !== 0) return;
  if (!(await store.areOwnKeys(db, keys)))
    throw cannotBeDone(
      'No sink is configured, so no key can be rotated; add one to sinks in keywarden.yaml, or keep or revoke the keys.',
    );
}

/** Records decisions about keys of an open review on behalf of the principal. Throws a Problem for a signed review, or for keys outside it. */
export async function decideReview({ db, sql }: Services, request: store.NewDecision): Promise<void> {
  await requireReview(db, request.review);
  // The daemon would refuse the rotation after the signature.
  if (request.decision === 'rotate') await requireSink(db, request.keys);
  const outcome = await store.decideReview(sql, request);
  if (outcome === 'signed') throw conflict('The review is signed and cannot change; open another.');
  if (outcome === 'not rotated') throw cannotBeDone('Only API keys can be rotated; keep or revoke the others.');
  const what = request.decision === 'keep' ? 'keep these keys' : `${request.decision} keys`;
  if (outcome === 'no reason') throw cannotBeDone(`A reason is required to ${what}; give one.`);
  if (outcome === 'not its keys') throw cannotBeDone('Some of these keys are not in the review.');
}

/**
 * Signs a review on behalf of the principal. Throws a Problem (409) if a key is undecided, if the review is already signed, or if it is no longer as
 * in the document with the SHA-256 `seen`.
 */
export async function signReview(
  { db, sql, marks }: Services,
  request: { principal: store.Principal; review: string; seen: string | undefined },
): Promise<Extract<store.Signature, { isSigned: true }>> {
  await requireReview(db, request.review);
  const signature = await marks.around(async () => await store.signReview(sql, request));
  if (signature.isSigned) return signature;
  const { why, undecided } = signature;
  if (why === 'signed') throw conflict('The review is already signed.');
  if (why === 'changed') throw conflict('The review has changed since you read it; look at it again, then sign.');
  const keys = undecided === 1 ? '1 key is' : `${undecided} keys are`;
  throw conflict(`${keys} undecided; decide about every key before you sign.`);
}

/** Throws a Problem (404) if there is no such review. */
export async function requireReview(db: Services['db'], number: string): Promise<void> {
  if (!(await store.hasReview(db, number))) throw notFound('review with this number', '/v1/reviews');
}
