import { randomUUID } from 'node:crypto';
import { OpenAPIHono } from '@hono/zod-openapi';
import { codeOf } from '@keywarden/core/process';
import { pingStore } from '@keywarden/db/read';
import { findPrincipal } from './authenticate.ts';
import type { Dependencies, Env } from './environment.ts';
import { Problem, renderProblem } from './problem.ts';
import { archiveRoutes } from './routes/archive.ts';
import { describeOtherRoutes } from './routes/described.ts';
import { renderDocs } from './routes/docs.ts';
import { governanceRoutes } from './routes/governance.ts';
import { keyRoutes } from './routes/keys.ts';
import { operationRoutes } from './routes/operations.ts';

const description = {
  openapi: '3.1.0',
  info: {
    title: 'Keywarden report API',
    version: '1',
    description: 'Keys, findings, plans, operations and runs of the audit store.',
  },
};

/** The report as an app that never listens: probes and the description are open, everything else wants a token. */
export function createApp(dependencies: Dependencies): OpenAPIHono<Env> {
  const { db, log } = dependencies;
  const app = new OpenAPIHono<Env>({
    defaultHook: (result) => {
      if (result.success) return;
      const issue = result.error.issues[0];
      const names = issue?.code === 'unrecognized_keys' ? issue.keys.join(', ') : issue?.path.join('.');
      const what = issue?.code === 'unrecognized_keys' ? 'is not known here' : issue?.message;
      throw new Problem(400, 'Bad parameter', `${names}: ${what}. /docs lists what there is.`);
    },
  });

  app.use(async (c, next) => {
    c.set('requestId', randomUUID());
    await next();
    c.header('x-request-id', c.get('requestId'));
    c.header('x-content-type-options', 'nosniff');
    c.header('cache-control', 'no-store');
    c.header('content-security-policy', "default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'");
  });

  app.get('/', (c) => c.redirect('/docs'));
  app.get('/healthz', (c) => c.json({ status: 'ok' }));
  app.get('/readyz', async (c) => {
    try {
      await pingStore(db);
      return c.json({ status: 'ready' });
    } catch (error) {
      log.warn({ err: error }, 'the store does not answer');
      return c.json({ status: 'not ready', why: 'the store does not answer' }, 503);
    }
  });
  app.get('/docs', (c) => c.html(renderDocs(app.getOpenAPI31Document(description))));
  app.openAPIRegistry.registerComponent('securitySchemes', 'token', { type: 'http', scheme: 'bearer' });
  app.doc31('/openapi.json', description);
  app.route('/api/v2', archiveRoutes(dependencies));

  app.use('/v1/*', async (c, next) => {
    const principal = await findPrincipal(c, db);
    if (principal === undefined) {
      throw new Problem(
        401,
        'Unauthenticated',
        'This needs Authorization: Bearer with a live token; keywarden token create makes one.',
      );
    }
    c.set('principal', principal);
    await next();
  });
  describeOtherRoutes(app);
  keyRoutes(app, dependencies);
  operationRoutes(app, dependencies);
  governanceRoutes(app, dependencies);

  app.notFound((c) =>
    renderProblem(c, new Problem(404, 'Not found', 'There is nothing here; /docs lists what there is.')),
  );
  app.onError((error, c) => {
    if (error instanceof Problem) return renderProblem(c, error);
    if (isStoreAway(error)) {
      log.warn({ err: error, request: c.get('requestId') }, 'the store does not answer');
      return renderProblem(
        c,
        new Problem(503, 'Unavailable', 'The audit store does not answer; try again in a moment.'),
      );
    }
    log.error({ err: error, request: c.get('requestId') }, 'a request failed');
    return renderProblem(
      c,
      new Problem(500, 'Internal error', 'The request failed; the log has more under its request id.'),
    );
  });
  return app;
}

/** The database is not there, or is stopping or starting: codes of the driver, and of Postgres (class 57P). */
function isStoreAway(error: unknown): boolean {
  return /^(ECONN|CONNECT|57P)/.test(codeOf(error));
}
