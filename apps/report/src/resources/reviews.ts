import { z } from '@hono/zod-openapi';
import * as store from '@keywarden/db/report';
import { html } from 'hono/html';
import { allowWhole, mayAct } from '../access/roles.ts';
import { decideReview, openReview, requireReview, signReview } from '../actions/reviews.ts';
import { columnsFor } from '../dashboard/columns.ts';
import { ago, link, time } from '../dashboard/html.ts';
import { exportLinks, type Report } from '../dashboard/page.ts';
import { digits, reason } from '../parameters.ts';
import { addFile, addResource } from '../resource.ts';
import { addList, addRoute, type Missing, requireItem, requireOne } from '../route.ts';
import { choiceFields, coversBoth, coversOne, openForm, toReviewRequest } from './review-choice.ts';
import { decisionFilter, decisions, documentHash, reviewPages } from './review-pages.ts';

const access = allowWhole('viewer');
const auditor = allowWhole('auditor');
const params = z.object({ review: digits });

const newReview = z.strictObject(choiceFields).refine(coversOne, coversBoth).openapi('NewReview');

const decision = z
  .strictObject({
    keys: z.array(digits).min(1).max(1000),
    decision: decisions,
    reason: reason.optional().openapi({
      description: 'Required, except to keep keys for which the campaign of the review requires none',
    }),
  })
  .openapi('NewDecision');

/** Adds access reviews: keys as of a time, a decision about each, and a signature. */
export function addReviews(report: Report): void {
  addResource(report, {
    name: 'reviews',
    summary: 'Access reviews, newest first',
    access,
    item: store.reviewItem,
    filters: { state: store.reviewItem.shape.state.optional(), campaign_id: digits.optional() },
    list: ({ query }) => store.reviewList(query),
    page: {
      title: 'Reviews',
      fields: { state: 'State' },
      proof: 'review',
      columns: columnsFor(store.reviewItem, {
        title: { label: 'Review', cell: ({ id, title }) => link(`/reviews/${id}`, title) },
        state: 'State',
        as_of: 'Keys as of',
        keys: 'Keys',
        undecided: 'Undecided',
        due_at: { label: 'Due', cell: ({ due_at: due }) => (due === null ? '' : ago(due)) },
        opened_by: 'Opened by',
        signed_at: {
          label: 'Signed',
          cell: (review) => (review.signed_at === null ? '' : html`${time(review.signed_at)} by ${review.signed_by}`),
        },
      }),
      empty: 'There is no access review yet.',
      below: async ({ principal }) =>
        mayAct(principal, 'auditor')
          ? html`${exportLinks('reviews')}${openForm(await report.suggestions('organization_id', principal.organizations))}`
          : '',
    },
  });
  addFile(report, {
    name: 'reviews',
    summary: 'The keys of one access review, or of all, with the decision about each, as a file',
    access,
    filters: { review: digits.optional() },
    item: store.reviewedKey,
    list: ({ query }) => store.reviewItemList(query),
    async check({ db, query: { review } }) {
      if (review !== undefined) await requireReview(db, review);
    },
    async trailer({ db, query: { review } }) {
      if (review === undefined) return { holes: await listGapsOfReviews(db) };
      const found = await requireItem(db, store.reviewList({ number: review }), missing);
      const { state, signed_by, signed_at, sha256, as_of, holes } = found;
      return { as_of, state, signed_by, signed_at, review_sha256: sha256, holes };
    },
  });
  addReads(report);
  addActions(report);
  reviewPages(report);
}

/** Returns the gaps of all reviews, each with the review that it is of. */
async function listGapsOfReviews(db: store.Reader): Promise<object[]> {
  const reviews = await store.readItems(db, store.reviewList({}), Number.MAX_SAFE_INTEGER);
  return reviews.flatMap(({ id, holes }) => holes.map((hole) => ({ review_id: id, ...hole })));
}

