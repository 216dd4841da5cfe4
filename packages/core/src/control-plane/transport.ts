import { randomUUID } from 'node:crypto';
import { readBody } from './body.ts';
import { ControlPlaneError, codeForStatus } from './errors.ts';
import { parseJson } from './json.ts';
import type { Limiter } from './limiter.ts';
import { networkCode, neverSent, ownConnection } from './network.ts';
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

/** What a client tells of its work, for metrics. Nothing of it is secret; what a hook throws is not caught. */
export interface Hooks {
  /** One request and what came of it; `status` is null without an answer. */
  onAttempt?: (attempt: {
    method: string;
    route: string;
    attempt: number;
    status: number | null;
    durationMs: number;
    requestId: string;
  }) => void;
  /** Before a further attempt. */
  onRetry?: (retry: { method: string; route: string; attempt: number; status: number | null; delayMs: number }) => void;
  /** How long the limiter held a request back, in ms. */
  onWait?: (wait: { method: string; route: string; waitMs: number }) => void;
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
  /** For a call with all its attempts and waits. */
  callTimeoutMs: number;
  maxBodyBytes: number;
  userAgent: string;
  hooks: Hooks;
}

export type Call = (options: CallOptions) => Promise<Reply>;

/** Makes the function through which every request goes: limits, time limits, retries, typed errors. */
export function createTransport(options: TransportOptions): Call {
  const { limiter, time, random, hooks, callTimeoutMs } = options;
  return async function call(request) {
    const { method, route } = request;
    const endsAt = time.now() + callTimeoutMs;
    const over = AbortSignal.timeout(callTimeoutMs);
    const signal = request.signal ? AbortSignal.any([request.signal, over]) : over;
    for (let attempt = 1; ; attempt += 1) {
      await waitForTurn(options, request, signal);
      const outcome = await attemptOnce(options, { ...request, signal }, attempt);
      if (outcome.kind === 'reply') return outcome.reply;
      const { failure, retryAfterMs, error } = outcome;
      if (failure.status === 429) limiter.limited(retryAfterMs);
      const delayMs = retryDelayMs(failure, { isWrite: method !== 'GET', attempt, retryAfterMs, random });
      if (delayMs === undefined || signal.aborted || time.now() + delayMs > endsAt) throw error;
      hooks.onRetry?.({ method, route, attempt, status: failure.status, delayMs });
      await time.sleep(delayMs, signal).catch(() => {
        throw request.signal?.aborted
          ? new ControlPlaneError('aborted', 'the call was aborted between two attempts')
          : error;
      });
    }
  };
}

async function waitForTurn(
  { limiter, time, hooks, callTimeoutMs }: TransportOptions,
  { method, route, signal: own }: CallOptions,
  signal: AbortSignal,
): Promise<void> {
  const startedMs = time.now();
  await limiter.wait(`${method} ${route}`, signal).catch((reason: unknown) => {
    if (own?.aborted) throw new ControlPlaneError('aborted', 'the call was aborted before it was sent');
    if (!signal.aborted) throw reason;
    throw new ControlPlaneError('timed_out', `${method} ${route} had no turn within ${callTimeoutMs} ms`);
  });
  hooks.onWait?.({ method, route, waitMs: time.now() - startedMs });
}

type Outcome =
  | { kind: 'reply'; reply: Reply }
  | { kind: 'failure'; failure: Failure; retryAfterMs: number; error: ControlPlaneError };

