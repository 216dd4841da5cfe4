/** Why a call failed. The set is closed: callers switch over it. */
export type ControlPlaneErrorCode =
  | 'unauthenticated' // 401: the credential is missing, wrong or revoked
  | 'forbidden' // 403: the credential may not do this
  | 'not_found' // 404: unknown, or hidden from this credential
  | 'locked' // 423 beyond the last attempt
  | 'rate_limited' // 429 beyond the last attempt
  | 'rejected' // any other 4xx, and 501 to a read: the service does not have this
  | 'unavailable' // 5xx or no answer to a read, beyond the last attempt
  | 'unreachable' // nothing was sent
  | 'limiter_failed' // the limiter's store failed; nothing was sent
  | 'invalid_response' // an answer that is not the control plane's: no JSON, another shape, a redirect
  | 'timed_out' // the call's own time was over before anything was sent, or an operation's deadline passed
  | 'outcome_unknown' // a write was sent, and whether it was done is not known
  | 'aborted'; // the caller's signal

/**
 * A failed call: `canRetry` says whether the same call may succeed later. It has no cause: those of a failed fetch may hold the
 * request's headers, so that only their code goes into the message.
 */
export class ControlPlaneError extends Error {
  readonly code: ControlPlaneErrorCode;
  readonly status: number | null;
  readonly requestId: string | null;
  /** How long the answer asks to wait before the next attempt, in ms; 0 where it does not say. */
  readonly retryAfterMs: number;

  constructor(
    code: ControlPlaneErrorCode,
    message: string,
    details: { status?: number | null; requestId?: string | null; retryAfterMs?: number } = {},
  ) {
    super(redact(message));
    this.name = 'ControlPlaneError';
    this.code = code;
    this.status = details.status ?? null;
    this.requestId = details.requestId ?? null;
    this.retryAfterMs = details.retryAfterMs ?? 0;
  }

  get canRetry(): boolean {
    return ['locked', 'rate_limited', 'unavailable', 'unreachable', 'limiter_failed', 'timed_out'].includes(this.code);
  }
}

/** Takes whatever looks like a key's secret out of a text that came from elsewhere. */
function redact(text: string): string {
  return text
    .replace(/napi_\w+/g, 'napi_[redacted]')
    .replace(/(n[as]k_live_[\da-f]{12})[\w.]*/g, '$1[redacted]')
    .slice(0, 500);
}

/**
 * Statuses by which the control plane says that a write was not done: it refused the request, its credential or its time. Every other
 * answer, a redirect or a gateway's page among them, may come after the work was done. Source: "Errors" in the control plane's description.
 */
const notDone = new Set([400, 401, 403, 404, 405, 406, 409, 413, 414, 415, 422, 423, 429, 503]);

/** The code for a status that is final. */
export function codeForStatus(status: number, isWrite: boolean): ControlPlaneErrorCode {
  if (isWrite && !notDone.has(status)) return 'outcome_unknown';
  switch (status) {
    case 401:
      return 'unauthenticated';
    case 403:
      return 'forbidden';
    case 404:
      return 'not_found';
    case 423:
      return 'locked';
    case 429:
      return 'rate_limited';
    case 501:
      return 'rejected';
    case 503:
      return 'unavailable';
    default:
      if (status >= 500) return 'unavailable';
      return status >= 400 ? 'rejected' : 'invalid_response';
  }
}
