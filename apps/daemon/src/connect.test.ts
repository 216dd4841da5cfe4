import { once } from 'node:events';
import { createServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { makeCertificate } from '@keywarden/testkit/store/certificate';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { identify } from './connect.ts';

const server = createServer(makeServed(), (_request, response) => response.end('{}'));
let url: string;
beforeAll(async () => {
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  url = `https://127.0.0.1:${(server.address() as AddressInfo).port}`;
});
afterAll(() => void server.close());

function makeServed() {
  const { certificate: cert, key } = makeCertificate('127.0.0.1');
  return { cert, key };
}

test('a control plane whose certificate is not trusted is not said to be away', async () => {
  const connection = { name: 'main', url, identity: url, apiKey: 'napi_x', keyId: null, keyFile: null, share: 1 };
  const config = { connections: [connection], channels: [], usesSandbox: false };
  const failure = await identify(connection, {
    config: config as never,
    limiters: new Map(),
    signal: AbortSignal.timeout(60_000),
    // Nothing is sent, so the client would try again for a while.
    time: { now: Date.now, sleep: () => Promise.resolve() },
  }).catch((error: unknown) => error);
  expect(failure).toMatchObject({
    code: 'control_plane',
    message: `The control plane at ${url} has a certificate that this machine does not trust; set NODE_EXTRA_CA_CERTS to the file of its authority (connection main).`,
  });
});
