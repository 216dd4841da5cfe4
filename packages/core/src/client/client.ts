import { apiKeyCalls } from './api-key-calls.ts';
import { credentialCalls } from './credential-calls.ts';
import { type Limiter, noLimiter } from './limiter.ts';
import { operationCalls } from './operation-calls.ts';
import { organizationCalls } from './organization-calls.ts';
import { createTransport, type Hooks } from './transport.ts';
import { systemTime, type Time } from './wait.ts';

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
  /** For tests: the clock and sleep, a random number from 0 to 1, and fetch. */
  time?: Time;
  random?: () => number;
  fetch?: typeof fetch;
}

export type ControlPlaneClient = ReturnType<typeof createClient>;

/**
 * Returns a typed client of the control plane. Every method rejects with a ControlPlaneError.
 * Reads are repeated after faults. A write is repeated only if the response shows that nothing was done. A write whose response was lost rejects with
 * `outcome_unknown`: list the records to see the result.
 * Records of organizations, projects, branches, operations and keys keep unknown fields under `extra`. int64 ids are texts of digits; times are texts
 * with every digit.
 */
export function createClient({ limiter = noLimiter, time = systemTime, hooks = {}, ...options }: ClientOptions) {
  checkOptions(options);
  const call = createTransport({
    random: Math.random,
    fetch: globalThis.fetch,
    timeoutMs: 30_000,
    callTimeoutMs: 600_000,
    maxBodyBytes: 64 * 2 ** 20,
    userAgent: 'keywarden/0.1',
    ...options,
    limiter,
    time,
    hooks,
  });
  return { ...organizationCalls(call), ...operationCalls(call, time), ...credentialCalls(call), ...apiKeyCalls(call) };
}

/** The maximum of Node's timers. Infinity and larger numbers would fire at once. */
const longestMs = 2 ** 31 - 1;

/** Throws a TypeError for options that no call can work with. The message does not repeat the address, which may contain a password. */
function checkOptions({ baseUrl, timeoutMs = 1, callTimeoutMs = 1 }: ClientOptions): void {
  if (!/^https?:$/.test(URL.parse(baseUrl)?.protocol ?? ''))
    throw new TypeError('baseUrl must be an http or https address with its version, like https://host/api/v2');
  for (const [name, value] of Object.entries({ timeoutMs, callTimeoutMs }))
    if (!(value >= 1 && value <= longestMs)) throw new TypeError(`${name} must be from 1 to ${longestMs} ms`);
}
