import type { Hooks } from '@keywarden/core/client';
import { type Gauge as Figure, gauges, readGauges } from '@keywarden/db/daemon';
import { type QueueState, readQueues } from '@keywarden/db/jobs';
import type { Sql } from '@keywarden/db/store';
import { traceEnded } from '@keywarden/runtime';
import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from 'prom-client';

export type Metrics = ReturnType<typeof createMetrics>;

/** Observes what a process does, for metrics and traces. */
export type Observer = Pick<Metrics, 'connection' | 'job'>;

/** Returns the daemon's metrics: this process's work, and the store's figures on the work of all replicas. */
export function createMetrics() {
  const registry = new Registry();
  // A timer samples the event loop's lag. At the default of 10 ms, it would be most of an idle daemon's work.
  collectDefaultMetrics({ register: registry, eventLoopMonitoringPrecision: 100 });
  const registers = [registry];
  const requests = new Counter({
    name: 'keywarden_control_plane_requests_total',
    help: 'Requests to control planes by route and status; the status none means no response',
    labelNames: ['connection', 'route', 'status'],
    registers,
  });
  const requestSeconds = new Histogram({
    name: 'keywarden_control_plane_request_seconds',
    help: 'How long requests to control planes took',
    labelNames: ['connection'],
    buckets: [0.01, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30],
    registers,
  });
  const waitSeconds = new Histogram({
    name: 'keywarden_limiter_wait_seconds',
    help: 'How long requests waited to stay within the share of an account’s limits',
    labelNames: ['connection'],
    buckets: [0.001, 0.01, 0.1, 0.5, 1, 5, 15, 60],
    registers,
  });
  const jobSeconds = new Histogram({
    name: 'keywarden_job_seconds',
    help: 'Job attempts of this process, by outcome',
    labelNames: ['kind', 'outcome'],
    buckets: [0.1, 0.5, 1, 5, 15, 60, 300, 1800, 7200],
    registers,
  });
  const storeUp = new Gauge({
    name: 'keywarden_store_up',
    help: 'Whether the store responded to this scrape',
    registers,
  });
  return {
    contentType: registry.contentType,
    connection(connection: string): Hooks {
      // Start the series at zero: a series that first appears with an event hides that event.
      for (const status of ['401', '429']) requests.inc({ connection, route: 'GET /auth', status }, 0);
      return {
        onAttempt({ method, route, status, durationMs, attempt, requestId }) {
          requests.inc({ connection, route: `${method} ${route}`, status: status ?? 'none' });
          requestSeconds.observe({ connection }, durationMs / 1000);
          traceEnded(
            `${method} ${route}`,
            {
              'http.request.method': method,
              'url.template': route,
              'http.request.resend_count': attempt - 1,
              'keywarden.connection': connection,
              'keywarden.request_id': requestId,
              ...(status === null ? {} : { 'http.response.status_code': status }),
            },
            { as: 'client', durationMs, isError: status === null || status >= 400 },
          );
        },
        onWait: ({ waitMs }) => waitSeconds.observe({ connection }, waitMs / 1000),
      };
    },
    job: (kind: string, outcome: 'done' | 'failed' | 'handed_back', seconds: number) =>
      jobSeconds.observe({ kind, outcome }, seconds),
    /** Returns all metrics in Prometheus's text format: this process's work, whether the store responds, and if so the store's figures. */
    async render(read: () => Promise<Figures | undefined>, onFailure: (error: unknown) => void): Promise<string> {
      const figures = await read().catch((error: unknown) => {
        onFailure(error);
        return undefined;
      });
      storeUp.set(figures === undefined ? 0 : 1);
      return `${await registry.metrics()}\n${figures === undefined ? '' : await renderFigures(figures)}`;
    },
  };
}

interface Figures {
  figures: Figure[];
  queues: QueueState[];
}

export async function readFigures(sql: Sql, witnesses: string[]): Promise<Figures> {
  return { figures: await readGauges(sql, witnesses), queues: await readQueues(sql) };
}

/** Renders the store's figures from a new registry: one that leaves the store leaves the output, and a missing one is not zero. */
async function renderFigures({ figures, queues }: Figures): Promise<string> {
  const registry = new Registry();
  const registers = [registry];
  for (const [name, help] of Object.entries(gauges)) {
    const own = figures.filter((figure) => figure.name === name);
    const [first] = own;
    if (first === undefined) continue;
    const gauge = new Gauge({ name, help, labelNames: Object.keys(first.labels), registers });
    for (const { labels, value } of own) gauge.set(labels, value);
  }
  const jobs = new Gauge({
    name: 'keywarden_queue_jobs',
    help: 'Jobs that wait or run, on any replica',
    labelNames: ['kind', 'state'],
    registers,
  });
  const oldest = new Gauge({
    name: 'keywarden_queue_oldest_seconds',
    help: 'How long the job that waits longest has been ready to begin',
    labelNames: ['kind'],
    registers,
  });
  for (const { kind, waiting, running, oldestSeconds } of queues) {
    jobs.set({ kind, state: 'waiting' }, waiting);
    jobs.set({ kind, state: 'running' }, running);
    if (oldestSeconds !== null) oldest.set({ kind }, oldestSeconds);
  }
  return await registry.metrics();
}
