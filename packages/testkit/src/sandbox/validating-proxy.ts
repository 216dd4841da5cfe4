import type { AddressInfo } from 'node:net';
import { serve } from '@hono/node-server';
import { Hono } from 'hono';
import { readContract } from './contract.ts';

/** A proxy between a client and a service that checks each response against the contract of both client packages. */
export interface ValidatingProxy {
  /** Replaces the service's base URL; includes the version. */
  url: string;
  requests: number;
  /** Descriptions of the responses that deviate from the contract. */
  faults: string[];
  close(): Promise<void>;
}

/** Starts the proxy. `beforeEach` runs before each request is forwarded. Hop-by-hop headers are left out. */
export async function openValidatingProxy(
  target: string,
  beforeEach: (route: string) => Promise<void> = async () => {},
): Promise<ValidatingProxy> {
  const contract = readContract();
  const patterns = contract.routes
    // If two patterns match, the one with fewer names applies.
    .toSorted((a, b) => a.split('{').length - b.split('{').length)
    .map((route) => ({ route, pattern: new RegExp(`^${route.replace(/\{\w+\}/g, '[^/]+')}$`) }));
  const app = new Hono();
  app.all('*', async (c) => {
    const { pathname, search } = new URL(c.req.url);
    const asked = `${c.req.method} ${pathname.replace('/api/v2', '')}`;
    const route = patterns.find(({ pattern }) => pattern.test(asked))?.route;
    proxy.requests += 1;
    await beforeEach(route ?? asked);
    const headers = new Headers(c.req.raw.headers);
    for (const name of ['host', 'connection', 'content-length', 'accept-encoding', 'transfer-encoding'])
      headers.delete(name);
    const body = c.req.method === 'GET' ? null : await c.req.text();
    const answer = await fetch(`${target}${pathname.replace('/api/v2', '')}${search}`, {
      method: c.req.method,
      headers,
      ...(body === null || body === '' ? {} : { body }),
    });
    const text = await answer.text();
    const fault =
      route === undefined ? 'no package has the route' : contract.findFault(route, answer.status, jsonOf(text));
    if (fault !== null) proxy.faults.push(`${asked} ${answer.status}: ${fault}`);
    const passed = new Headers(answer.headers);
    for (const name of ['content-length', 'connection', 'transfer-encoding', 'keep-alive']) passed.delete(name);
    return new Response(text === '' ? null : text, { status: answer.status, headers: passed });
  });
  const server = serve({ fetch: app.fetch, hostname: '127.0.0.1', port: 0 });
  await new Promise((resolve) => server.once('listening', resolve));
  const { port } = server.address() as AddressInfo; // it listens on a port
  const proxy: ValidatingProxy = {
    url: `http://127.0.0.1:${port}/api/v2`,
    requests: 0,
    faults: [],
    close: async () => await new Promise((resolve) => server.close(() => resolve())),
  };
  return proxy;
}

function jsonOf(text: string): unknown {
  try {
    return text === '' ? null : JSON.parse(text);
  } catch {
    return text; // the contract check reports a body that is not JSON
  }
}
