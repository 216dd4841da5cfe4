import { z } from '@hono/zod-openapi';
import { credentialItem, type KeyFilter, keyItem, type Reader, readControlPlaneNow } from '@keywarden/db/report';
import { flag, instant, lasting, word } from '../parameters.ts';
import { Problem } from '../problem.ts';
import type { Camelled } from '../question.ts';

export const keyFilters = {
  organization_id: word.optional(),
  project_id: word.optional(),
  kind: keyItem.shape.kind.optional(),
  state: keyItem.shape.state.optional(),
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
  kind: credentialItem.shape.kind.optional(),
  state,
  holder: word.optional().openapi({ description: 'Who may get in by it' }),
  owner,
  idle_for,
  older_than,
  expires_within: lasting
    .optional()
    .openapi({ description: 'Expires before so long has passed (14d), or has expired' }),
  expires: flag.optional().openapi({ description: 'Only those that expire, or only those that never do' }),
  q,
  as_of,
};

type KeyQuestion = Camelled<z.output<z.ZodObject<typeof keyFilters>>>;
type CredentialQuestion = Camelled<z.output<z.ZodObject<typeof credentialFilters>>>;

/** Filters of keys or credentials as the store takes them. */
export function toKeyFilter(asked: KeyQuestion | CredentialQuestion): KeyFilter {
  const { idleFor: idleMs, olderThan: ageMs, q: text, ...rest } = asked;
  return { ...rest, text, idleMs, ageMs, expiresWithinMs: 'expiresWithin' in asked ? asked.expiresWithin : undefined };
}

/** Throws a Problem (400) for keys as they will be: nothing was seen of a time that is still to come. */
export async function requirePast(db: Reader, asOf: string | undefined): Promise<void> {
  if (asOf === undefined) return;
  const present = await readControlPlaneNow(db);
  if (Date.parse(asOf) > Date.parse(present) + 300_000)
    throw new Problem(400, 'Bad parameter', `as_of: lies in the future; the control plane's present is ${present}.`);
}
