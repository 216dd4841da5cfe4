import { randomUUID } from 'node:crypto';
import { setTimeout } from 'node:timers';
import { isRepeated, parseJson, readAgeMs, readBody, readDateMs, readRefusal, requestIdOf } from './answer.ts';
import { ControlPlaneError, codeForStatus } from './errors.ts';
import { hiderOf, shortestSecret } from './hide.ts';
import type { Limiter } from './limiter.ts';
import { networkCode, neverSent, onlyOnce } from './network.ts';
import { type Failure, type Loss, type Method, readRetryAfterMs, retryDelayMs } from './retry.ts';
import type { Time } from './wait.ts';

export interface CallOptions {
  method: Method;
  /** The route's pattern, which the limits count by: `/projects/{project_id}/operations`. */
  route: string;
  params?: Record<string, string>;
  query?: Record<string, string | number | undefined>;
  body?: unknown;
  /** Runs after the permit is granted and before the request. An error thrown here rejects the call, and no request is sent. */
  beforeSend?: (() => Promise<void>) | undefined;
  signal?: AbortSignal | undefined;
}

/** A response: its JSON (null for 204) and the control plane's own `Date` in ms (null if it sent none). */
export interface Reply {
  json: unknown;
  /** The length of its text, in characters. */
  length: number;
  status: number;
  /** The id that was sent with the request. */
  requestId: string;
  dateMs: number | null;
  /** How long a cache has kept the response, in ms by its `Age`; 0 if it comes from the control plane itself, Infinity if it is one that came before. */
  ageMs: number;
  headers: Headers;
}

/** Events of a client, for metrics. They contain no secret, and an error that a hook throws is ignored. */
export interface Hooks {
  /** Called for one request and its result; `status` is null without a response. */
  onAttempt?: (attempt: {
    method: string;
    route: string;
    attempt: number;
    status: number | null;
    durationMs: number;
    requestId: string;
  }) => void;
  /** Called before a further attempt. */
  onRetry?: (retry: { method: string; route: string; attempt: number; status: number | null; delayMs: number }) => void;
  /** Called with how long the limiter held a request back, in ms. */
  onWait?: (wait: { method: string; route: string; waitMs: number }) => void;
}

export interface ClientOptions {
  /** Includes the API version: https://host/api/v2 */
  baseUrl: string;
  apiKey: string;
  /** Keeps the account inside its limits; without a limiter, no request is held back. Create one limiter for each account. */
  limiter?: Limiter;
  /** Timeout of one attempt, from connecting to the last byte, in ms; 30,000 by default. */
  timeoutMs?: number;
  /** Timeout of a call with all its attempts and waits, in ms; 600,000 by default. */
  callTimeoutMs?: number;
  /** The largest response body to read, in bytes; 64 MB by default. */
  maxBodyBytes?: number;
  userAgent?: string;
  hooks?: Hooks;
  /** The ids of the control plane's answers, by which one that a cache repeats is noticed. Share it between the clients of a process. */
  answerIds?: Set<string>;
  /** For tests: the clock and sleep, a random number from 0 to 1, and fetch. */
  time?: Time;
  random?: () => number;
  fetch?: typeof fetch;
}

interface TransportOptions extends Required<ClientOptions> {
  /** Removes the credential from a text. */
  hide: (text: string) => string;
}

export type Call = (options: CallOptions) => Promise<Reply>;

/** One call as its attempts see it: the request and the signal of its timeout. */
interface Running extends CallOptions {
  url: string;
  over: AbortSignal;
}

/** Returns the function that sends every request, with limits, timeouts, retries and typed errors. */
export function createTransport(given: Required<ClientOptions>): Call {
  const options: TransportOptions = { ...given, hide: hiderOf(given.apiKey) };
  const { limiter, time, random, callTimeoutMs } = options;
  const hooks = quiet(options.hooks);
  const tryAll = async (running: Running): Promise<Reply> => {
    const { method, route } = running;
    const endsAt = time.now() + callTimeoutMs;
    for (let attempt = 1; ; attempt += 1) {
      const waitMs = await waitForPermit(options, running);
      hooks.onWait({ method, route, waitMs });
      await running.beforeSend?.();
      const outcome = await attemptOnce(options, running, { attempt, onAttempt: hooks.onAttempt });
      if (outcome.kind === 'reply') return outcome.reply;
      const { failure, retryAfterMs, error } = outcome;
      if (failure.status === 429) limiter.limited(retryAfterMs);
      const delayMs = retryDelayMs(failure, { method, attempt, retryAfterMs, random });
      if (delayMs === undefined || isEnded(running) || time.now() + delayMs > endsAt) throw error;
      hooks.onRetry({ method, route, attempt, status: failure.status, delayMs });
      await time.sleep(delayMs, eitherOf(running)).catch(() => {
        throw running.signal?.aborted
          ? new ControlPlaneError('aborted', 'the call was aborted between two attempts')
          : error;
      });
    }
  };
  return async function call(request) {
    const url = buildUrl(options.baseUrl, request);
    // AbortSignal.timeout would keep its timer for the full timeout, long after the call has ended.
    const over = new AbortController();
    const timer = setTimeout(() => over.abort(), callTimeoutMs).unref();
    try {
      return await tryAll({ ...request, url, over: over.signal });
    } finally {
      clearTimeout(timer);
    }
  };
}

