import { credentialKinds } from '@keywarden/core/wire';
import { sql } from 'drizzle-orm';
import { z } from 'zod';
import { jsonOf } from '../item.ts';

/** A key as items that concern it name it: enough to find it, and to recognize it. */
export const keyReference = z.strictObject({
  number: z.string().meta({ description: "The store's own number of the key: the one in its address here" }),
  scope: z.string(),
  id: z.string(),
  kind: z.enum(credentialKinds),
  name: z.string(),
  organization_id: z.string().nullable(),
});

const fields = { number: sql`k.number::text`, id: sql`k.id::text` };

/** The reference to the credential or key `k`. */
export const referenceToKey = jsonOf(keyReference, 'k', fields);

/** What is left of a reference where the item itself says the rest. */
export const shortReference = keyReference.pick({ number: true, id: true, name: true });
export const shortReferenceToKey = jsonOf(shortReference, 'k', fields);

/** The same, with the organization: for items of several. */
export const listedReference = keyReference.pick({ number: true, id: true, name: true, organization_id: true });
export const listedReferenceToKey = jsonOf(listedReference, 'k', fields);
