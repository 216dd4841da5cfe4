import { clientNetwork, makeNetworkTest } from '@keywarden/core/values';
import { type Access, authenticate, hashCredential, type Principal } from '@keywarden/db/report';
import type { Context, MiddlewareHandler } from 'hono';
import { getCookie } from 'hono/cookie';
import { pathOf } from '../parameters.ts';
import { forbidden, Problem, toProblem } from '../problem.ts';
import type { Env, Services, Transport } from '../services.ts';

type AuthenticationServices = Pick<Services, 'accessSql' | 'failures' | 'accessLog'>;

const isLoopback = makeNetworkTest(['127.0.0.0/8', '::1']);

/** Returns whether only this machine can reach a listen name or address. */
export function isLocal(host: string): boolean {
  return host === 'localhost' || isLoopback(host) === true;
}

/** Sets the client's address, the hosts and the protocol. Rejects requests from other machines without HTTPS, whose tokens would cross in clear text. */
export function readTransport({ isTls, proxies }: Transport, peerOf: (c: Context) => string): MiddlewareHandler<Env> {
  const isProxy = makeNetworkTest(proxies);
  return async (c, next) => {
    const peer = peerOf(c);
    const chain = isProxy(peer) ? forwarded(c.req.header('x-forwarded-for')).map(withoutPort) : [];
    // A client whose own address is in a range of proxies is the first of the chain.
    const client = chain.findLast((address) => !isProxy(address)) ?? chain[0] ?? peer;
    const isHttps =
      isTls || (isProxy(peer) === true && forwarded(c.req.header('x-forwarded-proto')).at(-1) === 'https');
    c.set('address', client);
    c.set('hosts', forwarded((isProxy(peer) && c.req.header('x-forwarded-host')) || c.req.header('host')));
    c.set('isHttps', isHttps);
    if (!isHttps && isLoopback(client) !== true)
      throw new Problem(
        403,
        'HTTPS required',
        'Other machines can reach the report only over HTTPS; use an https:// address.',
      );
    await next();
  };
}

const forwarded = (header: string | undefined) =>
  (header ?? '')
    .split(',')
    .map((each) => each.trim())
    .filter(Boolean);

/** Returns an address without the port and the brackets that some proxies add: each connection of a client has another port. */
const withoutPort = (hop: string) => hop.replace(/^(?:\[(.*)\]|([\d.]+))(?::\d+)?$/, '$1$2');

/**
 * Authenticates a request, and records it with the status of its answer (P1). `onUnauthenticated` answers a request without a valid token: the API
 * with a problem, the archive in the control plane's shape, the dashboard with its sign-in page. Reads of metrics are not access to
 * evidence and are not recorded.
 */
export function authenticated(
  services: AuthenticationServices & Pick<Services, 'limits'>,
  onUnauthenticated: (c: Context<Env>) => Response,
  { isRecorded = true }: { isRecorded?: boolean } = {},
): MiddlewareHandler<Env> {
  return async (c, next) => {
    const principal = await findPrincipal(c, services);
    if (principal === undefined) return onUnauthenticated(c);
    c.set('principal', principal);
    // Errors of a handler have already become answers when this returns.
    await services.limits.run(c.req.raw, principal.token, next).catch(async (error: unknown) => {
      if (isRecorded) await services.accessLog.record(describeAccess(c, { status: toProblem(error).status }));
      throw error;
    });
    // A stream records its own start.
    const isStream = c.get('isStream') && c.res.status === 200;
    if (isRecorded && !isStream) await services.accessLog.record(describeAccess(c, { status: c.res.status }));
    return undefined;
  };
}

/** Returns a request as an entry of the access log. */
export function describeAccess(
  c: Context<Env>,
  {
    status,
    event = 'request',
    credential = c.get('principal').credential,
  }: { status: number; event?: Access['event']; credential?: string },
): Access {
  const { search } = new URL(c.req.url);
  return {
    requestId: c.get('requestId'),
    credential,
    address: c.get('address'),
    network: clientNetwork(c.get('address')),
    method: c.req.method,
    path: pathOf(c.req.url),
    query: search.slice(1),
    status,
    stream: null,
    records: null,
    sha256: null,
    fileSha256: null,
    event,
  };
}

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
export async function findPrincipal(c: Context<Env>, services: AuthenticationServices): Promise<Principal | undefined> {
  const header = c.req.header('authorization');
  if (header !== undefined) {
    const token = /^Bearer +(\S+)$/i.exec(header)?.[1];
    return token === undefined ? undefined : await checkToken(c, token, { ...services, event: 'token_refused' });
  }
  const session = getCookie(c, cookieNameOf(c));
  if (session === undefined || !isSessionId(session)) return undefined;
  const principal = await authenticate(services.accessSql, session);
  if (principal !== undefined) requireOwnOrigin(c);
  return principal;
}

/** Returns the holder of a token. A wrong token is recorded, and counts against the client's network; a valid one is never refused. */
export async function checkToken(
  c: Context<Env>,
  secret: string,
  { accessSql, failures, accessLog, event }: AuthenticationServices & { event: 'token_refused' | 'sign_in_failed' },
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
  if (host === undefined || !c.get('hosts').includes(host) || protocol !== (c.get('isHttps') ? 'https:' : 'http:'))
    throw forbidden('The request was not sent from a page of this site.');
}
