import { z } from '@hono/zod-openapi';
import { credentialItem, inventoryHole, keyItem } from './keys.ts';

export const decisions = z.enum(['keep', 'revoke', 'rotate']);

export const reviewItem = z
  .strictObject({
    id: z.string(),
    title: z.string(),
    state: z.enum(['open', 'signed']),
    as_of: z.string(),
    filter: z.record(z.string(), z.unknown()),
    holes: z.array(inventoryHole),
    plan_id: z.string().nullable().openapi({ description: 'The plan whose findings stand beside the keys' }),
    keep_for_days: z.int().openapi({ description: 'How long a key that is kept against rules is exempt from them' }),
    opened_by: z.string(),
    opened_at: z.string(),
    signed_by: z.string().nullable(),
    signed_at: z.string().nullable(),
    sha256: z.string().nullable().openapi({ description: "Of the review's document, once it is signed" }),
    keys: z.int(),
    undecided: z.int(),
    keep: z.int(),
    revoke: z.int(),
    rotate: z.int(),
  })
  .openapi('Review');

export const reviewedKey = z
  .strictObject({
    review_id: z.string(),
    key: z
      .union([keyItem, credentialItem])
      .openapi({ description: 'The key, or the other credential, as it was when the review was opened' }),
    findings: z.array(
      z.strictObject({ rule: z.string(), action: z.string(), disposition: z.string(), reason: z.string() }),
    ),
    decision: decisions.nullable(),
    reason: z.string().nullable(),
    decided_by: z.string().nullable(),
    decided_at: z.string().nullable(),
  })
  .openapi('ReviewedKey');

export const accessItem = z
  .strictObject({
    at: z.string(),
    token: z.strictObject({ id: z.string(), name: z.string(), role: z.enum(['viewer', 'auditor', 'operator']) }),
    address: z.string(),
    method: z.string(),
    path: z.string(),
    query: z.string(),
    status: z.int(),
    stream: z.enum(['begun', 'complete', 'cut']).nullable(),
    records: z.int().nullable(),
    sha256: z.string().nullable(),
    request_id: z.string(),
  })
  .openapi('Access');
