import { readFileSync } from 'node:fs';
import { type Context, Hono } from 'hono';
import { accountOf, authenticate } from './access/authenticate.ts';
import { areOff, createLimitCounter } from './access/limits.ts';
import { controls } from './controls/controls.ts';
import { applyFault } from './controls/fault-middleware.ts';
import { advance } from './engine/advance.ts';
import { Refusal, renderRefusal, requestIdOf } from './http/errors.ts';
import { routeOf } from './http/query.ts';
import { apiKeyRoutes } from './routes/api-keys.ts';
import { branchCredentialRoutes } from './routes/branch-credentials.ts';
import { branchRestoreRoute } from './routes/branch-restore.ts';
import { branchCreateRoute, branchRoutes } from './routes/branches.ts';
import { branchSchemaRoutes, connectionUriRoute, databaseRoutes, roleRoutes } from './routes/catalog.ts';
import { consumptionRoutes } from './routes/consumption.ts';
import { endpointRoutes } from './routes/endpoints.ts';
import { operationRoutes } from './routes/operations.ts';
import { memberRoutes, organizationRoutes } from './routes/organizations.ts';
import { projectJwksRoutes, projectMemberRoutes, projectSharingRoutes } from './routes/project-access.ts';
import { projectListRoutes } from './routes/project-list.ts';
import { projectTransferRoutes } from './routes/project-transfer.ts';
import { projectCreateRoute, projectRoutes } from './routes/projects.ts';
import { backupScheduleRoutes, snapshotRoutes } from './routes/snapshots.ts';
import { userRoutes } from './routes/users.ts';
import type { Env, State } from './state.ts';
import { SECOND } from './store/time.ts';

const routesOf = (api: Hono<Env>): ReadonlySet<string> =>
  new Set(
    api.routes
      .filter(({ method }) => method !== 'ALL')
      .map(({ method, path }) => `${method} ${path.replace(/:(\w+)/g, '{$1}')}`),
  );

const noRoute = { status: 404, code: '', message: 'this route does not exist' } as const;

/** Removes the fractions from times in a body; cursors keep theirs. */
const inWholeSeconds = (body: string) =>
  body.replace(/(?<!"cursor":)"(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d)\.\d+Z"/g, '"$1Z"');

/** Routes of the API document that are not served, as `routes.txt` lists them. */
const unserved = readFileSync(new URL('../routes.txt', import.meta.url), 'utf8')
  .split(/^left out: .*$/m)[1]
  ?.split('\n')
  .filter((line) => line !== '')
  .map((route) => ({ route, pattern: new RegExp(`^${route.replace(/\{\w+\}/g, '[^/]+')}$`) }));

/** Returns the refusal of an unserved route. A client must not mistake such a route for a missing object. */
function refusalOf(method: string, path: string) {
  const known = unserved?.find(({ pattern }) => pattern.test(`${method} ${path}`));
  if (known === undefined) return noRoute;
  return { status: 501, code: '', message: `the sandbox does not serve ${known.route}` } as const;
}

/** If two patterns match one path, like /projects/shared and /projects/{project_id}, the one with fewer names comes first. */
const routesOfService = [
  userRoutes,
  organizationRoutes,
  memberRoutes,
  apiKeyRoutes,
  projectListRoutes,
  projectCreateRoute,
  projectRoutes,
  projectSharingRoutes,
  projectMemberRoutes,
  projectJwksRoutes,
  projectTransferRoutes,
  branchRoutes,
  branchCreateRoute,
  branchRestoreRoute,
  branchCredentialRoutes,
  branchSchemaRoutes,
  backupScheduleRoutes,
  endpointRoutes,
  databaseRoutes,
  roleRoutes,
  connectionUriRoute,
  snapshotRoutes,
  operationRoutes,
  consumptionRoutes,
];

/** Creates the control plane as an app that never listens: /api/v2 is the service, /_sandbox its own controls. */
export function createApp(state: State): Hono {
  const api = new Hono<Env>();
  const countRequest = createLimitCounter();

  api.use(async (c, next) => {
    const route = routeOf(c);
    if (route === undefined) return renderRefusal(c, refusalOf(c.req.method, c.req.path.replace('/api/v2', '')));
    const name = `${c.req.method} ${route}`;
    const now = state.clock.now();
    advance(state, now);
    let principal: Env['Variables']['principal'];
    try {
      principal = authenticate(c, state);
    } catch (error) {
      state.stats.count(name, false);
      throw error;
    }
    const allowed = countRequest(state.limits, accountOf(principal), name, now);
    state.stats.count(name, !allowed);
    if (!allowed) throw new Refusal(429, 'rate limit exceeded');
    c.set('state', state);
    c.set('principal', principal);
    await applyFault(c, { fault: state.faults.match(c.req.method, route), closing: state.closing }, async () => {
      // After a wait, more work may be due.
      const answeredAt = state.clock.now();
      advance(state, answeredAt);
      c.set('answeredAt', answeredAt);
      await next();
    });
    return undefined;
  });
  for (const routes of routesOfService) routes(api, state);

  const app = new Hono();
  app.use(async (c: Context<{ Variables: Partial<Env['Variables']> }>, next) => {
    await next();
    if (c.res.headers.has('x-hono-already-sent')) return;
    const isJson = /\bjson\b/.test(c.res.headers.get('content-type') ?? '');
    const isToChange = state.settings.times === 'seconds' && c.get('timesAreRendered') !== true;
    if (isJson && isToChange && c.req.path.startsWith('/api/'))
      c.res = new Response(inWholeSeconds(await c.res.text()), c.res);
    // Never later than the data that was read: the clock may be moved while a response is written.
    const at = c.get('answeredAt') ?? state.clock.now();
    c.res.headers.set('Date', new Date(Math.floor((at / SECOND) * 1000)).toUTCString());
    c.res.headers.set('Server', 'keywarden-sandbox');
    c.res.headers.set('X-Neon-Ret-Request-Id', requestIdOf(c));
    if (areOff(state.limits)) c.res.headers.set('X-Sandbox-Limits', 'off');
  });
  app.route('/api/v2', api);
  app.route('/_sandbox', controls(state, routesOf(api)));
  app.notFound((c) => renderRefusal(c, noRoute));
  app.onError((error, c) => {
    if (error instanceof Refusal) return renderRefusal(c, error);
    console.error(error);
    return renderRefusal(c, { status: 500, code: '', message: 'internal error' });
  });
  return app;
}
