import { once } from 'node:events';
import http from 'node:http';
import { createServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { createClient } from '@keywarden/core/client';
import { createControlPlane } from '@keywarden/testkit/control-plane/control-plane';
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

/** Returns why a connection to this address fails. */
async function failureAt(url: string, apiKey = 'napi_x'): Promise<unknown> {
  const connection = { name: 'main', url, identity: url, apiKey, keyId: null, keyFile: null, share: 1 };
  const config = { connections: [connection], channels: [], usesSandbox: false };
  return await identify(connection, {
    config: config as never,
    limiters: new Map(),
    signal: AbortSignal.timeout(60_000),
    // The client would try again for a while.
    time: { now: Date.now, sleep: () => Promise.resolve() },
  }).catch((error: unknown) => error);
}

test('a control plane whose certificate is not trusted is not said to be away', async () => {
  expect(await failureAt(url)).toMatchObject({
    code: 'control_plane',
    message: `The control plane at ${url} has a certificate that this machine does not trust; set NODE_EXTRA_CA_CERTS to the file of its authority (connection main).`,
  });
});

test('a control plane whose answers are cut short is not said to answer 200', async () => {
  const plane = await createControlPlane();
  const ada = plane.truth.addUser('Ada');
  const { secret } = plane.truth.addKey({ name: 'own', scope: `user:${ada.id}`, creator: ada });
  plane.weather = () => 'cut';
  const message = expect.stringMatching(
    /^The control plane at http\S+ does not answer \(connection main: [A-Z_]+\); check CONTROL_PLANE_URL or the connection's url, and the network\.$/,
  );
  expect(await failureAt(plane.url, secret)).toMatchObject({ code: 'control_plane', message });
  await plane.close();
});

/** Node 24 has it, and its types do not yet. */
const setGlobalProxyFromEnv = Reflect.get(http, 'setGlobalProxyFromEnv') as (env: {
  https_proxy: string;
}) => () => void;

test('a proxy that refuses is named with its status, and a write that it refused was not sent', async () => {
  const proxy = http.createServer().on('connect', (_request, socket) => socket.end('HTTP/1.1 407 No\r\n\r\n'));
  await once(proxy.listen(0, '127.0.0.1'), 'listening');
  const restore = setGlobalProxyFromEnv({ https_proxy: `http://127.0.0.1:${(proxy.address() as AddressInfo).port}` });
  const baseUrl = 'https://control.example/api/v2';
  const message = `The proxy before the control plane at ${baseUrl} answers 407 (connection main); check HTTPS_PROXY, its user and password, and whether it permits this host.`;
  expect(await failureAt(baseUrl)).toMatchObject({ code: 'control_plane', message });
  const mint = createClient({ baseUrl, apiKey: 'napi_x' }).createPersonalKey('ci');
  await expect(mint).rejects.toMatchObject({ code: 'unreachable', networkCode: 'PROXY_407' });
  restore();
  proxy.close();
});
