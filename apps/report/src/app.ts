import { randomUUID } from 'node:crypto';
import { OpenAPIHono } from '@hono/zod-openapi';
import { pingStore } from '@keywarden/db/report';
import { assertCurrent, type Sql, whyNodesMissing } from '@keywarden/db/store';
import { type Logger, UserError, within } from '@keywarden/runtime';
import type { Context } from 'hono';
import { bodyLimit } from 'hono/body-limit';
import { etag } from 'hono/etag';
import { secureHeaders } from 'hono/secure-headers';
import { createAccessLog } from './access/access-log.ts';
import { authenticated, readTransport } from './access/authenticate.ts';
import { createFailureLimit } from './access/failures.ts';
import { permitted } from './access/roles.ts';
import { renderErrorPage, wantsPage } from './dashboard/layout.ts';
import { overviewPage } from './dashboard/overview.ts';
import { makePages } from './dashboard/page.ts';
import { signInPages } from './dashboard/sign-in.ts';
import { createSuggestions } from './dashboard/suggestions.ts';
import type { Dependencies, Env, Services } from './environment.ts';
import { createStreams } from './export/stream.ts';
import { createLimits } from './limits/limits.ts';
import { createMetrics } from './metrics.ts';
import { badParameter, issueInWords, Problem, renderProblem, toLoggedProblem } from './problem.ts';
import { addResources } from './resources/index.ts';
import { archiveRoutes } from './routes/archive.ts';
import { assetRoutes } from './routes/assets.ts';
import { describeOtherRoutes } from './routes/described.ts';
import { renderDocs } from './routes/docs.ts';
import { makeDocument } from './routes/document.ts';
import { ledgerRoutes } from './routes/ledger.ts';

/** Returns the report as an app that never listens. Probes, the API description and assets are open; everything else requires a token. */
export function createApp(dependencies: Dependencies): OpenAPIHono<Env> {
  const { log, transport, peerOf, sql, accessSql = sql, heavySql = sql, exportSql = sql } = dependencies;
  const limits = createLimits({ light: sql, heavy: heavySql, requestsPerMinute: dependencies.requestsPerMinute });
  const accessLog = createAccessLog(accessSql);
  const metrics = createMetrics();
  const services: Services = {
    ...dependencies,
    accessSql,
    db: limits.reader,
    limits,
    accessLog,
    failures: createFailureLimit(),
    streams: createStreams({ sql: exportSql, log, accessLog }),
    suggestions: createSuggestions(limits.sharedReader, log),
  };
  const app = new OpenAPIHono<Env>({ defaultHook: refuseInvalid });
  const refuse = () => {
    throw new Problem(
      401,
      'Unauthenticated',
      'Send Authorization: Bearer with a valid token; create one with keywarden token create.',
    );
  };

  app.use(async (c, next) => {
    c.set('requestId', randomUUID());
    c.set('isStream', false);
    await next();
    c.header('x-request-id', c.get('requestId'));
  });
  app.use(metrics.measure);
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

  app.get('/healthz', (c) => c.json({ status: 'ok' }));
  const whyNotReadyOnce = oneAtATime(async () => await whyNotReady(accessSql, log));
  const areNodesMissingOnce = oneAtATime(async () => await areNodesMissing(accessSql));
  app.get('/readyz', async (c) => {
    const why =
      limits.whyOverloaded() ?? (await within(probeMs, whyNotReadyOnce(), 'the store does not answer in time'));
    if (why !== null) return c.json({ status: 'not ready', why }, 503);
    // Most of the report does not need the node, and the answer needs no token, so it names no host.
    const lacking = await within(probeMs, areNodesMissingOnce(), false);
    return c.json(lacking ? { status: 'degraded', why: nodesMissing } : { status: 'ready' });
  });
  app.use(readTransport(transport, peerOf));
  app.use(bodyLimit({ maxSize: 1_000_000, onError: () => refuseLongBody() }));
  app.get(
    '/metrics',
    authenticated(services, refuse, { isRecorded: false }),
    permitted({ role: 'viewer', organizations: 'all' }),
    async (c) => c.body(await metrics.render(), 200, { 'content-type': metrics.contentType }),
  );
  assetRoutes(app);
  // Made once, when all routes are known.
  let document: ReturnType<typeof makeDocument> | undefined;
  const documentOnce = () => (document ??= makeDocument(app));
  app.get('/docs', (c) => c.html(renderDocs(documentOnce())));
  app.openAPIRegistry.registerComponent('securitySchemes', 'token', { type: 'http', scheme: 'bearer' });
  app.get('/openapi.json', (c) => c.json(documentOnce()));
  app.route('/api/v2', archiveRoutes(services));
  app.route('/ledger', ledgerRoutes(services, authenticated(services, refuse)));

  app.use('/v1/*', authenticated(services, refuse));
  // Files need no ETag; their last line has their hash.
  const revalidate = etag();
  app.use('/v1/*', async (c, next) => {
    if (/^\/v1\/(exports|evidence)/.test(c.req.path)) return await next();
    c.header('cache-control', 'private, no-cache');
    return await revalidate(c, next);
  });
  describeOtherRoutes(app);
  const pages = makePages(app, services);
  signInPages(app, services);
  overviewPage(pages, services);
  addResources(app, pages, services);

  const render = (c: Context<Env>, problem: Problem) =>
    wantsPage(c) ? renderErrorPage(c, problem) : renderProblem(c, problem);
  app.notFound((c) => render(c, new Problem(404, 'Not found', 'This address does not exist; /docs lists the routes.')));
  app.onError((error, c) => render(c, toLoggedProblem(error, c, log)));
  return app;
}

function refuseLongBody(): never {
  throw new Problem(413, 'Too long', 'The body is longer than 1,000,000 bytes; split it into several requests.');
}

type Result = Parameters<NonNullable<ConstructorParameters<typeof OpenAPIHono<Env>>[0]>['defaultHook'] & {}>[0];

/** Throws a Problem (400) that names the first invalid parameter. */
function refuseInvalid(result: Result): void {
  if (!result.success) throw badParameter(`${issueInWords(result.error)}. /docs lists the parameters.`);
}

/** How long a probe waits, in ms: probe clients have a time limit of their own, and a store that hangs never answers. */
const probeMs = 3000;

const nodesMissing =
  'a node of the store’s cluster does not answer, so some operations cannot be read; keywarden check names it';

/** Returns a function whose calls share the work that is going on: probes do not pile up on a store that hangs. */
function oneAtATime<T>(work: () => Promise<T>): () => Promise<T> {
  let going: Promise<T> | undefined;
  return async () => await (going ??= work().finally(() => (going = undefined)));
}

async function areNodesMissing(sql: Sql): Promise<boolean> {
  return (await whyNodesMissing(sql).catch(() => null)) !== null;
}

async function whyNotReady(sql: Sql, log: Logger): Promise<string | null> {
  try {
    await assertCurrent(sql);
    await pingStore(sql);
    return null;
  } catch (error) {
    log.warn({ err: error }, 'the report is not ready');
    return error instanceof UserError ? error.message : 'the store does not answer';
  }
}
