import { once } from 'node:events';
import { type AddressInfo, connect } from 'node:net';
import { text } from 'node:stream/consumers';
import { until } from '@keywarden/testkit';
import { fixture, server, useServedFixture } from '@keywarden/testkit/report/served-fixture';
import { expect, onTestFinished, test } from 'vitest';
import { sessionCookie } from './access/authenticate.ts';
import { makeServer } from './server.ts';

useServedFixture();

/** Sends bytes, and returns the complete answer. */
async function send(request: string): Promise<string> {
  const socket = connect(server.port, '127.0.0.1');
  socket.write(request);
  socket.setTimeout(10_000, () => socket.destroy(new Error('no answer')));
  return await text(socket);
}

const signIn = (next: string) => {
  const body = `token=${fixture.tokens.viewer}&next=${encodeURIComponent(next)}`;
  return `POST /sign-in HTTP/1.1\r\nHost: here\r\nOrigin: http://here\r\nConnection: close\r\nContent-Type: application/x-www-form-urlencoded\r\nContent-Length: ${body.length}\r\n\r\n${body}`;
};

test.each([
  ['no Host header', 'GET /v1/keys HTTP/1.1\r\nConnection: close\r\n\r\n', 400],
  ['an impossible Host', 'GET /v1/keys HTTP/1.1\r\nHost: a b\r\nConnection: close\r\n\r\n', 400],
  ['no HTTP at all', 'hello\r\n\r\n', 400],
  [
    'both lengths of a body',
    'POST / HTTP/1.1\r\nHost: here\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n',
    400,
  ],
  ['headers that are too long', `GET / HTTP/1.1\r\nHost: here\r\nx: ${'a'.repeat(40_000)}\r\n\r\n`, 431],
  ['an expectation', 'GET / HTTP/1.1\r\nHost: here\r\nExpect: more\r\nConnection: close\r\n\r\n', 417],
  ['an unknown address', 'GET /v1/nothing HTTP/1.1\r\nHost: here\r\nConnection: close\r\n\r\n', 401],
])('a request with %s gets a problem with security headers', async (_what, request, status) => {
  const answer = await send(request);
  expect(answer).toMatch(new RegExp(`^HTTP/1\\.1 ${status} `));
  expect(answer).toMatch(/content-type: application\/problem\+json/i);
  for (const header of ['content-security-policy', 'x-content-type-options', 'x-request-id', 'cache-control'])
    expect(answer).toMatch(new RegExp(`^${header}: `, 'im'));
  expect(answer).toContain(`"status":${status}`);
  expect(answer).not.toMatch(/node_modules|\.ts|\.mjs/);
});

test.each([
  ['/readyz', 200],
  ['/v1/keys', 401],
])(
  'HTTP/1.0 without a Host header, as a proxy checks whether a server lives, gets an answer: %s',
  async (path, status) => {
    expect(await send(`GET ${path} HTTP/1.0\r\n\r\n`)).toMatch(new RegExp(`^HTTP/1\\.1 ${status} `));
  },
);

test.each(['/keys\u0001', '/keys\u007f', '/keys\r\nx-evil: 1', '/keys\0', '/ключи', '/keys\t'])(
  'sign-in to the page %j redirects to a path of this site',
  async (next) => {
    const answer = await send(signIn(next));
    expect(answer).toMatch(/^HTTP\/1\.1 303 /);
    expect(answer).toMatch(/^location: \/[\x21-\x7e]*\r$/im);
    expect(answer).not.toMatch(/^x-evil/im);
    expect(answer).toContain(sessionCookie);
  },
);

test.each(['//elsewhere.example', '/\\elsewhere.example', 'https://elsewhere.example', `/${'a'.repeat(3000)}`])(
  'sign-in does not redirect to %j',
  async (next) => {
    expect(await send(signIn(next))).toMatch(/^location: \/\r$/im);
  },
);

test('a reader that takes nothing of its answer is cut off; another one gets it whole', async () => {
  const size = 50_000_000;
  const ask = async (options: { stallMs?: number }) => {
    const large = makeServer(() => new Response('x'.repeat(size)), options).listen(0, '127.0.0.1');
    onTestFinished(() => void large.close());
    await once(large, 'listening');
    const reader = connect((large.address() as AddressInfo).port, '127.0.0.1').setEncoding('latin1');
    reader.write('GET / HTTP/1.1\r\nHost: here\r\nConnection: close\r\n\r\n');
    return { large, reader };
  };
  expect((await text((await ask({})).reader)).length).toBeGreaterThan(size);
  const { large, reader } = await ask({ stallMs: 200 });
  reader.pause().on('error', () => undefined);
  await once(large, 'request');
  await until(
    async () => (await new Promise((resolve) => void large.getConnections((_, count) => resolve(count)))) === 0,
  );
  reader.destroy();
});
