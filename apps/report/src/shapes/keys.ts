import { z } from '@hono/zod-openapi';

export const kinds = z.enum(['personal', 'organization', 'project']);
export const states = z.enum(['active', 'missing', 'gone', 'unknown']).openapi({
  description: 'missing: one listing lacks it, two say gone. unknown: at that past time it may have been gone',
});

/** A key as every list of ours shows it. Ids are int64, so they are text. */
export const keyItem = z
  .strictObject({
    number: z.string().openapi({ description: "The store's own number of the key: the one in its address here" }),
    control_plane: z.string(),
    scope: z.string(),
    id: z.string(),
    kind: kinds,
    name: z.string(),
    organization_id: z.string().nullable(),
    project_id: z.string().nullable(),
    creator: z.strictObject({ id: z.string(), name: z.string().nullable() }),
    owner: z.string(),
    state: states,
    created_at: z.string(),
    last_used_at: z.string().nullable(),
    last_used_from: z.string().nullable(),
    first_seen_at: z.string(),
    last_seen_at: z.string().nullable(),
    gone_at: z.string().nullable(),
  })
  .openapi('Key');

export const inventoryHole = z
  .strictObject({
    control_plane: z.string(),
    scope: z.string(),
    from: z.string().nullable(),
    to: z.string().nullable(),
  })
  .openapi('InventoryHole', { description: 'Of these times nobody knows whether other keys came and went there' });

export const keyObservation = z
  .strictObject({
    seen_at: z.string(),
    event: z.enum(['first_seen', 'changed', 'missing', 'gone', 'back', 'revoked']),
    record: z.record(z.string(), z.unknown()).nullable(),
    run: z.string().nullable(),
  })
  .openapi('KeyObservation');

export const keyUse = z
  .strictObject({ last_used_at: z.string(), address: z.string().nullable(), hour: z.string() })
  .openapi('KeyUse');
