import { randomUUID } from 'node:crypto';
import { OpenAPIHono } from '@hono/zod-openapi';
import { isStillLive } from '@keywarden/db/report';
import type { Logger } from '@keywarden/runtime';
import type { Context, MiddlewareHandler } from 'hono';
import { bodyLimit } from 'hono/body-limit';
import { etag } from 'hono/etag';
import { secureHeaders } from 'hono/secure-headers';
import { createAccessLog } from './access/access-log.ts';
import { authenticated, readTransport } from './access/authenticate.ts';
import { allowWhole, permitted } from './access/roles.ts';
import { renderErrorPage, wantsPage } from './dashboard/layout.ts';
import { overviewPage } from './dashboard/overview.ts';
import { makeReport } from './dashboard/page.ts';
import { signInPages } from './dashboard/sign-in.ts';
import { createSuggestions } from './dashboard/suggestions.ts';
import { createStreams } from './export/stream.ts';
import { createFailureLimit, createLimits } from './limits/limits.ts';
import { createMetrics } from './metrics.ts';
import { badParameter, issueInWords, Problem, renderProblem, toLoggedProblem } from './problem.ts';
import { addResources } from './resources/index.ts';
import { hasEtag } from './route.ts';
import { archiveRoutes } from './routes/archive.ts';
import { assetRoutes } from './routes/assets.ts';
import { describeApi } from './routes/docs.ts';
import { makeDocument } from './routes/document.ts';
import { ledgerRoutes } from './routes/ledger.ts';
import { addProbes } from './routes/probes.ts';
import type { Dependencies, Env, Services } from './services.ts';

/** Returns the report as an app that never listens. Probes, the API description and assets are open; everything else requires a token. */
export function createApp(dependencies: Dependencies): OpenAPIHono<Env> {
  const { log, transport, peerOf, sql, accessSql = sql, heavySql = sql, exportSql = sql } = dependencies;
  const limits = createLimits(dependencies.requestsPerMinute, { light: sql, heavy: heavySql });
  const accessLog = createAccessLog(accessSql);
  const metrics = createMetrics();
  const services: Services = {
    ...dependencies,
    accessSql,
    db: limits.reader,
    limits,
    accessLog,
    failures: createFailureLimit(),
    streams: createStreams({
      sql: exportSql,
      log,
      accessLog,
      isStillLive: async (principal) => await isStillLive(accessSql, principal),
    }),
    suggestions: createSuggestions(limits.sharedReader, log),
  };
  const app = new OpenAPIHono<Env>({
    defaultHook: (result) => {
      if (!result.success) throw badParameter(`${issueInWords(result.error)}. /docs lists the parameters.`);
    },
  });

  addHeaders(app, dependencies, metrics.measure);
  addProbes(app, services);
  app.use(readTransport(transport, peerOf));
  app.use(bodyLimit({ maxSize: 1_000_000, onError: refuseLongBody }));
  app.get(
    '/metrics',
    authenticated(services, refuseUnauthenticated, { isRecorded: false }),
    permitted(allowWhole('viewer')),
    async (c) => c.body(await metrics.render(), 200, { 'content-type': metrics.contentType }),
  );
  assetRoutes(app);
  // Made once, when all routes are known.
  let texts: ReturnType<typeof describeApi> | undefined;
  const textsOnce = () => (texts ??= describeApi(makeDocument(app)));
  app.get('/docs', (c) => c.html(textsOnce().page));
  app.openAPIRegistry.registerComponent('securitySchemes', 'token', { type: 'http', scheme: 'bearer' });
  app.get('/openapi.json', (c) => c.body(textsOnce().json, 200, { 'content-type': 'application/json' }));
  app.route('/api/v2', archiveRoutes(services));
  app.route('/ledger', ledgerRoutes(services, authenticated(services, refuseUnauthenticated)));

  app.use('/v1/*', authenticated(services, refuseUnauthenticated));
  const revalidate = etag();
  app.use('/v1/*', async (c, next) => {
    if (!hasEtag(c.req.path)) return await next();
    c.header('cache-control', 'private, no-cache');
    return await revalidate(c, next);
  });
  const report = makeReport(app, services);
  signInPages(app, services);
  overviewPage(report);
  addResources(report);

  addErrors(app, log);
  return app;
}

/** Adds the id of each request, its measurement, and the headers of every answer. */
function addHeaders(app: OpenAPIHono<Env>, { log, transport }: Dependencies, measure: MiddlewareHandler<Env>): void {
  app.use(async (c, next) => {
    c.set('requestId', randomUUID());
    c.set('isStream', false);
    await next();
    c.header('x-request-id', c.get('requestId'));
  });
  app.use(measure);
  app.use(async (c, next) => {
    await next();
    // The server would fail while it writes such a header.
    if ([...c.res.headers.values()].some((value) => /[^\t\u0020-\u007e\u0080-\u00ff]/.test(value))) {
      log.error({ request: c.get('requestId'), path: c.req.path }, 'an answer has a header that cannot be sent');
      c.res = renderProblem(c, new Problem(500, 'Internal error', 'The answer cannot be sent.'));
    }
  });
  app.use(
    secureHeaders({
      contentSecurityPolicy: {
        defaultSrc: ["'none'"],
        scriptSrc: ["'self'"],
        styleSrc: ["'self'"],
        imgSrc: ["'self'", 'data:'],
        connectSrc: ["'self'"],
        formAction: ["'self'"],
        baseUri: ["'none'"],
        frameAncestors: ["'none'"],
      },
      strictTransportSecurity: transport.isTls || transport.proxies.length > 0 ? 'max-age=31536000' : false,
      referrerPolicy: 'same-origin',
      xFrameOptions: 'DENY',
    }),
  );
  app.use(async (c, next) => {
    await next();
    if (!c.res.headers.has('cache-control')) c.header('cache-control', 'no-store');
  });
}

/** Adds the answers for an unknown address, another method, and each error: a page for browsers, else a problem. */
function addErrors(app: OpenAPIHono<Env>, log: Logger): void {
  const render = (c: Context<Env>, problem: Problem) =>
    wantsPage(c) ? renderErrorPage(c, problem) : renderProblem(c, problem);
  app.notFound((c) => {
    const allowed = methods.filter((method) =>
      app.router.match(method, c.req.path)[0].some(([[, route]]) => route.method === method),
    );
    if (allowed.length === 0)
      return render(c, new Problem(404, 'Not found', 'This address does not exist; /docs lists the routes.'));
    const why = `This address takes ${allowed.join(' and ')} only.`;
    // Hono answers HEAD as it answers GET.
    const allow = allowed.flatMap((method) => (method === 'GET' ? ['GET', 'HEAD'] : [method])).join(', ');
    return render(c, new Problem(405, 'Method not allowed', why, { allow }));
  });
  app.onError((error, c) => render(c, toLoggedProblem(error, c, log)));
}

const methods = ['GET', 'POST', 'PUT', 'PATCH', 'DELETE'];

function refuseUnauthenticated(): never {
  throw new Problem(
    401,
    'Unauthenticated',
    'Send Authorization: Bearer with a valid token; create one with keywarden token create.',
  );
}

function refuseLongBody(): never {
  throw new Problem(413, 'Too long', 'The body is longer than 1,000,000 bytes; split it into several requests.');
}
