import { type OpenAPIHono, z } from '@hono/zod-openapi';
import { whyNodesMissing, whyNotReady } from '@keywarden/db/store';
import { oneAtATime, within } from '@keywarden/runtime';
import type { Env, Services } from '../services.ts';
import { jsonAnswer } from './document.ts';

const status = z.object({ status: z.string() });

/** Adds the routes that tell whether the process is alive, and whether it can answer. They need no token. */
export function addProbes(app: OpenAPIHono<Env>, { accessSql, limits, log }: Services): void {
  const { openAPIRegistry: registry } = app;
  registry.registerPath({
    method: 'get',
    path: '/healthz',
    summary: 'The process is alive',
    description: 'Needs no token.',
    responses: { 200: jsonAnswer('Alive', status) },
  });
  app.get('/healthz', (c) => c.json({ status: 'ok' }));

  registry.registerPath({
    method: 'get',
    path: '/readyz',
    summary: 'The store answers',
    description:
      'Needs no token. It answers 503 while the store does not answer or too many requests wait, and `degraded` while a node of its cluster does not answer.',
    responses: { 200: jsonAnswer('Ready', status), 503: jsonAnswer('Not ready', status) },
  });
  const warn = (err: unknown) => log.warn({ err }, 'the report is not ready');
  const whyNotReadyOnce = oneAtATime(async () => await whyNotReady(accessSql, warn));
  const whyNodesMissingOnce = oneAtATime(async () => await whyNodesMissing(accessSql).catch(() => null));
  app.get('/readyz', async (c) => {
    const why =
      limits.whyOverloaded() ?? (await within(probeMs, whyNotReadyOnce(), 'the store does not answer in time'));
    if (why !== null) return c.json({ status: 'not ready', why }, 503);
    // Most of the report does not need the node, and the answer needs no token, so it names no host.
    const lacking = await within(probeMs, whyNodesMissingOnce(), null);
    return c.json(lacking === null ? { status: 'ready' } : { status: 'degraded', why: nodesMissing });
  });
}

/** How long a probe waits, in ms: probe clients have a time limit of their own, and a store that hangs never answers. */
const probeMs = 3000;

const nodesMissing =
  'a node of the store’s cluster does not answer, so some operations cannot be read; keywarden check names it';
