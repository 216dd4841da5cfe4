import { answering, clientFixture, failure } from '@keywarden/testkit/client/fixture';
import { createControls } from '@keywarden/testkit/sandbox/controls';
import { expect, test } from 'vitest';
import { createClient } from './client.ts';
import { noLimiter } from './limiter.ts';
import { collect } from './pagination.ts';
import { systemTime } from './wait.ts';

// Every row of the retry table, against the faults of the sandbox. Delays are recorded instead of slept, and jitter is off.

const backOff = [500, 1000, 2000, 4000, 8000, 16_000, 32_000];

interface Row {
  fault: { kind: string; status?: number };
  /** The result of a fault that does not end. */
  read: { code: string; waits: number[] };
  write: { code: string; waits: number[] };
}

const status = (code: number) => ({ kind: 'status', status: code });
const none = (code: string) => ({ code, waits: [] });

const rows: Row[] = [
  { fault: status(400), read: none('rejected'), write: none('rejected') },
  { fault: status(401), read: none('unauthenticated'), write: none('unauthenticated') },
  { fault: status(403), read: none('forbidden'), write: none('forbidden') },
  { fault: status(404), read: none('not_found'), write: none('not_found') },
  { fault: status(409), read: none('rejected'), write: none('rejected') },
  { fault: status(422), read: none('rejected'), write: none('rejected') },
  {
    fault: status(423),
    read: { code: 'locked', waits: [100, 200, 400, 800] },
    write: { code: 'locked', waits: [100, 200, 400, 800] },
  },
  {
    fault: status(429),
    read: { code: 'rate_limited', waits: backOff },
    write: { code: 'rate_limited', waits: backOff },
  },
  { fault: status(500), read: { code: 'unavailable', waits: [200, 400, 800] }, write: none('outcome_unknown') },
  { fault: status(502), read: { code: 'unavailable', waits: [200, 400, 800] }, write: none('outcome_unknown') },
  {
    fault: status(503),
    read: { code: 'unavailable', waits: backOff },
    write: { code: 'unavailable', waits: backOff },
  },
  { fault: status(504), read: { code: 'unavailable', waits: [200, 400, 800] }, write: none('outcome_unknown') },
  { fault: { kind: 'drop' }, read: { code: 'unavailable', waits: [200, 400, 800] }, write: none('outcome_unknown') },
  {
    fault: { kind: 'lose_response' },
    read: { code: 'unavailable', waits: [200, 400, 800] },
    write: none('outcome_unknown'),
  },
  {
    fault: { kind: 'truncate' },
    read: { code: 'unavailable', waits: [200, 400, 800] },
    write: none('outcome_unknown'),
  },
];

test.each(rows)('$fault', async ({ fault, read, write }) => {
  const { client, controls, slept } = await clientFixture();
  const tries = async (call: () => Promise<unknown>) => {
    slept.length = 0;
    const { code } = await failure(call());
    return { code, waits: [...slept] };
  };
  const { id } = await client().createPersonalKey('to be revoked');
  await controls.setFaults([fault]);
  expect(await tries(async () => await client().currentUser())).toEqual(read);
  expect(await tries(async () => await client().createPersonalKey('x'))).toEqual(write);
  // The evidence for a revocation may change during a delay, so the caller judges again and repeats the call.
  expect(await tries(async () => await client().revokePersonalKey(id))).toEqual({ ...write, waits: [] });

  // The same fault once: a repeated call then succeeds, and a call that is not repeated has failed.
  await controls.setFaults([{ ...fault, times: 1 }]);
  const again = await client()
    .currentUser()
    .then(
      () => 'done',
      () => 'failed',
    );
  expect(again).toBe(read.waits.length > 0 ? 'done' : 'failed');
});

// Deno's fetch would automatically resend on a connection that was used before. The read before the write makes such a connection.
test('a write whose response was lost is reported as unknown, and was done once', async () => {
  const { client, controls } = await clientFixture();
  await client().currentUser();
  await controls.setFaults([{ method: 'POST', kind: 'lose_response', times: 1 }]);
  expect((await failure(client().createPersonalKey('lost'))).code).toBe('outcome_unknown');
  const { items } = await collect(client().personalKeys());
  expect(items.filter((key) => key.name === 'lost')).toHaveLength(1);
});

test('a write that was never sent is unreachable, not unknown', async () => {
  const { sandbox, client } = await clientFixture();
  await sandbox.close();
  const { code, canRetry } = await failure(client().createPersonalKey('never'));
  expect({ code, canRetry }).toEqual({ code: 'unreachable', canRetry: true });
});

