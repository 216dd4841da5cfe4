/** Why a call failed. The set is closed: callers switch over it. */
export type ControlPlaneErrorCode =
  | 'unauthenticated' // 401: the credential is missing, wrong or revoked
  | 'forbidden' // 403: the credential lacks the permission
  | 'not_found' // 404: unknown, or hidden from this credential
  | 'locked' // 423 after the last attempt
  | 'rate_limited' // 429 after the last attempt
  | 'rejected' // any other 4xx, and 501 to a read: the service does not support this
  | 'unavailable' // 5xx or no response to a read, after the last attempt
  | 'unreachable' // nothing was sent
  | 'limiter_failed' // the limiter's store failed; nothing was sent
  | 'invalid_response' // not a control plane response: not JSON, an unexpected shape, or a redirect
  | 'timed_out' // the call's timeout passed before anything was sent, or an operation's deadline passed
  | 'outcome_unknown' // a write was sent, and its result is unknown
  | 'aborted'; // the caller's signal

/**
 * A failed call. `canRetry` is true if the same call may succeed later. It has no cause, because the error of a failed fetch may contain the
 * request's headers. Only that error's code goes into the message.
 */
export class ControlPlaneError extends Error {
  readonly code: ControlPlaneErrorCode;
  readonly status: number | null;
  readonly requestId: string | null;
  /** The wait before the next attempt that the response asks for, in ms; 0 if it asks for none. */
  readonly retryAfterMs: number;
  /** The system's code of a request without a whole response, such as ECONNRESET; otherwise null. */
  readonly networkCode: string | null;

  constructor(
    code: ControlPlaneErrorCode,
    message: string,
    details: Partial<Pick<ControlPlaneError, 'status' | 'requestId' | 'retryAfterMs' | 'networkCode'>> = {},
  ) {
    super(redact(message));
    this.name = 'ControlPlaneError';
    this.code = code;
    this.status = details.status ?? null;
    this.requestId = details.requestId ?? null;
    this.retryAfterMs = details.retryAfterMs ?? 0;
    this.networkCode = details.networkCode ?? null;
  }

  get canRetry(): boolean {
    return ['locked', 'rate_limited', 'unavailable', 'unreachable', 'limiter_failed', 'timed_out'].includes(this.code);
  }
}

/** Returns a text from outside without anything that looks like a key's secret, and without what no store has a place for: NUL and half a surrogate pair. */
function redact(text: string): string {
  return text
    .replace(/napi_\w+/g, 'napi_[redacted]')
    .replace(/(n[as]k_live_[\da-f]{12})[\w.]*/g, '$1[redacted]')
    .replaceAll('\0', '\uFFFD')
    .slice(0, 500)
    .toWellFormed();
}

/**
 * Statuses that mean a write was not done: the control plane refused the request, its credential or its time. Any other response, such as a redirect
 * or a gateway's page, may come after the work was done. Source: "Errors" in the control plane's description.
 */
const notDone = new Set([400, 401, 403, 404, 405, 406, 409, 413, 414, 415, 422, 423, 429, 503]);

const codes: Record<number, ControlPlaneErrorCode> = {
  401: 'unauthenticated',
  403: 'forbidden',
  404: 'not_found',
  423: 'locked',
  429: 'rate_limited',
  501: 'rejected',
};

/** Returns the code for a final status. */
export function codeForStatus(status: number, isWrite: boolean): ControlPlaneErrorCode {
  if (isWrite && !notDone.has(status)) return 'outcome_unknown';
  if (status < 400) return 'invalid_response';
  return codes[status] ?? (status >= 500 ? 'unavailable' : 'rejected');
}

/** Returns whether an error is a failed call with one of these codes. */
export const hasCode = (error: unknown, ...codes: ControlPlaneErrorCode[]): error is ControlPlaneError =>
  error instanceof ControlPlaneError && codes.includes(error.code);
