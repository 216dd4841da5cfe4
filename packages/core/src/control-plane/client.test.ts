import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { createSandbox, type Sandbox } from '@keywarden/sandbox';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { createClient } from './client.ts';
import { ControlPlaneError } from './errors.ts';
import { parseJson } from './json.ts';
import { createLimiter } from './limits.ts';
import { collect } from './pagination.ts';

let sandbox: Sandbox;
const slept: number[] = [];
/** Real time, but waiting is only written down. */
const time = { now: Date.now, sleep: async (ms: number) => void slept.push(ms) };

beforeAll(async () => {
  sandbox = await createSandbox();
  await control('POST', 'generate', { organizations: 1, projects: 1, keys: 5, operations: 50 });
});
beforeEach(async () => {
  slept.length = 0;
  await control('PUT', 'faults', []);
});
afterAll(async () => await sandbox.close());

async function control(method: string, path: string, body: unknown): Promise<void> {
  const response = await fetch(`${sandbox.controlUrl}/${path}`, { method, body: JSON.stringify(body) });
  expect(response.status).toBe(200);
}

function client(change: Partial<Parameters<typeof createClient>[0]> = {}) {
  return createClient({ baseUrl: sandbox.url, apiKey: sandbox.adminKey, time, random: () => 1, ...change });
}

/** The typed error of a call that must fail. */
async function failure(call: Promise<unknown>): Promise<ControlPlaneError> {
  const error = await call.then(
    () => undefined,
    (reason: unknown) => reason,
  );
  expect(error).toBeInstanceOf(ControlPlaneError);
  // The line above has just checked it.
  return error as ControlPlaneError;
}

test.each([
  [{ kind: 'status', status: 503, times: 2 }, [500, 1000]],
  [{ kind: 'status', status: 429, times: 1 }, [500]],
  [{ kind: 'status', status: 500, times: 3 }, [200, 400, 800]],
  [{ kind: 'drop', times: 1 }, [200]],
  [{ kind: 'truncate', times: 1 }, [200]],
])('a read survives the fault %j', async (fault, expected) => {
  await control('PUT', 'faults', [{ path: '/users/me', ...fault }]);
  await expect(client().currentUser()).resolves.toMatchObject({ email: 'administrator@company.example' });
  expect(slept).toEqual(expected);
});

test('a write whose answer was lost is reported as unknown, and never repeated', async () => {
  await control('PUT', 'faults', [{ method: 'POST', path: '/api_keys', kind: 'lose_response', times: 1 }]);
  const error = await failure(client().createPersonalKey('lost'));
  expect(error.code).toBe('outcome_unknown');
  const { items } = await collect(client().personalKeys());
  expect(items.filter((key) => key.name === 'lost')).toHaveLength(1);
});

test('a write that was never sent is unreachable, not unknown', async () => {
  const closed = await listen(() => undefined);
  const baseUrl = `http://127.0.0.1:${portOf(closed)}/api/v2`;
  await new Promise((resolve) => closed.close(resolve));
  const error = await failure(client({ baseUrl }).createPersonalKey('never'));
  expect(error.code).toBe('unreachable');
});

test('a wrong credential is unauthenticated, and is in no part of the error', async () => {
  const apiKey = 'napi_thisIsNotAKeyOfAnybody';
  const error = await failure(client({ apiKey }).auth());
  expect(error).toMatchObject({ code: 'unauthenticated', status: 401, canRetry: false });
  expect(`${error.stack} ${JSON.stringify(error)} ${String(error.cause)}`).not.toContain('thisIsNotAKeyOfAnybody');
});

test('ids beyond 2^53 keep every digit', () => {
  const text = '{"id":9007199254740993,"size":12,"rate":1.5}';
  expect(parseJson(text, { exactIntegers: true })).toEqual({ id: '9007199254740993', size: 12, rate: 1.5 });
  expect(parseJson(text, { exactIntegers: false })).not.toEqual({ id: '9007199254740993', size: 12, rate: 1.5 });
});

test('a redirect is an error, and the credential goes to nobody else', async () => {
  const seen: (string | undefined)[] = [];
  const other = await listen((request, response) => {
    seen.push(request.headers.authorization);
    response.end('{}');
  });
  const redirecting = await listen((_request, response) => {
    response.writeHead(302, { location: `http://127.0.0.1:${portOf(other)}/auth` }).end();
  });
  const error = await failure(client({ baseUrl: `http://127.0.0.1:${portOf(redirecting)}` }).auth());
  expect(error.code).toBe('invalid_response');
  expect(seen).toEqual([]);
  other.close();
  redirecting.close();
});

test('a page that repeats its own cursor is an error and no endless loop', async () => {
  const repeating = await listen((_request, response) => {
    const member = { member: { id: '1', user_id: 'u', role: 'admin' }, user: { email: 'a@b.example' } };
    response
      .setHeader('content-type', 'application/json')
      .end(JSON.stringify({ members: [member], pagination: { next: 'x' } }));
  });
  const error = await failure(collect(client({ baseUrl: `http://127.0.0.1:${portOf(repeating)}` }).members('acme')));
  expect(error.message).toContain('repeats its own cursor');
  repeating.close();
});

test('unknown fields are kept, and a page of another shape is a typed error', async () => {
  const [organization] = await client().currentUserOrganizations();
  expect(organization?.extra).toMatchObject({ plan: 'scale', managed_by: 'console' });
  const odd = await listen((_request, response) => response.end('{"keys":[{"id":"x"}]}'));
  const error = await failure(collect(client({ baseUrl: `http://127.0.0.1:${portOf(odd)}` }).personalKeys()));
  expect(error.code).toBe('invalid_response');
  odd.close();
});

test('L1: no window of a minute holds more than the share of 700, and no window of a second more than that of 40 a route', async () => {
  let at = 0;
  const sent: number[] = [];
  const fake = { now: () => at, sleep: async (ms: number) => void (at += ms) };
  const limiter = createLimiter({ share: 0.5, time: fake });
  for (let index = 0; index < 1400; index += 1) {
    await limiter.wait('GET /projects');
    sent.push(at);
  }
  const most = (windowMs: number) =>
    Math.max(...sent.map((from) => sent.filter((each) => each >= from && each < from + windowMs).length));
  expect(most(60_000)).toBeLessThanOrEqual(350);
  expect(most(1000)).toBeLessThanOrEqual(20);
  expect(at).toBeLessThan((1.05 * (1400 - 20) * 60_000) / 350);
});

async function listen(handler: Parameters<typeof createServer>[1]): Promise<Server> {
  const server = createServer(handler ?? (() => undefined));
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return server;
}

function portOf(server: Server): number {
  // A TCP server's address is an object once it listens.
  return (server.address() as AddressInfo).port;
}
