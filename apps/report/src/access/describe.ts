import type { Access } from '@keywarden/db/report';
import type { Context } from 'hono';
import type { Env } from '../environment.ts';

/** A request as the access log keeps it. */
export function describeAccess(c: Context<Env>, status: number): Access {
  const { pathname, search } = new URL(c.req.url);
  return {
    requestId: c.get('requestId'),
    token: c.get('principal').token,
    address: c.get('address'),
    method: c.req.method,
    path: pathname,
    query: search.slice(1),
    status,
    stream: null,
    records: null,
    sha256: null,
  };
}
