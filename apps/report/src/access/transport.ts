import { makeNetworkTest } from '@keywarden/core/values';
import type { Context, MiddlewareHandler } from 'hono';
import { type Env, type Transport } from '../environment.ts';
import { Problem } from '../problem.ts';

const isLoopback = makeNetworkTest(['127.0.0.0/8', '::1']);

/** Returns whether only this machine can reach a listen name or address. */
export function isLocal(host: string): boolean {
  return host === 'localhost' || isLoopback(host) === true;
}

/** Sets the client's address, host and protocol. Rejects requests from other machines without HTTPS, whose tokens would cross in clear text. */
export function readTransport({ isTls, proxies }: Transport, peerOf: (c: Context) => string): MiddlewareHandler<Env> {
  const isProxy = makeNetworkTest(proxies);
  return async (c, next) => {
    const peer = peerOf(c);
    const chain = isProxy(peer) ? forwarded(c.req.header('x-forwarded-for')) : [];
    const client = chain.findLast((address) => !isProxy(address)) ?? peer;
    const isHttps =
      isTls || (isProxy(peer) === true && forwarded(c.req.header('x-forwarded-proto')).at(-1) === 'https');
    c.set('address', client.slice(0, 64));
    c.set('host', (isProxy(peer) && c.req.header('x-forwarded-host')) || c.req.header('host') || '');
    c.set('isHttps', isHttps);
    if (!isHttps && isLoopback(client) !== true)
      throw new Problem(
        403,
        'HTTPS required',
        'Other machines can reach the report only over HTTPS; use an https:// address.',
      );
    await next();
  };
}

const forwarded = (header: string | undefined) =>
  (header ?? '')
    .split(',')
    .map((each) => each.trim())
    .filter(Boolean);
