import { Hono } from 'hono';
import { HTTPException } from 'hono/http-exception';
import { accountOf, authenticate } from './access/authenticate.ts';
import { createLimitCounter } from './access/limits.ts';
import { controls } from './controls/controls.ts';
import { strike } from './controls/fault-middleware.ts';
import { Refusal, renderRefusal } from './http/errors.ts';
import { routeOf } from './http/route.ts';
import { moveOperations } from './resources/operations.ts';
import { apiKeyRoutes } from './routes/api-keys.ts';
import { operationRoutes } from './routes/operations.ts';
import { organizationRoutes } from './routes/organizations.ts';
import { projectRoutes } from './routes/projects.ts';
import { userRoutes } from './routes/users.ts';
import type { Env, State } from './state.ts';
import { SECOND } from './store/time.ts';

const noRoute = { status: 404, code: '', message: 'this route does not exist' } as const;

/** The control plane as an app that never listens: /api/v2 is the service, /_sandbox its own controls. */
export function createApp(state: State): Hono {
  const api = new Hono<Env>();
  const counter = createLimitCounter();

  api.use(async (c, next) => {
    const route = routeOf(c);
    if (route === undefined) return renderRefusal(c, noRoute);
    const name = `${c.req.method} ${route}`;
    let principal: Env['Variables']['principal'];
    try {
      principal = authenticate(c, state);
    } catch (error) {
      state.stats.count(name, false);
      throw error;
    }
    const now = state.clock.now();
    const allowed = counter.allow(state.limits, accountOf(principal), name, now);
    state.stats.count(name, !allowed);
    if (!allowed) throw new Refusal(429, 'rate limit exceeded');
    moveOperations(state.db, now);
    c.set('principal', principal);
    await strike(c, state.faults.match(c.req.method, route), next);
    return undefined;
  });
  userRoutes(api, state);
  organizationRoutes(api, state);
  projectRoutes(api, state);
  apiKeyRoutes(api, state);
  operationRoutes(api, state);

  const app = new Hono();
  app.use(async (c, next) => {
    await next();
    if (c.res.headers.has('x-hono-already-sent')) return;
    c.res.headers.set('Date', new Date(Math.floor((state.clock.now() / SECOND) * 1000)).toUTCString());
    c.res.headers.set('Server', 'keywarden-sandbox');
    if (Object.values(state.limits).every((limit) => limit === null)) c.res.headers.set('X-Sandbox-Limits', 'off');
  });
  app.route('/api/v2', api);
  app.route('/_sandbox', controls(state));
  app.notFound((c) => renderRefusal(c, noRoute));
  app.onError((error, c) => {
    if (error instanceof Refusal) return renderRefusal(c, error);
    if (error instanceof HTTPException) return renderRefusal(c, { status: 400, code: '', message: error.message });
    console.error(error);
    return renderRefusal(c, { status: 500, code: '', message: 'internal error' });
  });
  return app;
}
