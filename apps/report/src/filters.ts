import { z } from '@hono/zod-openapi';
import {
  type ExemptionFilter,
  type FindingFilter,
  type IncidentFilter,
  incidentKinds,
  type KeyFilter,
  type OperationFilter,
  type RevocationFilter,
  type RotationFilter,
} from '@keywarden/db/report';
import { digits, instant, lasting, range, word } from './parameters.ts';
import { rotationStates } from './shapes/governance.ts';
import { credentialTypes, kinds, states } from './shapes/keys.ts';

// What lists, exports and pages of the dashboard are filtered by, and how the store is asked for it.

export const keyFilters = {
  organization_id: word.optional(),
  project_id: word.optional(),
  kind: kinds.optional(),
  state: states.optional(),
  creator_id: word.optional(),
  owner: word.optional().openapi({ description: 'Who answers for the key, as the list shows it' }),
  idle_for: lasting
    .optional()
    .openapi({ description: 'Not used for longer than this (90d), or created before and never used' }),
  older_than: lasting.optional().openapi({ description: 'Created longer ago than this: 365d' }),
  q: word.optional().openapi({ description: 'Part of a name' }),
  as_of: instant.optional().openapi({ description: 'As keys were at this past time, as far as listings tell' }),
};

const { organization_id, project_id, state, owner, idle_for, older_than, q, as_of } = keyFilters;

export const credentialFilters = {
  organization_id,
  project_id,
  branch_id: word.optional(),
  kind: credentialTypes.optional(),
  state,
  holder: word.optional().openapi({ description: 'Who may get in by it' }),
  owner,
  idle_for,
  older_than,
  expires_within: lasting
    .optional()
    .openapi({ description: 'Expires before so long has passed (14d), or has expired' }),
  expires: z
    .enum(['true', 'false'])
    .optional()
    .openapi({ description: 'Only those that expire, or only those that never do' }),
  q,
  as_of,
};

export function toCredentialFilter(asked: z.output<z.ZodObject<typeof credentialFilters>>): KeyFilter {
  const { branch_id: branchId, holder, expires, expires_within: expiresWithinMs, kind, ...rest } = asked;
  return {
    ...toKeyFilter(rest),
    kind,
    branchId,
    holder,
    expiresWithinMs,
    expires: expires === undefined ? undefined : expires === 'true',
  };
}

export function toKeyFilter(asked: z.output<z.ZodObject<typeof keyFilters>>): KeyFilter {
  return {
    organizationId: asked.organization_id,
    projectId: asked.project_id,
    kind: asked.kind,
    state: asked.state,
    creatorId: asked.creator_id,
    owner: asked.owner,
    text: asked.q,
    idleMs: asked.idle_for,
    ageMs: asked.older_than,
    asOf: asked.as_of,
  };
}

export const findingFilters = {
  plan_id: word.optional().openapi({ description: 'The newest plan without it' }),
  rule: word.optional(),
  action: z.enum(['report', 'notify', 'rotate', 'revoke']).optional(),
  disposition: z.enum(['planned', 'held', 'reported']).optional(),
  key_id: digits.optional(),
  key: digits.optional().openapi({ description: "The key's number here" }),
};

export function toFindingFilter(asked: z.output<z.ZodObject<typeof findingFilters>>): FindingFilter {
  const { plan_id: planId, rule, action, disposition, key_id: keyId, key: keyNumber } = asked;
  return { planId, rule, action, disposition, keyId, keyNumber };
}

export const revocationFilters = {
  organization_id: word.optional(),
  key: digits.optional().openapi({ description: "The key's number here" }),
  plan_id: word.optional(),
  cause: z.enum(['plan', 'rotation']).optional(),
  outcome: z.enum(['revoked', 'gone', 'not_revoked', 'failed', 'open']).optional(),
  ...range,
};

export function toRevocationFilter(asked: z.output<z.ZodObject<typeof revocationFilters>>): RevocationFilter {
  const { organization_id: organizationId, key: keyNumber, plan_id: planId, cause, outcome, from, to } = asked;
  return { organizationId, keyNumber, planId, cause, outcome, from, to };
}

export const incidentFilters = {
  kind: z.enum(incidentKinds).optional(),
  state: z.enum(['open', 'closed']).optional(),
  key: digits.optional(),
  ...range,
};

export function toIncidentFilter(asked: z.output<z.ZodObject<typeof incidentFilters>>): IncidentFilter {
  const { key: keyNumber, ...rest } = asked;
  return { ...rest, keyNumber };
}

export const exemptionFilters = {
  state: z.enum(['in_force', 'ended', 'lapsed']).optional(),
  key: digits.optional(),
};

export function toExemptionFilter(asked: z.output<z.ZodObject<typeof exemptionFilters>>): ExemptionFilter {
  return { state: asked.state, keyNumber: asked.key };
}

export const rotationFilters = {
  state: rotationStates.optional(),
  open: z
    .enum(['true', 'false'])
    .optional()
    .openapi({ description: 'Only those that are open, or only those that have ended' }),
  key: digits.optional().openapi({ description: 'Of this key, or of another of its line' }),
  ...range,
};

export function toRotationFilter(asked: z.output<z.ZodObject<typeof rotationFilters>>): RotationFilter {
  const { key: keyNumber, open, ...rest } = asked;
  return { ...rest, keyNumber, open: open === undefined ? undefined : open === 'true' };
}

export const operationFilters = {
  project_id: word.optional(),
  branch_id: word.optional(),
  endpoint_id: word.optional(),
  action: word.optional(),
  status: word.optional(),
  from: instant.optional().openapi({ description: 'Created at this instant or later' }),
  to: instant.optional().openapi({ description: 'Created before this instant' }),
};

export function toOperationFilter(asked: z.output<z.ZodObject<typeof operationFilters>>): OperationFilter {
  const { project_id: projectId, branch_id: branchId, endpoint_id: endpointId, action, status, from, to } = asked;
  return { projectId, branchId, endpointId, action, status, from, to };
}
