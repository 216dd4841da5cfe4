import { z } from '@hono/zod-openapi';

const operation = {
  id: z.string(),
  project_id: z.string(),
  organization_id: z.string(),
  branch_id: z.string().nullable(),
  endpoint_id: z.string().nullable(),
  action: z.string(),
  status: z.string(),
  failures_count: z.int(),
  error: z.string().nullable(),
  retry_at: z.string().nullable(),
  created_at: z.string(),
  updated_at: z.string(),
  total_duration_ms: z.int().nullable(),
  extra: z.record(z.string(), z.unknown()).nullable().openapi({ description: 'Fields that came and have no column' }),
  seen_at: z.string().openapi({ description: 'When this version was first seen' }),
};

export const operationItem = z
  .strictObject({
    ...operation,
    last_seen_upstream_at: z
      .string()
      .nullable()
      .openapi({ description: 'When a completed walk last found it at the control plane; null before the first' }),
  })
  .openapi('Operation');

export const operationVersion = z
  .strictObject({
    ...operation,
    replaced_at: z
      .string()
      .nullable()
      .openapi({ description: 'When another version replaced it; null for the newest' }),
  })
  .openapi('OperationVersion');

export const operationBucket = z
  .strictObject({
    start: z.string(),
    project_id: z.string().nullable(),
    action: z.string().nullable(),
    status: z.string().nullable(),
    operations: z.int(),
    with_failures: z.int(),
    mean_duration_ms: z.int().nullable(),
  })
  .openapi('OperationBucket');

export const organizationItem = z
  .strictObject({
    id: z.string(),
    control_plane: z.string(),
    name: z.string(),
    created_at: z.string(),
    first_seen_at: z.string(),
    last_seen_at: z.string(),
  })
  .openapi('Organization');

export const projectItem = z
  .strictObject({
    id: z.string(),
    control_plane: z.string(),
    organization_id: z.string(),
    name: z.string(),
    region_id: z.string().nullable(),
    created_at: z.string(),
    first_seen_at: z.string(),
    last_seen_at: z.string(),
    gone_at: z.string().nullable(),
    walked_at: z.string().nullable(),
  })
  .openapi('Project');

const interval = { from: z.string(), to: z.string(), from_included: z.boolean(), to_included: z.boolean() };
const holeReasons = z.enum(['recent', 'deleted', 'not_walked', 'pruned', 'gap', 'instant', 'unreadable', 'retention']);

export const operationCoverage = z
  .strictObject({
    control_plane: z.string(),
    organization_id: z.string(),
    project_id: z.string(),
    name: z.string(),
    created_at: z.string(),
    walked_at: z.string().nullable(),
    gone_at: z.string().nullable(),
    last_listed_at: z.string(),
    known: z.array(z.strictObject(interval)),
    unknown: z.array(z.strictObject({ ...interval, reason: holeReasons })),
  })
  .openapi('OperationCoverage');

export const inventoryCoverage = z
  .strictObject({
    control_plane: z.string(),
    scope: z.string(),
    first_listed_at: z.string().nullable(),
    last_listed_at: z.string().nullable(),
    listings: z.int(),
    gaps: z.array(z.strictObject({ from: z.string(), to: z.string() })),
    doubt: z.strictObject({ since: z.string(), why: z.string() }).nullable().openapi({
      description: 'Why the newest listings conclude nothing, and since when',
    }),
  })
  .openapi('InventoryCoverage');

export const connectionItem = z
  .strictObject({
    name: z.string(),
    control_plane: z.string(),
    account_id: z.string(),
    auth_method: z.string(),
    own_key_id: z.string().nullable(),
    is_sandbox: z.boolean(),
    checked_at: z.string(),
    removed_at: z.string().nullable(),
    scopes: z.array(z.strictObject({ scope: z.string(), seen_at: z.string() })),
    blind_spots: z.array(
      z.strictObject({
        kind: z.enum(['personal_keys', 'members_unknown', 'listing_old', 'own_key_unknown']),
        scope: z.string().nullable(),
        members: z.int().nullable(),
        since: z.string().nullable(),
      }),
    ),
  })
  .openapi('Connection');
