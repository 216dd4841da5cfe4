import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import { brotliCompressSync, deflateSync, gzipSync } from 'node:zlib';
import { Refusal } from './access.ts';
import { answer, writeJson } from './routes.ts';
import { createTruth, type Truth } from './truth.ts';

/**
 * How one answer is sent. All of these were seen of services behind gateways, and none contradicts the description:
 * - whole answers: compressed, in pieces, after early hints, on a connection that ends without notice
 * - refusals: a rate limit, a lock, and pages of gateways
 * - `empty` and `error`: a status of success without the answer
 * - `cut`: an answer that ends early; `lost`: the request was done, and its connection ends without an answer
 */
export type Weather =
  | 'calm'
  | 'gzip'
  | 'br'
  | 'deflate'
  | 'pieces'
  | 'hints'
  | 'last'
  | 'dead'
  | 'limited'
  | 'locked'
  | 'html 503'
  | 'html 520'
  | 'redirect'
  | 'empty'
  | 'error'
  | 'cut'
  | 'lost';

export interface ControlPlane {
  url: string;
  truth: Truth;
  /** The answers so far, in order. */
  seen: { method: string; path: string; status: number; weather: Weather }[];
  /** Chooses how the next answers are sent; `calm` by default. */
  weather: (method: string, path: string) => Weather;
  /** How far the clock of the server that gives the next answer is from the service's, in ms: a service has several servers. */
  offMs: () => number;
  close(): Promise<void>;
}

export interface ControlPlaneOptions {
  /** The service's clock, in ms. */
  now?: () => number;
  /** The requests of a minute that it serves; it refuses the others, and says how long to wait. */
  perMinute?: number;
}

/**
 * Starts a second control plane, on a port of its own. It is written from the service's description alone, and shares neither code nor assumptions with the
 * sandbox: a test compares what Keywarden stores with `truth`.
 */
