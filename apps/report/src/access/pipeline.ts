import type { Context, MiddlewareHandler } from 'hono';
import type { Env, Services } from '../environment.ts';
import { toProblem } from '../problem.ts';
import { findPrincipal } from './authenticate.ts';
import { describeAccess } from './describe-access.ts';
import { type Access, requireAccess } from './roles.ts';

/**
 * Authenticates a request, and records it with the status of its answer (P1). `refuse` answers a request without a valid token: the API
 * with a problem, the archive in the control plane's shape, the dashboard with its sign-in page. Reads of metrics are not access to
 * evidence and are not recorded.
 */
export function authenticated(
  doors: Pick<Services, 'accessSql' | 'failures' | 'accessLog' | 'limits'>,
  refuse: (c: Context<Env>) => Response,
  { isRecorded = true }: { isRecorded?: boolean } = {},
): MiddlewareHandler<Env> {
  return async (c, next) => {
    const principal = await findPrincipal(c, doors);
    if (principal === undefined) return refuse(c);
    c.set('principal', principal);
    // Errors of a handler have already become answers when this returns.
    await doors.limits.run(c.req.raw, principal.token, next).catch(async (error: unknown) => {
      if (isRecorded) await doors.accessLog.record(describeAccess(c, { status: toProblem(error).status }));
      throw error;
    });
    // A stream records its own start.
    const isStream = c.get('isStream') && c.res.status === 200;
    if (isRecorded && !isStream) await doors.accessLog.record(describeAccess(c, { status: c.res.status }));
    return undefined;
  };
}

/** Returns a middleware that checks access. It throws a Problem (403) that names what is missing. */
export function permitted(access: Access): MiddlewareHandler<Env> {
  return async (c, next) => {
    requireAccess(c.get('principal'), access);
    await next();
  };
}
