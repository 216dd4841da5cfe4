import { type OpenAPIHono, z } from '@hono/zod-openapi';
import { readOne, readReviewDocument, reviewDecisionList, reviewItemList, reviewList } from '@keywarden/db/report';
import { decideReview, openReview, requireReview, signReview } from '../actions/reviews.ts';
import type { Dependencies, Env } from '../environment.ts';
import { credentialFilters, keyFilters, toCredentialFilter, toKeyFilter } from '../filters.ts';
import { digits, reason, word } from '../parameters.ts';
import { notFound } from '../problem.ts';
import { addList, addRoute } from '../route.ts';
import { decisions, reviewedKey, reviewItem } from '../shapes/reviews.ts';
import { requirePast } from './keys.ts';

const access = { role: 'viewer', organizations: 'all' } as const;
const auditor = { role: 'auditor', organizations: 'all' } as const;
const params = z.object({ review: digits });

const newReview = z
  .strictObject({
    title: word,
    keys: z.strictObject(keyFilters).optional().openapi({ description: 'Which keys; all that are there without it' }),
    credentials: z
      .strictObject(credentialFilters)
      .optional()
      .openapi({ description: 'Which credentials that are no API keys, in the place of keys' }),
    keep_for_days: z.int().min(0).max(1000).default(180),
  })
  .refine(({ keys, credentials }) => keys === undefined || credentials === undefined, {
    error: 'a review is of keys or of credentials; open one of each',
  })
  .openapi('NewReview');

const decision = z
  .strictObject({ keys: z.array(digits).min(1).max(1000), decision: decisions, reason })
  .openapi('NewDecision');

/** Access reviews: keys as they were at a time, a decision about each, and a signature. */
export function reviewRoutes(app: OpenAPIHono<Env>, dependencies: Dependencies): void {
  const { db, sql } = dependencies;
  const show = async (number: string) => {
    const found = await readOne(db, reviewList({ number }));
    if (found === undefined) throw notFound('review of this number', '/v1/reviews');
    return found;
  };
  const json = { 'content-type': 'application/json' };

  addList(
    app,
    db,
    {
      path: '/v1/reviews',
      summary: 'Access reviews, newest first',
      access,
      filters: { state: z.enum(['open', 'signed']).optional() },
      item: reviewItem,
    },
    ({ query }) => ({ list: reviewList(query) }),
  );
  addRoute(
    app,
    {
      method: 'post',
      path: '/v1/reviews',
      summary: 'Opens a review over a frozen snapshot of keys: those that are there now, or were at as_of',
      access: auditor,
      body: newReview,
      response: reviewItem,
      status: 201,
    },
    async ({ c, body: { title, keys = {}, credentials, keep_for_days: keepForDays }, principal }) => {
      const { as_of: asOf, state } = credentials ?? keys;
      if (asOf !== undefined) await requirePast(db, asOf);
      // What one listing lacked may be there still, and is looked at too.
      const isThere = state === undefined;
      const review =
        credentials === undefined
          ? { of: 'keys' as const, filter: { ...toKeyFilter(keys), isThere }, asked: keys }
          : {
              of: 'credentials' as const,
              filter: { ...toCredentialFilter(credentials), isThere },
              asked: { credentials },
            };
      return c.body(
        await show(await openReview(dependencies, { principal, review: { title, keepForDays, ...review } })),
        201,
        json,
      );
    },
  );
  addRoute(
    app,
    { path: '/v1/reviews/{review}', summary: 'One review, and how far it is', access, params, response: reviewItem },
    async ({ c, params: { review } }) => c.body(await show(review), 200, json),
  );
  addList(
    app,
    db,
    {
      path: '/v1/reviews/{review}/keys',
      summary: 'The keys of a review as they were frozen, with what was decided of each',
      access,
      params,
      filters: { decision: z.enum(['keep', 'revoke', 'rotate', 'undecided']).optional() },
      item: reviewedKey,
    },
    async ({ params: { review }, query }) => {
      await requireReview(db, review);
      return { list: reviewItemList({ review, decision: query.decision }) };
    },
  );
  addList(
    app,
    db,
    {
      path: '/v1/reviews/{review}/decisions',
      summary: 'Every decision that was made in a review, also those that another replaced, oldest first',
      access,
      params,
      item: z
        .strictObject({
          key_number: z.string(),
          decision: decisions,
          reason: z.string(),
          decided_by: z.string(),
          decided_at: z.string(),
        })
        .openapi('ReviewDecision'),
    },
    async ({ params: { review } }) => {
      await requireReview(db, review);
      return { list: reviewDecisionList(review) };
    },
  );
  addRoute(
    app,
    {
      method: 'post',
      path: '/v1/reviews/{review}/decisions',
      summary:
        'Decides about keys of an open review: keep, revoke or rotate, with a reason; the newest decision counts',
      access: auditor,
      params,
      body: decision,
      response: reviewItem,
      status: 201,
    },
    async ({ c, params: { review }, body, principal }) => {
      await decideReview(dependencies, { principal, asked: { review, ...body } });
      return c.body(await show(review), 201, json);
    },
  );
  addRoute(
    app,
    {
      method: 'post',
      path: '/v1/reviews/{review}/signature',
      summary: 'Signs a review in which everything is decided: it stays as it is, and its decisions take effect',
      access: { role: 'operator', organizations: 'all' },
      params,
      response: z
        .strictObject({
          sha256: z.string(),
          exemptions: z
            .int()
            .openapi({ description: 'Keys that were kept against rules, and are exempt from them for a time' }),
          rotations: z.int().openapi({ description: 'Rotations that were asked for' }),
          revocations: z
            .int()
            .openapi({ description: 'Keys that stand in the next plan, to be revoked when somebody approves it' }),
          to_end_upstream: z.int().openapi({
            description: 'Credentials that are not revoked from here: a person ends them in the control plane',
          }),
        })
        .openapi('Signature'),
      status: 201,
    },
    async ({ c, params: { review }, principal }) => {
      const { isSigned: _isSigned, ...effects } = await signReview(dependencies, { principal, review });
      return c.json(effects, 201);
    },
  );
  addRoute(
    app,
    {
      path: '/v1/reviews/{review}/document',
      summary: 'The canonical JSON of a review, whose SHA-256 its signature has',
      access,
      params,
      response: z.object({
        review: z.record(z.string(), z.unknown()),
        items: z.array(z.record(z.string(), z.unknown())),
      }),
    },
    async ({ c, params: { review } }) => {
      await requireReview(db, review);
      return c.body(await readReviewDocument(sql, review), 200, json);
    },
  );
}
