import { authenticateToken, type Principal } from '@keywarden/db/report';
import type { Sql } from '@keywarden/db/store';
import type { Context } from 'hono';
import { getCookie } from 'hono/cookie';
import type { Env } from '../environment.ts';
import { Problem } from '../problem.ts';
import type { FailureLimit } from './failures.ts';

/** The dashboard's cookie, which holds the token from sign-in. */
export const cookieName = 'keywarden_token';

/**
 * Returns the holder of the request's token, from its Authorization header or the dashboard's cookie; undefined without a valid token.
 * A token from a cookie can write only from our own pages (Origin).
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

/** Returns the holder of a token. A wrong token counts against the client's network; a valid one is never refused. */
export async function checkToken(
  c: Context<Env>,
  secret: string,
  { accessSql, failures }: { accessSql: Sql; failures: FailureLimit },
): Promise<Principal | undefined> {
  const principal = await authenticateToken(accessSql, secret);
  if (principal === undefined) await failures.count(c.get('address'));
  return principal;
}

/** Throws a Problem (403) for a write from another site. Browsers send the site of a form as Origin; other sites must not write with our cookie. */
export function requireOwnOrigin(c: Context<Env>): void {
  if (['GET', 'HEAD', 'OPTIONS'].includes(c.req.method)) return;
  const origin = c.req.header('origin') ?? '';
  const { host, protocol } = URL.canParse(origin) ? new URL(origin) : {};
  if (host === undefined || host !== c.get('host') || protocol !== (c.get('isHttps') ? 'https:' : 'http:'))
    throw new Problem(403, 'Forbidden', 'The request was not sent from a page of this site.');
}
