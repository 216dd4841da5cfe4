import { clientNetwork } from '@keywarden/core/values';
import type { Access } from '@keywarden/db/report';
import type { Context } from 'hono';
import type { Env } from '../environment.ts';
import { pathOf } from '../parameters.ts';

/** Returns a request as an entry of the access log. */
export function describeAccess(
  c: Context<Env>,
  {
    status,
    event = 'request',
    credential = c.get('principal').credential,
  }: { status: number; event?: Access['event']; credential?: string },
): Access {
  const { search } = new URL(c.req.url);
  return {
    requestId: c.get('requestId'),
    credential,
    address: c.get('address'),
    network: clientNetwork(c.get('address')),
    method: c.req.method,
    path: pathOf(c.req.url),
    query: search.slice(1),
    status,
    stream: null,
    records: null,
    sha256: null,
    fileSha256: null,
    event,
  };
}
