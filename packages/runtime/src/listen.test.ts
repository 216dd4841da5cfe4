import { once } from 'node:events';
import { createServer } from 'node:http';
import { createServer as createSecureServer } from 'node:https';
import { connect } from 'node:net';
import { networkInterfaces } from 'node:os';
import { text } from 'node:stream/consumers';
import { expect, onTestFinished, test } from 'vitest';
import { listen } from './listen.ts';

/** Some containers have no IPv6. */
const ownAddresses = Object.values(networkInterfaces()).flatMap((each) => each?.map(({ address }) => address) ?? []);
const hosts = ['127.0.0.1', '::1'].filter((host) => ownAddresses.includes(host));

test.each(['localhost', ...hosts])('a server that listens on %s answers at its address', async (host) => {
  const server = createServer((_request, response) => response.end('here'));
  const { address, close } = await listen(server, { host, port: 0 });
  onTestFinished(close);
  const answer = await fetch(`http://${address}`);
  expect(await answer.text()).toBe('here');
});

test('an idle connection stays open for longer than a proxy keeps it: Caddy reuses one for two minutes', async () => {
  const server = createServer((_request, response) => void response.end());
  const listening = await listen(server, { host: '127.0.0.1', port: 0 });
  onTestFinished(listening.close);
  const response = await fetch(`http://${listening.address}/`);
  expect(Number(/^timeout=(\d+)$/.exec(response.headers.get('keep-alive') ?? '')?.[1])).toBeGreaterThan(120);
});

test('a server stops although a client holds a connection on which TLS never begins', async () => {
  // Node itself would end the connection after two minutes.
  const server = createSecureServer({ handshakeTimeout: 2 ** 30 });
  const { address, close } = await listen(server, { host: '127.0.0.1', port: 0 });
  const socket = connect(Number(new URL(`https://${address}`).port), '127.0.0.1');
  await once(server, 'connection');
  const received = text(socket);
  await close();
  expect(await received).toBe('');
});
