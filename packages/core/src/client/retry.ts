/** What became of an attempt that did not succeed: a status, or no usable answer: none, a part of one, or a whole one of another kind. */
export type Failure = { status: number } | { status: null; wasSent: boolean; isWhole?: boolean };

/** What a call does: reads, makes, or revokes. */
export type Method = 'GET' | 'POST' | 'DELETE';

interface Rule {
  /** Attempts in all, the first included. */
  attempts: number;
  firstDelayMs: number;
  hasJitter: boolean;
}

const locked: Rule = { attempts: 5, firstDelayMs: 100, hasJitter: false };
const limited: Rule = { attempts: 8, firstDelayMs: 500, hasJitter: true };
const faulty: Rule = { attempts: 4, firstDelayMs: 200, hasJitter: true };

/**
 * The retry table: 423, 429 and 503 say that nothing was done; any other fault is repeated for reads alone. A revocation is never repeated
 * here: what it rests on must be judged again first.
 */
function ruleFor(failure: Failure, method: Method): Rule | undefined {
  if (method === 'DELETE') return undefined;
  if (failure.status === 423) return locked;
  if (failure.status === 429 || failure.status === 503) return limited;
  if (method !== 'GET' || (failure.status === null && failure.isWhole === true)) return undefined;
  // 501: the service does not have it, and will not by the next attempt.
  if (failure.status === 501) return undefined;
  return failure.status === null || failure.status >= 500 ? faulty : undefined;
}

/**
 * The delay in ms before the next attempt, or undefined when there is none. `attempt` counts from 1; Retry-After is a floor;
 * `random` is in [0, 1).
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

/** Longer than this nobody waits for one request, whatever the answer asks for. */
const maxRetryAfterMs = 300_000;

/**
 * Reads Retry-After, seconds or an HTTP date, as ms from `nowMs`, the time of the server that sent it; five minutes at most, 0 when absent
 * or unreadable.
 */
export function readRetryAfterMs(header: string | null, nowMs: number): number {
  if (header === null) return 0;
  if (/^\d+$/.test(header)) return Math.min(maxRetryAfterMs, Number(header) * 1000);
  const at = Date.parse(header);
  return Number.isNaN(at) ? 0 : Math.min(maxRetryAfterMs, Math.max(0, at - nowMs));
}