export async function createControlPlane({
  now = Date.now,
  perMinute = 700,
}: ControlPlaneOptions = {}): Promise<ControlPlane> {
  const truth = createTruth(now);
  const counted = { minute: 0, requests: 0 };
  const server = createServer((request, response) => void serve(request, response));
  const serve = async (request: IncomingMessage, response: ServerResponse) => {
    const { pathname, searchParams } = new URL(request.url ?? '', 'http://control-plane.example');
    const method = request.method ?? '';
    const path = pathname.replace(/^\/api\/v2/, '');
    const minute = Math.floor(now() / 60_000);
    if (minute !== counted.minute) Object.assign(counted, { minute, requests: 0 });
    counted.requests += 1;
    const weather = counted.requests > perMinute ? 'limited' : plane.weather(method, path);
    response.setHeader('date', new Date(now() + plane.offMs()).toUTCString());
    response.setHeader('x-neon-ret-request-id', randomBytes(16).toString('hex'));
    response.setHeader('vary', 'Origin');
    const refused = refusals[weather];
    const given = await text(request);
    const secret = /^Bearer (.*)$/.exec(request.headers.authorization ?? '')?.[1] ?? '';
    const address = String(request.headers['x-forwarded-for'] ?? '203.0.113.7,198.51.100.4');
    const body: unknown = given === '' ? undefined : JSON.parse(given);
    const { status, json } = refused
      ? { status: refused.status, json: '' }
      : ask(truth, { method, path, query: searchParams, body, secret, address });
    plane.seen.push({ method, path, status, weather });
    if (refused) {
      for (const [name, value] of Object.entries(refused.headers(now()))) response.setHeader(name, value);
      response.writeHead(refused.status).end(refused.body);
    } else send(response, { status, json, weather });
  };
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  // A server that listens on TCP has a port.
  const { port } = server.address() as AddressInfo;
  const plane: ControlPlane = {
    url: `http://127.0.0.1:${port}/api/v2`,
    truth,
    seen: [],
    weather: () => 'calm',
    offMs: () => 0,
    async close() {
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  };
  return plane;
}

function ask(truth: Truth, question: Parameters<typeof answer>[1]): { status: number; json: string } {
  try {
    return { status: 200, json: writeJson(answer(truth, question)) };
  } catch (error) {
    if (!(error instanceof Refusal)) throw error;
    return {
      status: error.status,
      json: writeJson({ message: error.message, code: '', request_id: randomBytes(8).toString('hex') }),
    };
  }
}

const page = (title: string) =>
  `<!DOCTYPE html>\n<html><head><title>${title}</title></head><body><h1>${title}</h1></body></html>`;
const html = { 'content-type': 'text/html; charset=UTF-8', server: 'cloudflare' };

/** The answers that no route gives: by their weather. Of them, the service has done nothing. */
const refusals: Partial<
  Record<Weather, { status: number; headers: (nowMs: number) => Record<string, string>; body: string }>
> = {
  limited: {
    status: 429,
    headers: (nowMs) => ({
      'content-type': 'application/json',
      'retry-after': String(60 - (Math.floor(nowMs / 1000) % 60)),
    }),
    body: '{"code":"","message":"rate limit exceeded"}',
  },
  locked: {
    status: 423,
    headers: () => ({ 'content-type': 'application/json' }),
    body: '{"code":"","message":"project already has running conflicting operations, scheduling of new ones is prohibited"}',
  },
  'html 503': {
    status: 503,
    headers: (nowMs) => ({ ...html, 'retry-after': new Date(nowMs + 2000).toUTCString() }),
    body: page('503 Service Temporarily Unavailable'),
  },
  'html 520': { status: 520, headers: () => html, body: page('520: Web server is returning an unknown error') },
  redirect: {
    status: 302,
    headers: () => ({ ...html, location: '/login?next=%2Fapi' }),
    body: '<a href="/login">Found</a>.',
  },
};

const compressions = { gzip: gzipSync, br: brotliCompressSync, deflate: deflateSync };

function send(
  response: ServerResponse,
  { status, json, weather }: { status: number; json: string; weather: Weather },
): void {
  const bytes = Buffer.from(json);
  const { socket } = response;
  response.setHeader('content-type', 'application/json; charset=utf-8');
  switch (weather) {
    case 'gzip':
    case 'br':
    case 'deflate':
      response.setHeader('content-encoding', weather);
      response.writeHead(status).end(compressions[weather](bytes));
      return;
    case 'pieces':
      response.writeHead(status);
      // Cuts within characters and numbers.
      for (let at = 0; at < bytes.length; at += 997) response.write(bytes.subarray(at, at + 997));
      response.end();
      return;
    case 'hints':
      response.writeEarlyHints({ link: '</style.css>; rel=preload; as=style' });
      break;
    case 'last':
      response.setHeader('connection', 'close');
      break;
    case 'dead':
      // The client may be about to use the connection again.
      response.once('finish', () => socket?.destroySoon());
      break;
    case 'empty':
      response.writeHead(200, { 'content-length': 0 }).end();
      return;
    case 'error':
      response.writeHead(200).end('{"code":"","message":"internal error"}');
      return;
    case 'cut':
      response.writeHead(status, { 'content-length': bytes.length });
      response.write(bytes.subarray(0, bytes.length >> 1), () => socket?.destroy());
      return;
    case 'lost':
      socket?.destroy();
      return;
    default:
  }
  response.writeHead(status, { 'content-length': bytes.length }).end(bytes);
}

const whole: Weather[] = ['calm', 'gzip', 'br', 'deflate', 'pieces', 'hints', 'last', 'dead'];
const odd: Weather[] = ['limited', 'locked', 'html 503', 'html 520', 'cut', 'lost'];

/** Returns weather that changes with each read. `oddness`, from 0 to 1, is the part of the reads without an answer. Writes are answered calmly. */
export function changingWeather(random: () => number, oddness = 0.15): ControlPlane['weather'] {
  const one = (of: Weather[]) => of[Math.floor(random() * of.length)] ?? 'calm';
  return (method) => (method === 'GET' ? one(random() < oddness ? odd : whole) : 'calm');
}

/** Returns numbers from 0 to 1 that look random and are the same in each run. */
export function numbersFrom(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state * 1_103_515_245 + 12_345) % 2 ** 31;
    return state / 2 ** 31;
  };
}