test.each([
  ['connect', 'unreachable'],
  ['read', 'outcome_unknown'],
  ['write', 'outcome_unknown'],
])('a write that found no route to its host, as its %s reports, is %s', async (syscall, code) => {
  const { client } = await clientFixture();
  const lost = Object.assign(new Error(`${syscall} EHOSTUNREACH`), { code: 'EHOSTUNREACH', syscall });
  const broken = client({ fetch: async () => await Promise.reject(new TypeError('fetch failed', { cause: lost })) });
  for (const write of [broken.createPersonalKey('lost'), broken.revokePersonalKey('5')])
    expect(await failure(write)).toMatchObject({ code, networkCode: 'EHOSTUNREACH' });
});

test('a write whose response has begun was sent, even if its end reports a host that cannot be reached', async () => {
  const { client } = await clientFixture();
  const lost = Object.assign(new Error('lost'), { code: 'EHOSTUNREACH' });
  const cut = async () => new Response(new ReadableStream({ pull: (body) => body.error(lost) }));
  expect(await failure(client({ fetch: cut }).createPersonalKey('cut'))).toMatchObject({
    code: 'outcome_unknown',
    status: 200,
  });
});

test.each([
  ['CERT_HAS_EXPIRED', 'unreachable'],
  ['ERR_TLS_CERT_ALTNAME_INVALID', 'unreachable'],
  ['ERR_SSL_TLSV13_ALERT_CERTIFICATE_REQUIRED', 'outcome_unknown'],
])(
  'a write is not sent to a server whose certificate is refused, but a server may refuse the client after it: with %s it is %s',
  async (networkCode, code) => {
    const { client } = await clientFixture();
    const cause = Object.assign(new Error('TLS'), { code: networkCode });
    const broken = client({ fetch: async () => await Promise.reject(new TypeError('fetch failed', { cause })) });
    for (const write of [broken.createPersonalKey('refused'), broken.revokePersonalKey('5')])
      expect(await failure(write)).toMatchObject({ code, networkCode });
  },
);

test.each([
  ['tcp connect error: Connection refused (os error 111)', 'ECONNREFUSED'],
  ['dns error: failed to lookup address information: Name or service not known', 'ENOTFOUND'],
  ['invalid peer certificate: UnknownIssuer', 'ERR_TLS_CERT'],
])('a write that Deno did not send, because of %s, is unreachable, not unknown', async (why, code) => {
  const { client } = await clientFixture();
  const text = `error sending request for url (https://host/): client error (Connect): ${why}`;
  const cause = new TypeError('fetch failed', { cause: new Error(text) });
  const broken = client({ fetch: async () => await Promise.reject(cause) });
  for (const write of [broken.createPersonalKey('never'), broken.revokePersonalKey('5')])
    expect(await failure(write)).toMatchObject({
      code: 'unreachable',
      message: expect.stringContaining(`cannot be reached (${code})`),
    });
});

test.each([
  ['seconds', '2', [2000], 2000],
  ['a date', new Date(Date.now() + 86_400_000).toUTCString(), [300_000], 300_000],
  ['nothing that can be read', 'soon', [500], 0],
])('Retry-After as %s is a floor under the wait, five minutes at most', async (_name, header, waits, limitedMs) => {
  const { client, slept } = await clientFixture();
  const limited: number[] = [];
  const limiter = { ...noLimiter, limited: (ms: number) => void limited.push(ms) };
  let asked = 0;
  const baseUrl = await answering((_request, response) => {
    asked += 1;
    response.setHeader('content-type', 'application/json');
    if (asked === 1) response.writeHead(429, { 'retry-after': header }).end('{"code":"","message":"slow down"}');
    else response.end('{"id":"u","email":"u@company.example"}');
  });
  await client({ baseUrl, limiter, callTimeoutMs: 600_000 }).currentUser();
  expect([slept, limited]).toEqual([waits, [limitedMs]]);
});

test('a call whose timeout would pass ends with its last error', async () => {
  const { client, controls, slept } = await clientFixture();
  await controls.setFaults([{ kind: 'status', status: 503 }]);
  const { code } = await failure(client({ callTimeoutMs: 5000 }).currentUser());
  expect(code).toBe('unavailable');
  expect(slept).toEqual([500, 1000, 2000, 4000]);
});

test('a response that does not arrive within the timeout of an attempt counts as lost', async () => {
  const { client, slept } = await clientFixture();
  const baseUrl = await answering(() => undefined);
  const error = await failure(client({ baseUrl, timeoutMs: 20 }).currentUser());
  expect(error).toMatchObject({ code: 'unavailable', networkCode: 'TimeoutError' });
  expect(error.message).toContain('no response within 20 ms');
  expect(slept).toHaveLength(3);
  expect((await failure(client({ baseUrl, timeoutMs: 20 }).createPersonalKey('x'))).code).toBe('outcome_unknown');
});