const isEnded = ({ signal, over }: Running) => over.aborted || signal?.aborted === true;

/** Creates one flat signal each time: nested combined signals are not released while the caller's signal lives. */
const eitherOf = ({ signal, over }: Running, ...more: AbortSignal[]): AbortSignal =>
  AbortSignal.any([over, ...more, ...(signal ? [signal] : [])]);

/** Returns hooks that are all present and whose errors are ignored. */
function quiet(hooks: Hooks): Required<Hooks> {
  const calling =
    <T>(hook: ((value: T) => void) | undefined) =>
    (value: T) => {
      try {
        hook?.(value);
      } catch {
        // A metric must not lose a response, which may contain a new key's secret.
      }
    };
  return { onAttempt: calling(hooks.onAttempt), onRetry: calling(hooks.onRetry), onWait: calling(hooks.onWait) };
}

/** Resolves with the ms waited when the request may be sent. If it rejects, nothing was sent. */
async function waitForPermit({ limiter, time, callTimeoutMs }: TransportOptions, running: Running): Promise<number> {
  const { method, route, signal } = running;
  const startedMs = time.now();
  const failed = await limiter.wait(`${method} ${route}`, eitherOf(running)).then(
    () => false,
    () => true,
  );
  if (signal?.aborted) throw new ControlPlaneError('aborted', 'the call was aborted before it was sent');
  if (running.over.aborted)
    throw new ControlPlaneError('timed_out', `${method} ${route} got no permit within ${callTimeoutMs} ms`);
  // A store's own error text may contain a connection's password.
  if (failed) throw new ControlPlaneError('limiter_failed', `${method} ${route} got no permit: the limiter failed`);
  return time.now() - startedMs;
}

type Outcome =
  | { kind: 'reply'; reply: Reply }
  | { kind: 'failure'; failure: Failure; retryAfterMs: number; error: ControlPlaneError };

async function attemptOnce(
  options: TransportOptions,
  request: Running,
  { attempt, onAttempt }: { attempt: number; onAttempt: NonNullable<Hooks['onAttempt']> },
): Promise<Outcome> {
  const { time } = options;
  const startedMs = time.now();
  const { method, route } = request;
  const requestId = randomUUID();
  let status: number | null = null;
  try {
    const response = await send(options, request, requestId);
    status = response.status;
    if (!response.ok) return await readFailure(options, request, { response, requestId });
    const text = await readBody(response, options.maxBodyBytes);
    // Other successes, such as 203 and 206, announce a body that is not what was asked for.
    if (method === 'GET' && status !== 200)
      throw new ControlPlaneError('invalid_response', `the response has the status ${status}, not 200`);
    const theirs = requestIdOf(response, null, options.hide);
    // A list that repeats the credential would bring it into the store and the log. The response to a mint has another secret, which must stay whole.
    const shown = method === 'POST' || options.apiKey.length < shortestSecret ? text : options.hide(text);
    const reply = readReply(shown, { response, requestId: theirs ?? requestId });
    const isOld = method === 'GET' && isRepeated(options.answerIds, { baseUrl: options.baseUrl, id: theirs });
    return { kind: 'reply', reply: isOld ? { ...reply, ageMs: Number.POSITIVE_INFINITY } : reply };
  } catch (cause) {
    const failure: Loss =
      cause instanceof ControlPlaneError
        ? { status: null, wasSent: true, isWhole: true }
        : { status: null, wasSent: status !== null || !neverSent(cause) };
    const message = options.hide(`${method} ${route}: ${describeLoss(options, request, cause)}`);
    const code = cause instanceof ControlPlaneError ? null : networkCode(cause);
    const error = new ControlPlaneError(lossCode(request, failure), message, { status, requestId, networkCode: code });
    return { kind: 'failure', failure, retryAfterMs: 0, error };
  } finally {
    onAttempt({ method, route, attempt, status, durationMs: time.now() - startedMs, requestId });
  }
}

