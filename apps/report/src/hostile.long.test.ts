import { Agent, request } from 'node:http';
import { connect } from 'node:net';
import { text } from 'node:stream/consumers';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { fixture, server, useServedFixture } from '@keywarden/testkit/report/served-fixture';
import * as fc from 'fast-check';
import { expect, test } from 'vitest';

// A hundred thousand requests over HTTP, valid and hostile, against the API, the archive and the dashboard.

const requests = 100_000;
const atOnce = 16;
const rawRequests = 500;
/** One kilobyte kept of each request of the second half would be more. */
const mostGrowthMb = 40;

useServedFixture();

interface TestRequest {
  method: string;
  path: string;
  headers: Record<string, string>;
  body: string | undefined;
}

interface Answer {
  status: number;
  headers: NodeJS.Dict<string | string[]>;
  body: string;
}

/** Returns requests of all kinds: plausible and absurd addresses, parameters, bodies, tokens, cookies and origins. */
function arbitraryRequest(): fc.Arbitrary<TestRequest> {
  const junk = fc.oneof(
    fc.string({ unit: 'binary', maxLength: 300 }),
    fc.constantFrom(
      "' or 1=1 --",
      '../../etc/passwd',
      '%00',
      '<script>alert(1)</script>',
      '\0',
      '{{7*7}}',
      '9'.repeat(400),
    ),
    fc.integer().map(String),
    fc.constantFrom('2026-01-01T00:00:00Z', 'acme', 'quiet-river', '12', 'p-x', '90d', 'true'),
  );
  const places = fc.constantFrom(
    'keys',
    'plans',
    'reviews',
    'operations',
    'operations/buckets',
    'exemptions',
    'access-log',
    'sessions',
    'findings',
    'rotations',
    'coverage/operations',
    'evidence/controls',
    'me',
    'incidents',
    'projects',
    'credentials',
    'runs',
    'connections',
    'exports/keys',
  );
  const path = fc.oneof(
    { weight: 4, arbitrary: places.map((place) => `/v1/${place}`) },
    {
      weight: 3,
      arbitrary: fc.tuple(places, junk).map(([place, id]) => `/v1/${place}/${encodeURIComponent(id.toWellFormed())}`),
    },
    { weight: 2, arbitrary: places.map((place) => `/${place}`) },
    {
      weight: 1,
      arbitrary: fc.constantFrom(
        '/',
        '/sign-in',
        '/sign-out',
        '/docs',
        '/api/v2/projects',
        '/api/v2/auth',
        '/metrics',
        '/healthz',
      ),
    },
    { weight: 1, arbitrary: junk.map((id) => `/${encodeURIComponent(id.toWellFormed())}`) },
  );
  const names = fc.constantFrom(
    'limit',
    'cursor',
    'q',
    'as_of',
    'from',
    'to',
    'state',
    'next',
    'kind',
    'sort',
    'order',
    'flash',
    'project_id',
    'size',
  );
  const query = fc.array(fc.tuple(names, junk), { maxLength: 4 });
  const who = fc.constantFrom('viewer', 'auditor', 'operator', 'acme', 'wrong', 'cookie', 'none');
  const body = fc.option(fc.oneof(fc.json(), junk, fc.constant('token=x&next=/keys\u0001')), { nil: undefined });
  const type = fc.constantFrom(
    'application/json',
    'application/x-www-form-urlencoded',
    'multipart/form-data',
    'text/plain',
  );
  const origin = fc.constantFrom(undefined, 'http://here', 'https://here', 'null', 'https://elsewhere.example');
  const accept = fc.constantFrom('text/html', 'application/json', '*/*');
  return fc
    .record({
      method: fc.constantFrom('GET', 'GET', 'GET', 'POST', 'HEAD', 'PUT', 'DELETE', 'OPTIONS'),
      path,
      query,
      who,
      body,
      type,
      origin,
      accept,
    })
    .map(({ method, path: place, query: pairs, who: name, body: sent, type: kind, origin: from, accept: wants }) => {
      const parameters = new URLSearchParams(
        pairs.map(([key, value]): [string, string] => [key, value.toWellFormed()]),
      );
      const headers: Record<string, string> = { host: 'here', accept: wants };
      if (name === 'cookie') headers.cookie = `keywarden_session=${cookie}`;
      else if (name !== 'none') headers.authorization = `Bearer ${fixture.tokens[name] ?? 'kwr_wrong'}`;
      if (from !== undefined) headers.origin = from;
      if (method === 'POST' || method === 'PUT') headers['content-type'] = kind;
      const hasBody = method === 'POST' || method === 'PUT';
      return {
        method,
        path: parameters.size === 0 ? place : `${place}?${parameters.toString()}`,
        headers,
        body: hasBody ? sent?.toWellFormed() : undefined,
      };
    });
}