test('an aborted call rejects as aborted: before it is sent, between attempts, or in flight', async () => {
  const { client, controls, sandbox } = await clientFixture();
  const options = { baseUrl: sandbox.url, apiKey: sandbox.adminKey };
  const aborted = AbortSignal.abort();
  expect((await failure(client().currentUser({ signal: aborted }))).code).toBe('aborted');
  expect((await failure(client().createPersonalKey('x', { signal: aborted }))).code).toBe('aborted');
  expect(await requests(sandbox)).toBe(0);
  const between = new AbortController();
  await controls.setFaults([{ kind: 'status', status: 503 }]);
  const hooks = { onRetry: () => between.abort() };
  const stopped = createClient({ ...options, hooks, time: systemTime }).currentUser({ signal: between.signal });
  expect((await failure(stopped)).code).toBe('aborted');
  const underWay = new AbortController();
  const baseUrl = await answering(() => underWay.abort());
  // The timeout of an attempt ends none of them.
  const timeoutMs = 2 ** 31 - 1;
  const cut = await failure(client({ baseUrl, timeoutMs }).currentUser({ signal: underWay.signal }));
  expect([cut.code, cut.message]).toEqual(['aborted', expect.stringContaining('in flight')]);
  const deadline = AbortSignal.timeout(20);
  const silent = await answering(() => undefined);
  const waiting = { baseUrl: silent, timeoutMs };
  expect((await failure(client(waiting).currentUser({ signal: deadline }))).code).toBe('aborted');
  expect((await failure(client({ ...waiting, callTimeoutMs: 20 }).currentUser())).code).toBe('timed_out');
});

async function requests(sandbox: { controlUrl: string }): Promise<unknown> {
  const stats = await createControls(sandbox.controlUrl).stats();
  return stats.requests;
}

test('a refusal with a truncated body keeps its status, and the limiter records a 429', async () => {
  const { client } = await clientFixture();
  for (const [status, code] of [
    [401, 'unauthenticated'],
    [423, 'locked'],
    [429, 'rate_limited'],
    [503, 'unavailable'],
  ] as const) {
    let limited = 0;
    const limiter = { ...noLimiter, limited: () => void (limited += 1) };
    const baseUrl = await answering((_request, response) => {
      response.writeHead(status, { 'content-type': 'application/json', 'content-length': 100 });
      response.write('{"message":');
      setImmediate(() => response.destroy());
    });
    const error = await failure(client({ baseUrl, limiter }).createPersonalKey('x'));
    expect([error.code, limited]).toEqual([code, status === 429 ? 8 : 0]);
  }
});

test('a write is sent once, although fetch automatically repeats requests after a 421', async () => {
  const { client } = await clientFixture();
  const seen: unknown[] = [];
  const baseUrl = await answering((request, response) => {
    seen.push(request.method);
    response.writeHead(421, { 'content-type': 'application/json' }).end('{"message":"another server"}');
  });
  expect((await failure(client({ baseUrl }).createPersonalKey('x'))).code).toBe('outcome_unknown');
  expect((await failure(client({ baseUrl }).revokePersonalKey('5'))).code).toBe('outcome_unknown');
  expect((await failure(client({ baseUrl }).revokeOrganizationKey('o', '5'))).code).toBe('outcome_unknown');
  expect(seen).toEqual(['POST', 'DELETE', 'DELETE']);
});

test('Retry-After as a date is measured by the clock of the server that sent it', async () => {
  const { client, slept } = await clientFixture();
  const date = new Date(Date.now() - 120_000);
  let asked = 0;
  const baseUrl = await answering((_request, response) => {
    asked += 1;
    const later = new Date(date.getTime() + 30_000).toUTCString();
    response.writeHead(asked === 1 ? 503 : 200, { date: date.toUTCString(), 'retry-after': later });
    response.end('{"id":"u","email":"u@company.example"}');
  });
  await client({ baseUrl }).currentUser();
  expect(slept).toEqual([30_000]);
});

test('a hook that throws does not lose the response', async () => {
  const { client } = await clientFixture();
  const broken = () => {
    throw new Error('metrics are down');
  };
  const hooks = { onAttempt: broken, onRetry: broken, onWait: broken };
  expect((await client({ hooks }).createPersonalKey('x')).secret).toMatch(/^napi_/);
});

test('hooks receive each attempt, wait and retry, without any secret', async () => {
  const { client, controls, sandbox } = await clientFixture();
  await controls.setFaults([{ kind: 'status', status: 503, times: 1 }]);
  const heard: object[] = [];
  const note = (kind: string) => (value: object) => void heard.push({ kind, ...value });
  const hooks = { onAttempt: note('attempt'), onRetry: note('retry'), onWait: note('wait') };
  await client({ hooks }).currentUser();
  const route = { method: 'GET', route: '/users/me' };
  expect(heard).toMatchObject([
    { kind: 'wait', ...route },
    { kind: 'attempt', ...route, attempt: 1, status: 503 },
    { kind: 'retry', ...route, attempt: 1, status: 503, delayMs: 500 },
    { kind: 'wait', ...route },
    { kind: 'attempt', ...route, attempt: 2, status: 200 },
  ]);
  expect(JSON.stringify(heard)).not.toContain(sandbox.adminKey);
});
