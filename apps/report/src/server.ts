import { randomUUID } from 'node:crypto';
import { createServer, type IncomingMessage, type Server, type ServerResponse, STATUS_CODES } from 'node:http';
import { createServer as createSecureServer } from 'node:https';
import type { Duplex } from 'node:stream';
import { getRequestListener } from '@hono/node-server';
import { codeOf } from '@keywarden/runtime';

export interface Tls {
  cert: Buffer;
  key: Buffer;
}

/**
 * Returns a server for an app that never listens. What fails before a request reaches the app is answered like an error of the app: as
 * application/problem+json with security headers. A reader that takes nothing of a complete answer for `stallMs` is cut off: answers that wait fill the memory.
 */
export function makeServer(
  fetch: (request: Request) => Response | Promise<Response>,
  { tls, stallMs = 30_000 }: { tls?: Tls | undefined; stallMs?: number } = {},
): Server {
  const answer = getRequestListener(fetch, {
    errorHandler: (error) => {
      const { status, headers, body } = describeRefusal(isRequestError(error) ? 400 : 500);
      return new Response(body, { status, headers });
    },
  });
  const listener = (request: IncomingMessage, response: ServerResponse) => {
    // HTTP/1.0 requires no Host header, and the health checks of some proxies send none.
    if (request.httpVersion === '1.0') request.headers.host ??= 'localhost';
    response.once('prefinish', () => response.setTimeout(stallMs));
    void answer(request, response);
  };
  // The listener refuses an HTTP/1.1 request without a Host header; Node would do so without a body.
  const options = { requireHostHeader: false, headersTimeout: 20_000, requestTimeout: 60_000 };
  const server =
    tls === undefined ? createServer(options, listener) : createSecureServer({ ...options, ...tls }, listener);
  server.on('checkExpectation', (_request, response: ServerResponse) => {
    const { status, headers, body } = describeRefusal(417);
    response.writeHead(status, headers).end(body);
  });
  server.on('clientError', (error, socket: Duplex) => {
    if (!socket.writable || codeOf(error) === 'ECONNRESET') return void socket.destroy();
    const { status, headers, body } = describeRefusal(statuses[codeOf(error)] ?? 400);
    const lines = Object.entries({ ...headers, 'content-length': body.length, connection: 'close' });
    const head = lines.map(([name, value]) => `${name}: ${value}\r\n`).join('');
    return void socket.end(`HTTP/1.1 ${status} ${STATUS_CODES[status]}\r\n${head}\r\n${body}`);
  });
  return server;
}

/** The status for each code of an error of Node's HTTP parser; any other is a 400. */
const statuses: Record<string, number> = {
  HPE_HEADER_OVERFLOW: 431,
  HPE_CHUNK_EXTENSIONS_OVERFLOW: 413,
  ERR_HTTP_REQUEST_TIMEOUT: 408,
};

const details: Record<number, string> = {
  400: 'This is not a valid HTTP request.',
  408: 'The request did not arrive in time.',
  413: 'The request is too long.',
  417: 'The report supports no expectation but 100-continue.',
  431: 'The headers of the request are too long.',
  500: 'The request failed.',
};

/** Returns an answer that the app did not make. It has only ASCII text, so that its length in characters is its length in bytes. */
function describeRefusal(status: number) {
  const requestId = randomUUID();
  const title = STATUS_CODES[status] ?? '';
  const body = JSON.stringify({ type: 'about:blank', status, title, detail: details[status], request_id: requestId });
  const headers = {
    'content-type': 'application/problem+json',
    'cache-control': 'no-store',
    'content-security-policy': "default-src 'none'; frame-ancestors 'none'",
    'referrer-policy': 'same-origin',
    'x-content-type-options': 'nosniff',
    'x-frame-options': 'DENY',
    'x-request-id': requestId,
  };
  return { status, headers, body };
}

const isRequestError = (error: unknown) => error instanceof Error && error.name === 'RequestError';
