import { authenticateToken, type Principal } from '@keywarden/db/report';
import type { Sql } from '@keywarden/db/store';
import type { Context } from 'hono';
import { getCookie } from 'hono/cookie';
import type { Env } from '../environment.ts';
import { Problem } from '../problem.ts';
import type { FailureLimit } from './failures.ts';

/** The dashboard's cookie, which holds the token that was signed in with. */
export const cookieName = 'keywarden_token';

/**
 * The holder of the request's token, from its Authorization header or the dashboard's cookie; undefined where there is none that is live.
 * A token of a cookie writes only for pages of our own (Origin).
 */
export async function findPrincipal(
  c: Context<Env>,
  { accessSql, failures }: { accessSql: Sql; failures: FailureLimit },
): Promise<Principal | undefined> {
  const header = c.req.header('authorization');
  const secret = header === undefined ? getCookie(c, cookieName) : /^Bearer +(\S+)$/i.exec(header)?.[1];
  if (secret === undefined) return undefined;
  const principal = await checkToken(c, secret, { accessSql, failures });
  if (header === undefined && principal !== undefined) requireOwnOrigin(c);
  return principal;
}

/** The holder of a token that somebody shows; a wrong one is counted against the address. */
export async function checkToken(
  c: Context<Env>,
  secret: string,
  { accessSql, failures }: { accessSql: Sql; failures: FailureLimit },
): Promise<Principal | undefined> {
  const address = c.get('address');
  await failures.check(address);
  const principal = await authenticateToken(accessSql, secret);
  if (principal === undefined) await failures.count(address);
  return principal;
}

/** A browser says from which site a form was sent; another site's form may not write with our cookie. */
export function requireOwnOrigin(c: Context<Env>): void {
  if (['GET', 'HEAD', 'OPTIONS'].includes(c.req.method)) return;
  const origin = c.req.header('origin') ?? '';
  const host = URL.canParse(origin) ? new URL(origin).host : undefined;
  if (host === undefined || host !== c.get('host'))
    throw new Problem(403, 'Forbidden', 'This was not sent from a page of this site.');
}
