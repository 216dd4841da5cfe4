import { createServer } from 'node:http';
import { getRequestListener } from '@hono/node-server';
import type { Sql } from '@keywarden/db/store';
import { codeOf, type Logger, listen, oneAtATime, UserError, within } from '@keywarden/runtime';
import { Hono } from 'hono';
import { type Metrics, readFigures } from './observer.ts';

export interface Observed {
  metrics: Pick<Metrics, 'contentType' | 'render'>;
  /** A pool of its own, so that monitoring never waits behind the work. */
  sql: Sql;
  /** The names of the ledger's witnesses, as this daemon is configured. */
  witnesses: string[];
  log: Logger;
  whyNotReady: () => Promise<string | null>;
  /** Returns what a ready daemon cannot do at the moment; null if it can do everything. */
  whyDegraded: () => Promise<string | null>;
}

/** Creates the monitoring app: liveness, readiness and metrics. It never listens. */
export function createObserveApp({ metrics, sql, witnesses, log, whyNotReady, whyDegraded }: Observed): Hono {
  const app = new Hono();
  const whyNotReadyOnce = oneAtATime(whyNotReady);
  const whyDegradedOnce = oneAtATime(whyDegraded);
  app.get('/healthz', (c) => c.json({ status: 'ok' }));
  app.get('/readyz', async (c) => {
    const why = await within(probeMs, whyNotReadyOnce(), 'the store does not answer in time');
    if (why !== null) return c.json({ status: 'not ready', why }, 503);
    const lacking = await within(probeMs, whyDegradedOnce(), null);
    return c.json(lacking === null ? { status: 'ready' } : { status: 'degraded', why: lacking });
  });
  app.get('/metrics', async (c) => {
    const text = await metrics.render(
      async () => await within(figuresMs, readFigures(sql, witnesses), undefined),
      (error) => log.warn({ err: error }, 'the figures of the store cannot be read'),
    );
    return c.body(text, 200, { 'content-type': metrics.contentType });
  });
  app.notFound((c) => c.text('Not found. The routes are /healthz, /readyz and /metrics.\n', 404));
  return app;
}

/** A prober has its own time limit, and a store that hangs does not respond. */
const probeMs = 3000;
const figuresMs = 8000;

const usualPort = 8830;

/** Listens, and returns a function that stops. Only logs a warning if another replica of this machine has the default port. */
export async function listenToObservers(
  app: Hono,
  { host, port, log }: { host: string; port: number | undefined; log: Logger },
): Promise<() => Promise<void>> {
  try {
    const answer = getRequestListener(app.fetch, { hostname: host });
    const server = createServer((request, response) => void answer(request, response));
    const listening = await listen(server, { host, port: port ?? usualPort });
    log.info({ url: `http://${listening.address}/metrics` }, 'the daemon serves its metrics');
    return listening.close;
  } catch (error) {
    const code = codeOf(error);
    if (port !== undefined || code !== 'EADDRINUSE')
      throw new UserError(
        'listen',
        `The daemon cannot listen on ${host}:${port ?? usualPort} (${code}); fix DAEMON_HOST or DAEMON_PORT.`,
        { cause: error },
      );
    log.info(
      { port: usualPort },
      'another process uses the default port, so this daemon serves no /metrics; set DAEMON_PORT to another port',
    );
    return () => Promise.resolve();
  }
}
