import type { Access as RecordedAccess } from '@keywarden/db/report';
import type { Context, MiddlewareHandler } from 'hono';
import type { Env, Services } from '../environment.ts';
import { findPrincipal } from './authenticate.ts';
import { type Access, requireAccess } from './roles.ts';

/**
 * Authenticates a request, and records it with the status of its answer, whatever that is (P1). `refuse` answers a request without a live token:
 * the API with a problem, the archive in the control plane's shape, the dashboard with its sign-in page. Figures for a scraper are no evidence, and are
 * not recorded.
 */
export function authenticated(
  { accessSql, failures, accessLog }: Pick<Services, 'accessSql' | 'failures' | 'accessLog'>,
  refuse: (c: Context<Env>) => Response,
  { isRecorded = true }: { isRecorded?: boolean } = {},
): MiddlewareHandler<Env> {
  return async (c, next) => {
    const principal = await findPrincipal(c, { accessSql, failures });
    if (principal === undefined) return refuse(c);
    c.set('principal', principal);
    // What a handler throws has become an answer when this returns.
    await next();
    // A stream has recorded its beginning itself.
    const isStream = c.get('isStream') && c.res.status === 200;
    if (isRecorded && !isStream) await accessLog.record(describeAccess(c, c.res.status));
    return undefined;
  };
}

/** Lets only those pass who may. Throws a Problem (403) that says what is missing. */
export function permitted(access: Access): MiddlewareHandler<Env> {
  return async (c, next) => {
    requireAccess(c.get('principal'), access);
    await next();
  };
}

/** A request as the access log keeps it. */
export function describeAccess(c: Context<Env>, status: number): RecordedAccess {
  const { pathname, search } = new URL(c.req.url);
  return {
    requestId: c.get('requestId'),
    token: c.get('principal').token,
    address: c.get('address'),
    method: c.req.method,
    path: pathname,
    query: search.slice(1),
    status,
    stream: null,
    records: null,
    sha256: null,
  };
}
