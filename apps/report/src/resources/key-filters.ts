import { z } from '@hono/zod-openapi';
import type { Camelled } from '@keywarden/core/values';
import { credentialItem, type KeyFilter, keyItem, type Reader, readControlPlaneNow } from '@keywarden/db/report';
import { flag, instant, lasting, word } from '../parameters.ts';
import { badParameter } from '../problem.ts';

export const keyFilters = {
  organization_id: word.optional(),
  project_id: word.optional(),
  kind: keyItem.shape.kind.optional(),
  state: keyItem.shape.state.optional(),
  creator_id: word.optional(),
  owner: word.optional().openapi({ description: 'The owner of the key, as shown in the list' }),
  rule: word.optional().openapi({ description: 'A rule that matches the key in the newest plan, also with as_of' }),
  idle_for: lasting
    .optional()
    .openapi({ description: 'Last used longer ago than this (90d), or created longer ago and never used' }),
  use: keyItem.shape.use.optional(),
  older_than: lasting.optional().openapi({ description: 'Created longer ago than this: 365d' }),
  q: word.optional().openapi({ description: 'Part of a name' }),
  as_of: instant
    .optional()
    .openapi({ description: 'Shows keys as they were at this past time, according to the listings' }),
};

const { organization_id, project_id, state, owner, idle_for, older_than, q, as_of } = keyFilters;

export const credentialFilters = {
  organization_id,
  project_id,
  branch_id: word.optional(),
  kind: credentialItem.shape.kind.optional(),
  state,
  holder: word.optional().openapi({ description: 'Who can use the credential' }),
  owner,
  idle_for,
  older_than,
  expires_within: lasting.optional().openapi({ description: 'Expires within this time (14d), or has expired' }),
  expires: flag
    .optional()
    .openapi({ description: 'true: only credentials that expire; false: only those that are known never to expire' }),
  q,
  as_of,
};

type KeyQuery = Camelled<z.output<z.ZodObject<typeof keyFilters>>>;
type CredentialQuery = Camelled<z.output<z.ZodObject<typeof credentialFilters>>>;

/** Returns filters of keys or credentials in the form that the store takes. */
export function toKeyFilter(request: KeyQuery | CredentialQuery): KeyFilter {
  const { idleFor: idleMs, olderThan: ageMs, q: text, ...rest } = request;
  return {
    ...rest,
    text,
    idleMs,
    ageMs,
    expiresWithinMs: 'expiresWithin' in request ? request.expiresWithin : undefined,
  };
}

/** Throws a Problem (400) for an `as_of` in the future, for which there are no observations. */
export async function requirePast(db: Reader, asOf: string | undefined): Promise<void> {
  if (asOf === undefined) return;
  const controlPlaneNow = await readControlPlaneNow(db);
  if (Date.parse(asOf) > Date.parse(controlPlaneNow) + 300_000)
    throw badParameter(`as_of: is in the future; by the control plane's clock it is ${controlPlaneNow}.`);
}
