/** An attempt without a usable response: with none, a partial one, or a whole one of another kind. */
export interface Loss {
  status: null;
  wasSent: boolean;
  isWhole?: boolean;
}

/** The result of a failed attempt. */
export type Failure = { status: number } | Loss;

/** What a call does: read, create, or revoke. */
export type Method = 'GET' | 'POST' | 'DELETE';

interface Rule {
  /** The total number of attempts, including the first. */
  attempts: number;
  firstDelayMs: number;
  hasJitter: boolean;
}

const locked: Rule = { attempts: 5, firstDelayMs: 100, hasJitter: false };
const limited: Rule = { attempts: 8, firstDelayMs: 500, hasJitter: true };
const faulty: Rule = { attempts: 4, firstDelayMs: 200, hasJitter: true };

/**
 * Returns the retry rule. 423, 429 and 503 mean that nothing was done; after any other fault only reads are repeated. A revocation is never repeated
 * here: its evidence must be judged again first.
 */
function ruleFor(failure: Failure, method: Method): Rule | undefined {
  if (method === 'DELETE') return undefined;
  if (failure.status === 423) return locked;
  if (failure.status === 429 || failure.status === 503) return limited;
  if (method !== 'GET' || (failure.status === null && failure.isWhole === true)) return undefined;
  // 501: the service does not support the request, and a further attempt cannot change that.
  if (failure.status === 501) return undefined;
  return failure.status === null || failure.status >= 500 ? faulty : undefined;
}

/**
 * Returns the delay in ms before the next attempt, or undefined if there is none. `attempt` counts from 1. Retry-After is a floor. `random` is in [0,
 * 1).
 */
export function retryDelayMs(
  failure: Failure,
  {
    method,
    attempt,
    retryAfterMs,
    random,
  }: { method: Method; attempt: number; retryAfterMs: number; random: () => number },
): number | undefined {
  const rule = ruleFor(failure, method);
  if (rule === undefined || attempt >= rule.attempts) return undefined;
  const backoff = rule.firstDelayMs * 2 ** (attempt - 1);
  const jittered = rule.hasJitter ? backoff * (0.5 + random() / 2) : backoff;
  return Math.max(jittered, retryAfterMs);
}

/** The longest wait for one request, even if the response asks for more. */
const maxRetryAfterMs = 300_000;

/**
 * Returns Retry-After (seconds or an HTTP date) as ms from `nowMs`, the time of the server that sent it. At most five minutes; 0 if absent or
 * unreadable.
 */
export function readRetryAfterMs(header: string | null, nowMs: number): number {
  const text = header?.trim() ?? '';
  if (/^\d+$/.test(text)) return Math.min(maxRetryAfterMs, Number(text) * 1000);
  const at = Date.parse(text);
  return Number.isNaN(at) ? 0 : Math.min(maxRetryAfterMs, Math.max(0, at - nowMs));
}
