import { secretForm } from '../values/index.ts';
import { apiKeyCalls } from './api-key-calls.ts';
import { credentialCalls } from './credential-calls.ts';
import { noLimiter } from './limiter.ts';
import { operationCalls } from './operation-calls.ts';
import { organizationCalls } from './organization-calls.ts';
import { type ClientOptions, createTransport } from './transport.ts';
import { systemTime } from './wait.ts';

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
    answerIds: new Set(),
    ...options,
    limiter,
    time,
    hooks,
  });
  return { ...organizationCalls(call), ...operationCalls(call, time), ...credentialCalls(call), ...apiKeyCalls(call) };
}

/** The maximum of Node's timers. Infinity and larger numbers would fire at once. */
const longestMs = 2 ** 31 - 1;

/** An address that paths can follow. `fetch` refuses one with a user. */
const addressForm = /^https?:\/\/[^/?#@]+(\/[^?#]*)?$/i;

/** Throws a TypeError for options that no call can work with. The message repeats neither the address, which may contain a password, nor the key. */
function checkOptions({ baseUrl, apiKey, timeoutMs = 1, callTimeoutMs = 1 }: ClientOptions): void {
  if (!URL.canParse(baseUrl) || !addressForm.test(baseUrl))
    throw new TypeError('baseUrl must be an http or https address with its version, like https://host/api/v2');
  if (!secretForm.test(apiKey)) throw new TypeError('apiKey must be one word of ASCII characters');
  for (const [name, value] of Object.entries({ timeoutMs, callTimeoutMs }))
    if (!(value >= 1 && value <= longestMs)) throw new TypeError(`${name} must be from 1 to ${longestMs} ms`);
}
