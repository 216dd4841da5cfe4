import { setTimeout } from 'node:timers/promises';
import { RESPONSE_ALREADY_SENT } from '@hono/node-server/utils/response';
import type { Context, Next } from 'hono';
import { type Refusal, renderRefusal } from '../http/errors.ts';
import type { Env } from '../state.ts';
import { MILLISECOND } from '../store/time.ts';
import type { Fault } from './faults.ts';

/** Applies a fault around the request's own work; without a fault the request proceeds unchanged. */
export async function applyFault(
  c: Context<Env>,
  { fault, closing }: { fault: Fault | undefined; closing: AbortSignal },
  next: Next,
): Promise<void> {
  switch (fault?.kind) {
    case undefined:
      return await next();
    case 'status':
      c.res = refusal(c, fault);
      return;
    case 'latency':
      await setTimeout(fault.latency_ms, undefined, { signal: closing }).catch(() => undefined);
      return await next();
    case 'drop':
      return cut(c);
    case 'lose_response':
      await next();
      return cut(c);
    case 'truncate':
      await next();
      return await truncate(c);
    case 'partial_projects':
      c.set('partialProjects', true);
      return await next();
    case 'late_commit':
      c.set('lateCommitBy', fault.latency_ms * MILLISECOND);
      return await next();
    case 'late_last_used':
      c.set('lateLastUsedBy', fault.latency_ms * MILLISECOND);
      return await next();
    default:
      return fault satisfies never;
  }
}

function refusal(c: Context<Env>, fault: Extract<Fault, { kind: 'status' }>): Response {
  const { status, body, retry_after: retryAfter, message = `fault: status ${status}` } = fault;
  if (retryAfter !== undefined) c.header('Retry-After', retryAfter);
  // The schema of faults limits it to 400..599.
  const code = status as Refusal['status'];
  if (body === 'json') return renderRefusal(c, { status: code, code: '', message });
  return c.html(
    `<html><head><title>${status}</title></head><body><h1>The gateway has no answer</h1></body></html>`,
    code,
  );
}

function cut(c: Context): void {
  c.env.outgoing.destroy();
  markSent(c);
}

/** Announces the whole body and sends half of it. */
async function truncate(c: Context): Promise<void> {
  const { status } = c.res;
  const body = Buffer.from(await c.res.arrayBuffer());
  const { outgoing } = c.env;
  outgoing.writeHead(status, { 'content-type': 'application/json', 'content-length': body.length });
  outgoing.write(body.subarray(0, Math.floor(body.length / 2)), () => outgoing.destroy());
  markSent(c);
}

/** Marks the response as fully written. The first line keeps Hono from merging the old response into the new one. */
function markSent(c: Context): void {
  c.res = undefined;
  c.res = RESPONSE_ALREADY_SENT;
}
