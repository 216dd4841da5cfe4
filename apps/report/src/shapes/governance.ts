import { z } from '@hono/zod-openapi';
import { incidentKinds } from '@keywarden/db/report';
import { allKinds } from './keys.ts';

// What plans and findings, and what became of them, look like in every answer.

const keyReference = z.strictObject({
  number: z.string().openapi({ description: "The store's own number of the key: the one in its address here" }),
  scope: z.string(),
  id: z.string(),
  kind: allKinds,
  name: z.string(),
  organization_id: z.string().nullable(),
});

export const findingItem = z
  .strictObject({
    plan_id: z.string(),
    rule: z.string(),
    action: z.enum(['report', 'notify', 'rotate', 'revoke']),
    disposition: z.enum(['planned', 'held', 'reported']),
    why_held: z.string().nullable(),
    hold_kind: z.string().nullable(),
    limit: z.string(),
    reason: z.string(),
    evidence: z.record(z.string(), z.unknown()),
    key: keyReference,
  })
  .openapi('Finding');

export const planItem = z
  .strictObject({
    id: z.string(),
    sha256: z.string(),
    policy_sha256: z.string().nullable(),
    created_at: z.string(),
    last_made_at: z.string().openapi({ description: 'When the same facts last gave this plan' }),
    items: z.int(),
    held: z.int(),
    reported: z.int(),
    approvals: z.int(),
    approvers: z.int().openapi({ description: 'Persons whose approval counts now' }),
    approvers_needed: z.int(),
    rejected: z.boolean(),
    revoked: z.int().openapi({ description: 'Keys that were revoked under this plan' }),
  })
  .openapi('Plan');

export const planDecision = z
  .strictObject({
    plan_id: z.string(),
    decision: z.enum(['approved', 'rejected']),
    by: z.string(),
    via: z.enum(['command line', 'report', 'enforcement']),
    reason: z.string().nullable(),
    at: z.string(),
    ended: z.enum(['done', 'stopped']).nullable(),
  })
  .openapi('PlanDecision');

export const runItem = z
  .strictObject({
    id: z.string(),
    kind: z.enum(['keys', 'operations', 'credentials']),
    connection: z.string(),
    status: z.enum(['running', 'finished', 'failed', 'interrupted']),
    started_at: z.string(),
    finished_at: z.string().nullable(),
    counts: z.record(z.string(), z.number()),
    error: z.object({ type: z.string(), code: z.string(), message: z.string().optional() }).nullable(),
  })
  .openapi('Run');

export const revocationItem = z
  .strictObject({
    id: z.string(),
    key: keyReference,
    cause: z.enum(['plan', 'rotation']),
    plan_id: z.string().nullable(),
    rotation_id: z.string().nullable(),
    approved_by: z.string().nullable(),
    via: z.string().nullable(),
    reasons: z.array(z.strictObject({ rule: z.string().nullable(), reason: z.string() })),
    connection: z.string(),
    policy_sha256: z.string().nullable(),
    intended_at: z.string(),
    judged_at: z.string().nullable().openapi({ description: "The control plane's time at which the key was judged" }),
    outcome: z
      .enum(['revoked', 'gone', 'not_revoked', 'failed', 'open'])
      .openapi({ description: 'gone: not there any more, and not known to be by us. open: listings have to tell' }),
    ended_at: z.string().nullable(),
    used_in_flight: z.boolean(),
  })
  .openapi('Revocation');

export const incidentItem = z
  .strictObject({
    id: z.string(),
    kind: z.enum(incidentKinds),
    state: z.enum(['open', 'closed']),
    opened_at: z.string(),
    scope: z.string().nullable(),
    key: z.strictObject({ number: z.string(), id: z.string(), name: z.string() }).nullable(),
    plan_id: z.string().nullable(),
    detail: z.record(z.string(), z.unknown()),
    closed_at: z.string().nullable(),
    closed_by: z.string().nullable(),
    note: z.string().nullable(),
  })
  .openapi('Incident');

export const exemptionItem = z
  .strictObject({
    id: z.string(),
    rules: z.array(z.string()).nullable().openapi({ description: 'null: from every rule' }),
    reason: z.string(),
    pattern: z.string().nullable(),
    granted_by: z.string(),
    granted_at: z.string(),
    until: z.string(),
    state: z.enum(['in_force', 'ended', 'lapsed']),
    ended_at: z.string().nullable(),
    ended_by: z.string().nullable(),
    keys: z.array(keyReference.pick({ number: true, id: true, name: true, organization_id: true })),
  })
  .openapi('Exemption');

export const rotationStates = z.enum([
  'planned',
  'minting',
  'minted',
  'delivered',
  'overlapping',
  'adopted',
  'retiring',
  'retired',
  'failed',
  'orphaned',
  'stalled',
]);

export const rotationItem = z
  .strictObject({
    id: z.string(),
    key: keyReference,
    successor_id: z.string().nullable(),
    rule: z.string().nullable(),
    sink: z.string(),
    state: rotationStates,
    since: z.string(),
    why: z.string().nullable(),
    via: z.enum(['policy', 'command line', 'report']),
    requested_by: z.string(),
    opened_at: z.string(),
    ended_at: z.string().nullable(),
    given_up_by: z.string().nullable(),
    events: z.array(z.strictObject({ state: rotationStates, at: z.string(), why: z.string().nullable() })),
  })
  .openapi('Rotation');

export const rotationRequestItem = z
  .strictObject({
    id: z.string(),
    key: keyReference,
    requested_by: z.string(),
    reason: z.string(),
    requested_at: z.string(),
    answered_at: z.string().nullable(),
    rotation_id: z.string().nullable(),
    why_not: z.string().nullable(),
  })
  .openapi('RotationRequest');