setFlagsFromString('--expose-gc');
const collectGarbage = runInNewContext('gc') as () => void;

/** Returns the memory that is still in use, in bytes. What the process has taken from the system also depends on when it collects garbage. */
function heldBytes(): number {
  collectGarbage();
  const { heapUsed, external } = process.memoryUsage();
  return heapUsed + external;
}

let cookie = '';
const agent = new Agent({ keepAlive: true, maxSockets: atOnce });

async function send({ method, path, headers, body }: TestRequest): Promise<Answer> {
  return await new Promise((resolve, reject) => {
    const sent = request({ host: '127.0.0.1', port: server.port, agent, method, path, headers }, (response) => {
      text(response).then(
        (read) => resolve({ status: response.statusCode ?? 0, headers: response.headers, body: read }),
        reject,
      );
    });
    sent.once('error', reject);
    sent.end(body);
  });
}

/** Returns what is wrong with an answer; null if nothing is. */
function faultOf({ status, headers, body }: Answer): string | null {
  if (status >= 500 && status !== 503) return `status ${status}: ${body.slice(0, 300)}`;
  for (const name of ['x-content-type-options', 'content-security-policy', 'x-request-id', 'cache-control'])
    if (headers[name] === undefined) return `status ${status} without ${name}`;
  return /node_modules|PostgresError|at async /.test(body) ? `internals in ${body.slice(0, 300)}` : null;
}

test(`of ${requests} requests none gets a 5xx but 503, or an answer without security headers; memory and the access log stay bounded`, async () => {
  cookie = await fixture.signIn('operator');
  const asked = fc.sample(arbitraryRequest(), { numRuns: 20_000, seed: 20_261_123 });
  const faults: string[] = [];
  const statuses = new Map<number, number>();
  let next = 0;
  const work = async () => {
    while (next < requests && faults.length < 10) {
      const each = asked[next % asked.length];
      next += 1;
      if (next === requests / 2) half = heldBytes();
      if (each === undefined) return;
      const answer = await send(each);
      statuses.set(answer.status, (statuses.get(answer.status) ?? 0) + 1);
      const fault = faultOf(answer);
      if (fault !== null) faults.push(`${each.method} ${each.path}: ${fault}`);
    }
  };
  let half = 0;
  const startMs = performance.now();
  await Promise.all(Array.from({ length: atOnce }, work));
  expect(faults).toEqual([]);
  expect(next).toBeGreaterThanOrEqual(requests);
  expect(statuses.get(200)).toBeGreaterThan(requests / 20);
  // The first half fills caches.
  const grownMb = (heldBytes() - half) / 2 ** 20;
  expect(grownMb).toBeLessThan(mostGrowthMb);
  const minutes = Math.ceil((performance.now() - startMs) / 60_000) + 1;
  const [refusals] = await fixture.store.sql`
    select count(*)::int as rows, sum(times)::int as times from keywarden.access_log where status between 400 and 499`;
  // One row for each minute, event, status and token; there are few of each.
  expect(Number(refusals?.times)).toBeGreaterThan(requests / 10);
  expect(Number(refusals?.rows)).toBeLessThan(minutes * 60);
});

test('bytes that are no request get a problem with security headers, or a closed connection', async () => {
  const lines = fc.sample(
    fc.oneof(
      fc.string({ unit: 'binary', maxLength: 200 }),
      fc.string({ unit: 'binary', maxLength: 100 }).map((name) => `GET /${name} HTTP/1.1\r\nHost: here\r\n\r\n`),
      fc
        .string({ unit: 'binary', maxLength: 100 })
        .map((value) => `GET / HTTP/1.1\r\nHost: here\r\nx: ${value}\r\nConnection: close\r\n\r\n`),
      fc.constant('POST / HTTP/1.1\r\nHost: here\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n'),
    ),
    { numRuns: rawRequests, seed: 20_261_123 },
  );
  for (const line of lines) {
    const socket = connect(server.port, '127.0.0.1');
    socket.end(line, 'latin1');
    socket.setTimeout(5000, () => socket.destroy());
    const answer = await text(socket).catch(() => '');
    if (answer === '') continue;
    expect(answer).toMatch(/^HTTP\/1\.1 (?!5)\d{3} /);
    expect(answer).toMatch(/^x-content-type-options: nosniff/im);
  }
});
