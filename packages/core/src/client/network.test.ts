import { expect, test } from 'vitest';
import { networkCode, neverSent } from './network.ts';

const failed = (message: string, code?: string) =>
  new TypeError('fetch failed', { cause: Object.assign(new Error(message), code === undefined ? {} : { code }) });

test.each([
  ['ECONNREFUSED', true],
  ['ENOTFOUND', true],
  ['UND_ERR_CONNECT_TIMEOUT', true],
  ['ECONNRESET', false],
  ['ETIMEDOUT', false],
  ['EPIPE', false],
  ['UND_ERR_SOCKET', false],
  ['UND_ERR_HEADERS_TIMEOUT', false],
  ['UND_ERR_ABORTED', false],
])('whether %s proves that nothing was sent: %s', (code, isProof) => {
  expect(networkCode(failed('lost', code))).toBe(code);
  expect(neverSent(failed('lost', code))).toBe(isProof);
});

test('a proxy that refuses has sent nothing on, and the code names its status', () => {
  const refused = failed('Proxy response (407) !== 200 when HTTP Tunneling', 'UND_ERR_ABORTED');
  expect([networkCode(refused), neverSent(refused)]).toEqual(['PROXY_407', true]);
});

test('a fault without a code is named by its class, and proves nothing', () => {
  expect([networkCode(failed('lost')), neverSent(failed('lost'))]).toEqual(['TypeError', false]);
  expect([networkCode('lost'), neverSent('lost')]).toEqual(['unknown', false]);
});