async function attemptOnce(options: TransportOptions, request: CallOptions, attempt: number): Promise<Outcome> {
  const { time, hooks } = options;
  const startedMs = time.now();
  const isWrite = request.method !== 'GET';
  const requestId = randomUUID();
  const where = `${request.method} ${request.route}`;
  let status: number | null = null;
  try {
    const response = await send(options, request, requestId);
    status = response.status;
    const text = await readBody(response, options.maxBodyBytes);
    if (response.ok) return { kind: 'reply', reply: readReply(text, response, request) };
    const told = readRefusal(text);
    const message = hide(options, `${where} answered ${status}: ${told.message}`);
    const details = { status, requestId: told.requestId ?? requestId };
    const error = new ControlPlaneError(codeForStatus(status, isWrite), message, details);
    const retryAfterMs = readRetryAfterMs(response.headers.get('retry-after'), time.now());
    return { kind: 'failure', failure: { status }, retryAfterMs, error };
  } catch (cause) {
    const failure: Failure =
      cause instanceof ControlPlaneError
        ? { status: null, wasSent: true, isWhole: true }
        : { status: null, wasSent: status !== null || !neverSent(cause) };
    const message = hide(options, `${where}: ${describeLoss(options, cause)}`);
    const error = new ControlPlaneError(lossCode(request, failure), message, { requestId });
    return { kind: 'failure', failure, retryAfterMs: 0, error };
  } finally {
    const durationMs = time.now() - startedMs;
    hooks.onAttempt?.({ method: request.method, route: request.route, attempt, status, durationMs, requestId });
  }
}

function send(options: TransportOptions, request: CallOptions, requestId: string): Promise<Response> {
  const timeout = AbortSignal.timeout(options.timeoutMs);
  return options.fetch(buildUrl(options.baseUrl, request), {
    ...(request.method === 'GET' ? {} : ownConnection),
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

function readReply(text: string, { headers, status }: Response, { exactIntegers = false }: CallOptions): Reply {
  const type = headers.get('content-type');
  if (type !== null && !/\bjson\b/i.test(type)) {
    throw new ControlPlaneError('invalid_response', `the answer is ${type.slice(0, 60)} and not JSON`, { status });
  }
  const dateMs = Date.parse(headers.get('date') ?? '');
  try {
    const json = parseJson(text, { exactIntegers });
    return { json, dateMs: Number.isNaN(dateMs) ? null : dateMs, headers };
  } catch {
    throw new ControlPlaneError('invalid_response', 'the answer is not JSON', { status });
  }
}

/** The message of the control plane's error body, and its own id of the request where it gives one. */
function readRefusal(text: string): { message: string; requestId: string | null } {
  try {
    const body: unknown = JSON.parse(text);
    if (typeof body === 'object' && body !== null && 'message' in body) {
      const id = 'request_id' in body ? body.request_id : null;
      const isId = typeof id === 'string' && /^[\w.:-]{1,100}$/.test(id);
      return { message: String(body.message), requestId: isId ? id : null };
    }
  } catch {
    // not the control plane's error body: a proxy's page, perhaps
  }
  return { message: 'no message', requestId: null };
}

function lossCode({ method, signal }: CallOptions, failure: Failure): ControlPlaneError['code'] {
  const isWhole = failure.status === null && failure.isWhole === true;
  const wasSent = failure.status !== null || failure.wasSent;
  if (method !== 'GET' && wasSent) return 'outcome_unknown';
  if (isWhole) return 'invalid_response';
  if (signal?.aborted)
    return signal.reason instanceof Error && signal.reason.name === 'TimeoutError' ? 'unavailable' : 'aborted';
  return wasSent ? 'unavailable' : 'unreachable';
}

function describeLoss({ timeoutMs, baseUrl }: TransportOptions, cause: unknown): string {
  if (cause instanceof Error && cause.name === 'TimeoutError') return `no answer within ${timeoutMs} ms`;
  if (cause instanceof ControlPlaneError) return cause.message;
  return `${new URL(baseUrl).host} ${neverSent(cause) ? 'cannot be reached' : 'did not answer whole'} (${networkCode(cause)})`;
}

/** A control plane, or a proxy before it, may put the credential into its message. */
function hide({ apiKey }: TransportOptions, text: string): string {
  return apiKey === '' ? text : text.replaceAll(apiKey, '[redacted]');
}
