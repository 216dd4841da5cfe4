import { listOrganizationIds } from '@keywarden/db/daemon';
import type { Db } from '@keywarden/db/store';
import { usageError } from '@keywarden/runtime';

const mostNamed = 10;

/** Throws a UserError if the store has no organization with this id. It names those that are meant most probably. */
export async function requireOrganization(db: Db, id: string): Promise<void> {
  const known = await listOrganizationIds(db);
  if (known.includes(id)) return;
  if (known.length === 0)
    throw usageError(`The store has no organization yet, so ${id} cannot be checked; run keywarden sync keys first.`);
  const similar = known.filter((each) => each.includes(id) || id.includes(each));
  const named = (similar.length > 0 ? similar : known).slice(0, mostNamed);
  throw usageError(
    `There is no organization ${id} in the store; it has ${named.join(', ')}${named.length < known.length ? ' and others' : ''}.`,
  );
}
