import { credentialKinds } from '@keywarden/core/wire';
import { sql } from 'drizzle-orm';
import { z } from 'zod';
import { jsonOf } from '../item.ts';

/** A reference to a key in items that concern it: enough to find and to recognize the key. */
export const keyReference = z.strictObject({
  number: z.string().meta({ description: "The key's own number in the store, which is used in its address here" }),
  scope: z.string(),
  id: z.string(),
  kind: z.enum(credentialKinds),
  name: z.string(),
  organization_id: z.string().nullable(),
});

const fields = { number: sql`k.number::text` };

/** The reference to the credential or key `k`. */
export const referenceToKey = jsonOf(keyReference, 'k', fields);

/**
 * The owner of the credential or key `k`. A join with the view would let a planner that expects few keys compare each with all others, and would be made for
 * counts too.
 */
export const ownerOfKey = sql`(select w.owner from keywarden.key_owner_now w where w.key_number = k.number)`;

/** The name of the organization of the credential or key `k`. */
export const organizationNameOfKey = sql`(select o.name from keywarden.organization o
  where o.control_plane_number = k.control_plane_number and o.id = k.organization_id)`;

/** The fields of a reference that an item does not already have itself. */
export const shortReference = keyReference.pick({ number: true, id: true, name: true });
export const shortReferenceToKey = jsonOf(shortReference, 'k', fields);

/** The same with the organization, for items of several organizations, and with what names the key in the ledger. */
export const listedReference = keyReference
  .pick({ number: true, id: true, name: true, organization_id: true, scope: true })
  .extend({ control_plane: z.string().meta({ description: 'Its address' }) });
export const listedReferenceToKey = jsonOf(listedReference, 'k', {
  ...fields,
  control_plane: sql`(select p.base_url from keywarden.control_plane p where p.number = k.control_plane_number)`,
});
