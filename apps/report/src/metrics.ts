import { traceEnded } from '@keywarden/runtime';
import type { MiddlewareHandler } from 'hono';
import { matchedRoutes } from 'hono/route';
import { collectDefaultMetrics, Histogram, Registry } from 'prom-client';
import type { Env } from './services.ts';

/** Returns the report's metrics. `measure` measures each request by its route, never by its path, which contains ids. */
export function createMetrics() {
  const registry = new Registry();
  // The default of 10 ms would use most of the CPU time of an idle process.
  collectDefaultMetrics({ register: registry, eventLoopMonitoringPrecision: 100 });
  const seconds = new Histogram({
    name: 'keywarden_report_request_seconds',
    help: 'Requests by route and status, up to the first byte of their answer',
    labelNames: ['method', 'route', 'status'],
    buckets: [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 20],
    registers: [registry],
  });
  const measure: MiddlewareHandler<Env> = async (c, next) => {
    const startedMs = performance.now();
    await next();
    const durationMs = performance.now() - startedMs;
    const { status } = c.res;
    // All paths without a route share one label, because a client can invent any number of them.
    const route = matchedRoutes(c).findLast(({ path }) => !path.includes('*'))?.path ?? 'none';
    seconds.observe({ method: c.req.method, route, status }, durationMs / 1000);
    const attributes = {
      'http.request.method': c.req.method,
      'http.route': route,
      'http.response.status_code': status,
      'keywarden.request_id': c.get('requestId'),
    };
    traceEnded(`${c.req.method} ${route}`, attributes, { as: 'server', durationMs, isError: status >= 500 });
  };
  const render = () => registry.metrics();
  return { contentType: registry.contentType, measure, render };
}