const missing: Missing = ['review with this number', '/v1/reviews'];

const showReview = async (db: store.Reader, number: string) =>
  await requireOne(db, store.reviewList({ number }), missing);

function addReads(report: Report): void {
  const { db, sql } = report;
  addRoute(report, {
    path: '/v1/reviews/{review}',
    summary: 'One review and its progress',
    access,
    params,
    response: store.reviewItem,
    handle: async ({ params: { review } }) => await showReview(db, review),
  });
  addList(report, {
    path: '/v1/reviews/{review}/keys',
    summary: 'The frozen keys of a review, with the decision about each, and what a reviewer needs to know of it',
    access,
    params,
    filters: decisionFilter,
    item: store.reviewedKeyInContext,
    list: async ({ params: { review }, query }) => {
      await requireReview(db, review);
      return store.reviewItemsInContext({ review, decision: query.decision });
    },
  });
  addList(report, {
    path: '/v1/reviews/{review}/decisions',
    summary: 'Every decision of a review, including replaced ones, oldest first',
    access,
    params,
    item: store.reviewDecision,
    list: async ({ params: { review } }) => {
      await requireReview(db, review);
      return store.reviewDecisionList(review);
    },
  });
  addRoute(report, {
    path: '/v1/reviews/{review}/document',
    summary: 'The canonical JSON of a review; the signature has its SHA-256',
    access,
    params,
    response: z.object({
      review: z.record(z.string(), z.unknown()),
      items: z.array(z.record(z.string(), z.unknown())),
    }),
    handle: async ({ params: { review } }) => {
      await requireReview(db, review);
      return await store.readReviewDocument(sql, review);
    },
  });
}

function addActions(report: Report): void {
  const { db } = report;
  addRoute(report, {
    method: 'post',
    path: '/v1/reviews',
    summary: 'Opens a review of a frozen snapshot of keys: those that exist now, or existed at as_of',
    access: auditor,
    body: newReview,
    response: store.reviewItem,
    status: 201,
    handle: async ({ c, body, principal }) => {
      const review = await toReviewRequest(db, body, await c.req.json<z.input<typeof newReview>>());
      return await showReview(db, await openReview(report, { principal, title: body.title, review }));
    },
  });
  addRoute(report, {
    method: 'post',
    path: '/v1/reviews/{review}/decisions',
    summary: 'Decides about keys of an open review: keep, revoke or rotate, with a reason; the newest decision counts',
    access: auditor,
    params,
    body: decision,
    response: store.reviewItem,
    status: 201,
    handle: async ({ params: { review }, body, principal }) => {
      await decideReview(report, { review, ...body, reason: body.reason ?? null, principal });
      return await showReview(db, review);
    },
  });
  addRoute(report, {
    method: 'post',
    path: '/v1/reviews/{review}/signature',
    summary: 'Signs a fully decided review: it can no longer change, and its decisions take effect',
    access: allowWhole('operator'),
    params,
    query: z.strictObject({
      sha256: documentHash.optional().openapi({
        description:
          'The SHA-256 of the document that you have read. A review that has changed since is not signed (409)',
      }),
    }),
    response: z
      .strictObject({
        sha256: z.string(),
        exemptions: z
          .int()
          .openapi({ description: 'Keys that were kept against rules and are exempt from them for a time' }),
        rotations: z.int().openapi({ description: 'Requested rotations' }),
        revocations: z.int().openapi({
          description:
            'Keys to revoke, which the next plan flags: a person approves it, unless the policy enforces a rule on reviewed_out',
        }),
        to_end_upstream: z.int().openapi({
          description: 'Credentials that Keywarden cannot revoke: a person must end them in the control plane',
        }),
      })
      .openapi('Signature'),
    status: 201,
    handle: async ({ params: { review }, query: { sha256: seen }, principal }) => {
      const { isSigned: _isSigned, ...effects } = await signReview(report, { principal, review, seen });
      return effects;
    },
  });
}
