import { randomUUID } from 'node:crypto';
import { ControlPlaneError, codeForStatus } from './errors.ts';
import { parseJson } from './json.ts';
import type { Limiter } from './limits.ts';
import { type Failure, readRetryAfterMs, retryDelayMs } from './retry.ts';
import type { Time } from './time.ts';

export interface CallOptions {
  method: 'GET' | 'POST' | 'DELETE';
  /** The route's pattern, by which limits count: `/projects/{project_id}/operations`. */
  route: string;
  params?: Record<string, string>;
  query?: Record<string, string | number | undefined>;
  body?: unknown;
  exactIntegers?: boolean;
  signal?: AbortSignal | undefined;
}

/** An answer: its JSON, and the control plane's own `Date` in ms, null if it sent none. */
export interface Reply {
  json: unknown;
  dateMs: number | null;
  headers: Headers;
}

export interface TransportOptions {
  baseUrl: string;
  apiKey: string;
  limiter: Limiter;
  time: Time;
  random: () => number;
  fetch: typeof fetch;
  /** For one attempt, from connecting to the last byte. */
  timeoutMs: number;
  userAgent: string;
  onAttempt?: (attempt: { method: string; route: string; status: number | null; durationMs: number }) => void;
}

export type Call = (options: CallOptions) => Promise<Reply>;

/** Makes the function through which every request goes: limits, time limit, retries, typed errors. */
export function createTransport(options: TransportOptions): Call {
  const { limiter, time, random } = options;
  return async function call(request) {
    const isWrite = request.method !== 'GET';
    for (let attempt = 1; ; attempt += 1) {
      await limiter.wait(`${request.method} ${request.route}`, request.signal).catch(() => {
        throw new ControlPlaneError('aborted', 'the call was aborted before it was sent');
      });
      const outcome = await attemptOnce(options, request);
      if (outcome.kind === 'reply') return outcome.reply;
      const delayMs = retryDelayMs(outcome.failure, { isWrite, attempt, retryAfterMs: outcome.retryAfterMs, random });
      if (delayMs === undefined || request.signal?.aborted) throw outcome.error;
      await time.sleep(delayMs, request.signal).catch(() => {
        throw new ControlPlaneError('aborted', 'the call was aborted between two attempts');
      });
    }
  };
}

type Outcome =
  | { kind: 'reply'; reply: Reply }
  | { kind: 'failure'; failure: Failure; retryAfterMs: number; error: ControlPlaneError };

async function attemptOnce(options: TransportOptions, request: CallOptions): Promise<Outcome> {
  const startedMs = options.time.now();
  const isWrite = request.method !== 'GET';
  const requestId = randomUUID();
  const where = `${request.method} ${request.route}`;
  let status: number | null = null;
  try {
    const response = await send(options, request, requestId);
    status = response.status;
    const text = await response.text();
    if (response.ok) return { kind: 'reply', reply: readReply(text, response, request) };
    const message = `${where} answered ${status}: ${readMessage(text)}`;
    const error = new ControlPlaneError(codeForStatus(status, isWrite), message, { status, requestId });
    const retryAfterMs = readRetryAfterMs(response.headers.get('retry-after'), options.time.now());
    return { kind: 'failure', failure: { status }, retryAfterMs, error };
  } catch (cause) {
    const failure: Failure = { status: null, wasSent: status !== null || !neverSent.has(networkCode(cause)) };
    const error =
      cause instanceof ControlPlaneError && !isWrite
        ? cause
        : new ControlPlaneError(lossCode(request, failure), `${where}: ${describeLoss(options, cause)}`, { requestId });
    return { kind: 'failure', failure, retryAfterMs: 0, error };
  } finally {
    options.onAttempt?.({
      method: request.method,
      route: request.route,
      status,
      durationMs: options.time.now() - startedMs,
    });
  }
}

function send(options: TransportOptions, request: CallOptions, requestId: string): Promise<Response> {
  const timeout = AbortSignal.timeout(options.timeoutMs);
  return options.fetch(buildUrl(options.baseUrl, request), {
    method: request.method,
    // A redirect could carry the credential to another host.
    redirect: 'manual',
    signal: request.signal ? AbortSignal.any([request.signal, timeout]) : timeout,
    headers: {
      accept: 'application/json',
      authorization: `Bearer ${options.apiKey}`,
      'user-agent': options.userAgent,
      'x-request-id': requestId,
      ...(request.body === undefined ? {} : { 'content-type': 'application/json' }),
    },
    ...(request.body === undefined ? {} : { body: JSON.stringify(request.body) }),
  });
}

function buildUrl(baseUrl: string, { route, params = {}, query = {} }: CallOptions): string {
  const path = route.replace(/\{(\w+)\}/g, (_, name: string) => encodeURIComponent(params[name] ?? ''));
  const given = new URLSearchParams();
  for (const [name, value] of Object.entries(query)) if (value !== undefined) given.set(name, String(value));
  const search = given.toString();
  return `${baseUrl.replace(/\/+$/, '')}${path}${search === '' ? '' : `?${search}`}`;
}

function readReply(text: string, response: Response, { exactIntegers = false, route }: CallOptions): Reply {
  const dateMs = Date.parse(response.headers.get('date') ?? '');
  try {
    const json = parseJson(text, { exactIntegers });
    return { json, dateMs: Number.isNaN(dateMs) ? null : dateMs, headers: response.headers };
  } catch {
    throw new ControlPlaneError('invalid_response', `${route} answered with something that is not JSON`, {
      status: response.status,
    });
  }
}

function readMessage(text: string): string {
  try {
    const body: unknown = JSON.parse(text);
    if (typeof body === 'object' && body !== null && 'message' in body) return String(body.message);
  } catch {
    // not the control plane's error body: a proxy's page, perhaps
  }
  return 'no message';
}

/** Codes that say that no byte of the request left. */
const neverSent = new Set(['ECONNREFUSED', 'ENOTFOUND', 'EAI_AGAIN']);

function lossCode({ method, signal }: CallOptions, failure: Failure): ControlPlaneError['code'] {
  const wasSent = failure.status !== null || failure.wasSent;
  if (method !== 'GET' && wasSent) return 'outcome_unknown';
  if (signal?.aborted) return 'aborted';
  return wasSent ? 'unavailable' : 'unreachable';
}

function describeLoss({ timeoutMs, baseUrl }: TransportOptions, cause: unknown): string {
  if (cause instanceof Error && cause.name === 'TimeoutError') return `no answer within ${timeoutMs} ms`;
  if (cause instanceof ControlPlaneError) return cause.message;
  const code = networkCode(cause);
  return `${new URL(baseUrl).host} ${neverSent.has(code) ? 'cannot be reached' : 'did not answer whole'} (${code})`;
}

function networkCode(error: unknown): string {
  for (let at = error; at instanceof Error; at = at.cause) {
    if ('code' in at && typeof at.code === 'string') return at.code;
  }
  // Deno's fetch has no codes; its message for a refused connection does.
  if (error instanceof Error && /connection refused|os error 111/i.test(error.message)) return 'ECONNREFUSED';
  return error instanceof Error ? error.name : 'unknown';
}
