import { clientNetwork } from '@keywarden/core/values';
import type { Access } from '@keywarden/db/report';
import type { Context } from 'hono';
import type { Env } from '../environment.ts';

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

/** The letters, digits and marks that a URL never needs to encode (RFC 3986: unreserved), in their percent form. */
const encoded = /%([46][1-9a-f]|[57][\da]|3\d|2[de]|5f|7e)/gi;

/**
 * Returns the path of a URL with each letter as itself. The router takes `/v1/%6beys` for `/v1/keys`, so all that decides by a path must take it for the
 * same. Other characters stay encoded: a path of the log has no control characters.
 */
export function pathOf(url: string): string {
  return new URL(url).pathname.replace(encoded, (_code, hex: string) => String.fromCharCode(Number.parseInt(hex, 16)));
}
