import { expect, test } from 'vitest';
import { ControlPlaneError, type ControlPlaneErrorCode, codeForStatus } from './errors.ts';

const statuses = Array.from({ length: 500 }, (_, index) => 100 + index);

test('R4: a write was certainly not done only if one of these statuses says so', () => {
  const notDone = statuses.filter((status) => codeForStatus(status, true) !== 'outcome_unknown');
  expect(notDone).toEqual([400, 401, 403, 404, 405, 406, 409, 413, 414, 415, 422, 423, 429, 503]);
});

test('a read without success is an error of its kind', () => {
  const codes = [302, 399, 400, 401, 403, 404, 410, 423, 429, 499, 500, 501, 503].map((status) => [
    status,
    codeForStatus(status, false),
  ]);
  expect(Object.fromEntries(codes)).toEqual({
    302: 'invalid_response',
    399: 'invalid_response',
    400: 'rejected',
    401: 'unauthenticated',
    403: 'forbidden',
    404: 'not_found',
    410: 'rejected',
    423: 'locked',
    429: 'rate_limited',
    499: 'rejected',
    500: 'unavailable',
    501: 'rejected',
    503: 'unavailable',
  });
});

test('a call whose outcome is unknown is never one that can simply be repeated', () => {
  const canRetry = (code: ControlPlaneErrorCode) => new ControlPlaneError(code, '').canRetry;
  for (const code of ['locked', 'rate_limited', 'unavailable', 'unreachable', 'limiter_failed', 'timed_out'] as const)
    expect([code, canRetry(code)]).toEqual([code, true]);
  for (const code of ['outcome_unknown', 'rejected', 'invalid_response', 'unauthenticated', 'aborted'] as const)
    expect([code, canRetry(code)]).toEqual([code, false]);
});

test('the message of an error has no secret, and only text that a store can hold', () => {
  const messageOf = (text: string) => new ControlPlaneError('rejected', text).message;
  expect(messageOf('napi_abc and nak_live_0123456789abcdef.x and nsk_live_0123456789abcdef')).toBe(
    'napi_[redacted] and nak_live_0123456789ab[redacted] and nsk_live_0123456789ab[redacted]',
  );
  expect(messageOf(`a\0b\ud83d`)).toBe('a\uFFFDb\uFFFD');
  expect(messageOf(`${'x'.repeat(499)}😀`)).toBe(`${'x'.repeat(499)}\uFFFD`);
});
