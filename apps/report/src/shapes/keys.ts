import { z } from '@hono/zod-openapi';
import { credentialKinds, keyKinds, otherKinds } from '@keywarden/core/wire';

export const kinds = z.enum(keyKinds);
export const allKinds = z.enum(credentialKinds);
export const credentialTypes = z.enum(otherKinds).openapi({
  description:
    'branch_credential: for the storage, AI gateway and functions of a branch; role: a database role with a password; project_permission: a project shared with an address; project_member: who of the organization may do what in a project; jwks: a key set whose tokens a project believes',
});
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

/** What else than an API key lets somebody in, as every list of ours shows it. */
export const credentialItem = keyItem
  .extend({
    kind: credentialTypes,
    created_at: z.string().nullable().openapi({ description: 'Null where upstream does not say it' }),
    branch_id: z.string().nullable(),
    holder: z.string().nullable().openapi({ description: 'Who may get in by it, where upstream says' }),
    expires_at: z.string().nullable(),
    detail: z.record(z.string(), z.unknown()).nullable().openapi({ description: 'What else its list says; no secret' }),
  })
  .openapi('Credential');

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
