import { authenticateToken, type Principal } from '@keywarden/db/read';
import type { Db } from '@keywarden/db/store';
import type { Context } from 'hono';
import { Problem } from './problem.ts';

/** The holder of the request's bearer token, or undefined. */
export async function findPrincipal(c: Context, db: Db): Promise<Principal | undefined> {
  const secret = /^Bearer (\S+)$/i.exec(c.req.header('authorization') ?? '')?.[1];
  return secret === undefined ? undefined : await authenticateToken(db, secret);
}

/** Lists that span all organizations are not for tokens that see only some. */
export function requireAllOrganizations({ organizations }: Principal): void {
  if (organizations !== null) {
    throw new Problem(
      403,
      'Forbidden',
      'This token sees only some organizations, and this list spans all; use a token without --organization.',
    );
  }
}