/** Returns the failure of a response that is not a success. The status decides, even if the body is truncated. */
async function readFailure(
  options: TransportOptions,
  { method, route }: Running,
  { response, requestId }: { response: Response; requestId: string },
): Promise<Outcome> {
  const { status, headers } = response;
  const text = await readBody(response, options.maxBodyBytes).catch(() => '');
  const refusal = readRefusal(text);
  const message = options.hide(`${method} ${route} answered ${status}: ${refusal.message}`);
  const theirs = requestIdOf(response, refusal.requestId, options.hide);
  const sentMs = readDateMs(headers) ?? options.time.now();
  const retryAfterMs = readRetryAfterMs(headers.get('retry-after'), sentMs);
  const details = { status, requestId: theirs ?? requestId, retryAfterMs };
  const error = new ControlPlaneError(codeForStatus(status, method !== 'GET'), message, details);
  return { kind: 'failure', failure: { status }, retryAfterMs, error };
}

function send(options: TransportOptions, request: Running, requestId: string): Promise<Response> {
  return options.fetch(request.url, {
    ...(request.method === 'GET' ? {} : onlyOnce()),
    method: request.method,
    // A redirect could carry the credential to another host.
    redirect: 'manual',
    signal: eitherOf(request, AbortSignal.timeout(options.timeoutMs)),
    headers: {
      accept: 'application/json',
      // A cached response would show a past state as the current one.
      'cache-control': 'no-cache',
      authorization: `Bearer ${options.apiKey}`,
      'user-agent': options.userAgent,
      'x-request-id': requestId,
      ...(request.body === undefined ? {} : { 'content-type': 'application/json' }),
    },
    ...(request.body === undefined ? {} : { body: JSON.stringify(request.body) }),
  });
}

/** Throws for an id that is empty, `.` or `..`, because it would name another route, and for one that no address can have. */
function buildUrl(baseUrl: string, { route, params = {}, query = {} }: CallOptions): string {
  const path = route.replace(/\{(\w+)\}/g, (_, name: string) => {
    const id = params[name] ?? '';
    if (['', '.', '..'].includes(id) || !id.isWellFormed())
      throw new ControlPlaneError('rejected', `${name} of ${route} is "${id}", which is not a valid id`);
    return encodeURIComponent(id);
  });
  const given = new URLSearchParams();
  for (const [name, value] of Object.entries(query)) if (value !== undefined) given.set(name, String(value));
  const search = given.toString();
  return `${baseUrl.replace(/\/+$/, '')}${path}${search === '' ? '' : `?${search}`}`;
}

function readReply(text: string, { response, requestId }: { response: Response; requestId: string }): Reply {
  const { headers, status } = response;
  const times = { dateMs: readDateMs(headers), ageMs: readAgeMs(headers) };
  const rest = { length: text.length, status, requestId, ...times, headers };
  if (status === 204) return { json: null, ...rest };
  const type = headers.get('content-type');
  if (type !== null && !/\bjson\b/i.test(type))
    throw new ControlPlaneError('invalid_response', `the response is ${type.slice(0, 60)}, not JSON`);
  try {
    return { json: parseJson(text), ...rest };
  } catch {
    throw new ControlPlaneError('invalid_response', 'the response is not JSON');
  }
}

function lossCode({ method, signal, over }: Running, { wasSent, isWhole }: Loss): ControlPlaneError['code'] {
  if (method !== 'GET' && wasSent) return 'outcome_unknown';
  if (isWhole) return 'invalid_response';
  if (signal?.aborted) return 'aborted';
  if (over.aborted) return 'timed_out';
  return wasSent ? 'unavailable' : 'unreachable';
}

function describeLoss(
  { timeoutMs, callTimeoutMs, baseUrl }: TransportOptions,
  request: Running,
  cause: unknown,
): string {
  if (cause instanceof ControlPlaneError) return cause.message;
  if (request.signal?.aborted) return 'the call was aborted in flight';
  if (request.over.aborted) return `no response within ${callTimeoutMs} ms over all attempts`;
  if (cause instanceof Error && cause.name === 'TimeoutError') return `no response within ${timeoutMs} ms`;
  return `${new URL(baseUrl).host} ${neverSent(cause) ? 'cannot be reached' : 'sent an incomplete response'} (${networkCode(cause)})`;
}
