import { authenticate, hashCredential, type Principal } from '@keywarden/db/report';
import type { Context } from 'hono';
import { getCookie } from 'hono/cookie';
import type { Env, Services } from '../environment.ts';
import { Problem } from '../problem.ts';
import { describeAccess } from './describe-access.ts';

type Doors = Pick<Services, 'accessSql' | 'failures' | 'accessLog'>;

/** The dashboard's cookie. It has the random id of a session, never a token. */
export const sessionCookie = 'keywarden_session';

/** Returns the cookie's name for a request. Over HTTPS the prefix keeps other hosts and plain HTTP from setting it; browsers refuse it without HTTPS. */
export function cookieNameOf(c: Context<Env>): string {
  return c.get('isHttps') ? `__Host-${sessionCookie}` : sessionCookie;
}

const isSessionId = (secret: string) => secret.startsWith('kws_');

/**
 * Returns the holder of the token in a request's Authorization header, or of the session in the dashboard's cookie; undefined without a valid one.
 * A session can write only from our own pages (Origin).
 */
export async function findPrincipal(c: Context<Env>, doors: Doors): Promise<Principal | undefined> {
  const header = c.req.header('authorization');
  if (header !== undefined) {
    const token = /^Bearer +(\S+)$/i.exec(header)?.[1];
    return token === undefined ? undefined : await checkToken(c, token, { ...doors, event: 'token_refused' });
  }
  const session = getCookie(c, cookieNameOf(c));
  if (session === undefined || !isSessionId(session)) return undefined;
  const principal = await authenticate(doors.accessSql, session);
  if (principal !== undefined) requireOwnOrigin(c);
  return principal;
}

/** Returns the holder of a token. A wrong token is recorded, and counts against the client's network; a valid one is never refused. */
export async function checkToken(
  c: Context<Env>,
  secret: string,
  { accessSql, failures, accessLog, event }: Doors & { event: 'token_refused' | 'sign_in_failed' },
): Promise<Principal | undefined> {
  const principal = isSessionId(secret) ? undefined : await authenticate(accessSql, secret);
  if (principal !== undefined) return principal;
  await accessLog.record(describeAccess(c, { status: 401, event, credential: hashCredential(secret) }));
  await failures.count(c.get('address'));
  return undefined;
}

/** Throws a Problem (403) for a write from another site. Browsers send the site of a form as Origin; other sites must not write with our cookie. */
export function requireOwnOrigin(c: Context<Env>): void {
  if (['GET', 'HEAD', 'OPTIONS'].includes(c.req.method)) return;
  const origin = c.req.header('origin') ?? '';
  const { host, protocol } = URL.canParse(origin) ? new URL(origin) : {};
  if (host === undefined || host !== c.get('host') || protocol !== (c.get('isHttps') ? 'https:' : 'http:'))
    throw new Problem(403, 'Forbidden', 'The request was not sent from a page of this site.');
}
