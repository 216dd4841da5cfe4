import { createServer } from 'node:http';
import { networkInterfaces } from 'node:os';
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
