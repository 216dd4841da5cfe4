import { inspect } from 'node:util';
import { gzipSync } from 'node:zlib';
import { sized, until } from '@keywarden/testkit';
import { answering, clientFixture, failure } from '@keywarden/testkit/client/fixture';
import { createControls } from '@keywarden/testkit/sandbox/controls';
import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { createClient } from './client.ts';
import { ControlPlaneError } from './errors.ts';
import { collect } from './pagination.ts';

// Responses that no control plane should send. Each ends in a typed error: no crash, no hang, and nothing is sent to another host.

const json = { 'content-type': 'application/json' };
const deep = (levels: number) => `${'{"a":'.repeat(levels)}1${'}'.repeat(levels)}`;

const odd: [name: string, status: number, headers: Record<string, string>, body: string | Buffer][] = [
  ['nothing', 200, json, ''],
  ['half of it', 200, json, '{"account_id":"a","auth_me'],
  ['null', 200, json, 'null'],
  ['an array', 200, json, '[]'],
  ['a number', 200, json, '1e999'],
  ['wrong types', 200, json, '{"account_id":1,"auth_method":[]}'],
  ['a page of HTML', 200, { 'content-type': 'text/html' }, '<html></html>'],
  ['JSON called text', 200, { 'content-type': 'text/plain' }, '{"account_id":"a","auth_method":"b"}'],
  ['10 MB of JSON', 200, json, JSON.stringify({ account_id: 1, filler: 'x'.repeat(10_000_000) })],
  ['10 MB of nothing', 200, json, ' '.repeat(10_000_000)],
  ['100,000 levels of nesting', 200, json, deep(100_000)],
  ['bytes that are not UTF-8', 200, json, Buffer.from('{"account_id":"\u00ff","auth_method":"b"}', 'latin1')],
  ['a redirect to the same host', 302, { location: '/api/v2/auth' }, ''],
  ['a redirect to elsewhere', 307, { location: 'http://127.0.0.1:9/auth' }, ''],
  ['what a proxy has changed', 203, json, '{"account_id":"a","auth_method":"b"}'],
  ['a part of it', 206, json, '{"account_id":"a","auth_method":"b"}'],
  ['an error without a body', 418, {}, ''],
  ['an error of another kind', 404, { 'content-type': 'text/html' }, '<h1>not found</h1>'],
  ['an error that is an array', 400, json, '[1,2,3]'],
  ['an error with a strange message', 400, json, '{"message":{"toString":1},"request_id":{}}'],
];

test.each(odd)('the client rejects %s with a typed error', async (_name, status, headers, body) => {
  const { client } = await clientFixture();
  const baseUrl = await answering((_request, response) => response.writeHead(status, headers).end(body));
  const read = await failure(client({ baseUrl }).auth());
  expect(read.code).toMatch(/^(invalid_response|rejected|not_found)$/);
  expect(read.message.length).toBeLessThan(600);
  const write = await failure(client({ baseUrl }).createPersonalKey('x'));
  expect(write.code).toBe([400, 404].includes(status) ? read.code : 'outcome_unknown');
});

test('a row that is nested too deep is unreadable at any depth, and the others are read', async () => {
  const { client } = await clientFixture();
  let levels = 0;
  const baseUrl = await answering((_request, response) => {
    const row = (id: number, more: string) => `{"id":${id},"name":"k","created_at":"2026-01-01T00:00:00Z"${more}}`;
    response.writeHead(200, json).end(`[${row(1, `,"odd":${deep(levels)}`)},${row(2, '')}]`);
  });
  for (levels of [101, 2000, 100_000]) {
    const { items, rejected } = await collect(client({ baseUrl }).personalKeys());
    expect([items.map(({ id }) => id), rejected.map(({ id }) => id)]).toEqual([['2'], ['1']]);
    expect(JSON.stringify(rejected).length).toBeLessThan(1000);
  }
});

test('any response text gives a typed error or a value', async () => {
  let body = '';
  const { client } = await clientFixture();
  const baseUrl = await answering((_request, response) => response.writeHead(200, json).end(body));
  const texts = fc.oneof(
    fc.string({ unit: 'binary' }),
    fc.json(),
    fc.json().map((text) => text.slice(1)),
  );
  await fc.assert(
    fc.asyncProperty(texts, async (text) => {
      body = text;
      for (const call of [() => client({ baseUrl }).auth(), () => collect(client({ baseUrl }).personalKeys())]) {
        const error: unknown = await call().then(
          () => null,
          (reason: unknown) => reason,
        );
        expect(error === null || error instanceof ControlPlaneError).toBe(true);
      }
    }),
    { numRuns: sized(100) },
  );
});

test('a response larger than the limit is not read to its end, whether or not its length is announced', async () => {
  const { client } = await clientFixture();
  for (const [headers, size] of [
    [json, 1_000_001],
    [{ ...json, 'content-length': '1000001' }, 1],
  ] as const) {
    let isCutOff = false;
    const baseUrl = await answering((_request, response) => {
      response.on('close', () => (isCutOff = true)).writeHead(200, headers);
      // It does not end.
      response.write(' '.repeat(size));
    });
    const error = await failure(client({ baseUrl, maxBodyBytes: 1_000_000 }).auth());
    expect(error.code).toBe('invalid_response');
    expect(error.message).toContain('more than 1000000 bytes');
    await until(() => isCutOff);
  }
});

test('a compressed response that is larger than the limit is refused, although its announced length is not', async () => {
  const { client } = await clientFixture();
  const body = gzipSync(' '.repeat(5_000_000));
  const baseUrl = await answering((_request, response) =>
    response.writeHead(200, { ...json, 'content-encoding': 'gzip', 'content-length': body.length }).end(body),
  );
  const error = await failure(client({ baseUrl, maxBodyBytes: 1_000_000 }).auth());
  expect([error.code, error.message]).toEqual(['invalid_response', expect.stringContaining('more than 1000000 bytes')]);
});

test('a redirect is an error, and the credential is sent to no other host', async () => {
  const { client } = await clientFixture();
  const seen: unknown[] = [];
  const other = await answering((request, response) => {
    seen.push(request.headers);
    response.end('{}');
  });
  for (const status of [301, 302, 303, 307, 308]) {
    const baseUrl = await answering((_request, response) =>
      response.writeHead(status, { location: `${other}/auth` }).end(),
    );
    expect((await failure(client({ baseUrl }).auth())).code).toBe('invalid_response');
    // A gateway may redirect after the work was done.
    expect((await failure(client({ baseUrl }).createPersonalKey('x'))).code).toBe('outcome_unknown');
  }
  expect(seen).toEqual([]);
});

test('no error, client or repeated text of a control plane contains the credential', async () => {
  const { client, sandbox } = await clientFixture();
  const secret = 'napi_thisIsNotAKeyOfAnybody';
  const echo = await answering((request, response) =>
    response
      .writeHead(400, json)
      .end(JSON.stringify({ message: `bad ${request.headers.authorization}, not ${request.headers.authorization}` })),
  );
  const echoedType = await answering((request, response) =>
    response.writeHead(200, { 'content-type': `text/${request.headers.authorization}` }).end(),
  );
  const errors = [
    await failure(client({ apiKey: secret }).auth()),
    await failure(client({ apiKey: secret, baseUrl: echo }).auth()),
    await failure(client({ apiKey: 'opaque-key-2', baseUrl: echo }).auth()),
    await failure(client({ apiKey: 'opaque-key-2', baseUrl: echoedType }).auth()),
    await failure(client({ apiKey: secret, baseUrl: 'http://127.0.0.1:9/api/v2' }).auth()),
  ];
  expect(errors[0]).toMatchObject({ code: 'unauthenticated', status: 401, canRetry: false });
  const printed = [...errors, client({ apiKey: secret })].map((each) => inspect(each, { depth: 20, showHidden: true }));
  for (const text of [
    ...printed,
    ...errors.map((error) => `${error.stack} ${JSON.stringify(error)} ${String(error.cause)}`),
  ]) {
    expect(text).not.toMatch(/thisIsNotAKeyOfAnybody|opaque-key-2/);
  }
  expect(sandbox.adminKey).not.toBe(secret);
});

test('no row or revocation that repeats the credential contains it, whether it can be read or not; a new secret stays whole', async () => {
  const { client } = await clientFixture();
  const apiKey = 'opaque-key-4';
  const row = { id: 1, name: `of ${apiKey}`, created_at: '2026-01-01T00:00:00Z', hint: apiKey };
  const answers: Record<string, unknown> = {
    GET: [row, { ...row, id: apiKey, status: apiKey, [apiKey]: 1 }],
    DELETE: { ...row, revoked: true },
    POST: { id: 2, key: `${apiKey}-2` },
  };
  const baseUrl = await answering((request, response) =>
    response.writeHead(200, json).end(JSON.stringify(answers[request.method ?? ''])),
  );
  const odd = client({ apiKey, baseUrl });
  const { items, rejected } = await collect(odd.personalKeys());
  expect([items.length, rejected.length]).toEqual([1, 1]);
  expect(JSON.stringify([items, rejected, await odd.revokePersonalKey('1')])).not.toContain(apiKey);
  expect(await odd.createPersonalKey('x')).toMatchObject({ secret: `${apiKey}-2` });
});

test('an error has the id of its request: the control plane’s own, or the one that the client sent', async () => {
  const { client } = await clientFixture();
  // A success that cannot be read has its id in a header only.
  const ids: unknown[] = [];
  const odd = await answering((request, response) => {
    ids.push(ids.length === 0 ? request.headers['x-request-id'] : 'their-own');
    response.writeHead(200, ids.length === 1 ? json : { ...json, 'x-neon-ret-request-id': 'their-own' }).end('{}');
  });
  const unread = [await failure(client({ baseUrl: odd }).auth()), await failure(client({ baseUrl: odd }).auth())];
  expect(unread.map(({ requestId }) => requestId)).toEqual(ids);
  const sent: unknown[] = [];
  const baseUrl = await answering((request, response) => {
    sent.push(request.headers['x-request-id'], request.headers['user-agent']);
    const id = sent.length > 2 ? { request_id: 'their-id' } : {};
    const echoed = sent.length > 4 ? { request_id: sent.length > 6 ? 5 : 'opaque-key-3' } : {};
    response.writeHead(404, json).end(JSON.stringify({ code: '', message: 'none', ...id, ...echoed }));
  });
  const [first, second] = [await failure(client({ baseUrl }).auth()), await failure(client({ baseUrl }).auth())];
  expect(first.requestId).toBe(sent[0]);
  expect(second.requestId).toBe('their-id');
  expect(sent[1]).toMatch(/^keywarden\//);
  const third = await failure(client({ baseUrl, apiKey: 'opaque-key-3' }).auth());
  expect(third.requestId).toBe(sent[4]);
  const fourth = await failure(client({ baseUrl }).createPersonalKey('refused'));
  expect(fourth).toMatchObject({ code: 'not_found', requestId: sent[6] });
});

test('an id that would lead to another route is refused, and no request is sent', async () => {
  const { client, sandbox } = await clientFixture();
  for (const id of ['', '.', '..', '\ud800']) {
    expect((await failure(client().revokeOrganizationKey(id, '5'))).code).toBe('rejected');
  }
  const stats = await createControls(sandbox.controlUrl).stats();
  expect(stats.requests).toBe(0);
});

test('an id is one part of a path, also with a slash; no answer of a cache is wanted, and no slash is doubled', async () => {
  const { client } = await clientFixture();
  const seen: unknown[] = [];
  const baseUrl = await answering((request, response) => {
    seen.push(request.url, request.headers['cache-control']);
    response.writeHead(404, json).end('{}');
  });
  await failure(client({ baseUrl: `${baseUrl}/` }).organization('a/../b?c#d%2f'));
  expect(seen).toEqual(['/api/v2/organizations/a%2F..%2Fb%3Fc%23d%252f', 'no-cache']);
});

test('an unusable address, key or time limit is refused at once, without repeating the address or the key', () => {
  const make = (change: object) => () =>
    createClient({ baseUrl: 'http://127.0.0.1/api/v2', apiKey: 'napi_x', ...change });
  expect(make({ baseUrl: '' })).toThrow(/^baseUrl must be/);
  for (const baseUrl of [
    'ftp://host',
    'http://u:pw@host/api',
    'http://pw@host',
    'http://host/api?pw',
    'http://host#pw',
  ])
    expect(make({ baseUrl })).toThrow(/^baseUrl must be (?!.*pw)/);
  for (const apiKey of ['', 'pw\nof prod', 'pw x', 'pw\u00e9', '\u201cpw\u201d'])
    expect(make({ apiKey })).toThrow(/^apiKey must be (?!.*pw)/);
  for (const change of [{ timeoutMs: Infinity }, { timeoutMs: 0 }, { callTimeoutMs: 3e9 }, { callTimeoutMs: NaN }]) {
    expect(make(change)).toThrow(/must be from 1 to 2147483647 ms/);
  }
});

test('unknown fields are kept under any name except __proto__, which does no harm', async () => {
  const { client } = await clientFixture();
  const body = '{"id":"o","name":"n","created_at":"2026-01-01T00:00:00Z","__proto__":{"evil":1},"constructor":2}';
  const baseUrl = await answering((_request, response) => response.writeHead(200, json).end(body));
  const { extra } = await client({ baseUrl }).organization('o');
  expect(Object.keys(extra ?? {}).toSorted()).toEqual(['constructor']);
  expect(Reflect.get(Object(extra), 'evil')).toBeUndefined();
});

test('the documented response to a revocation is sufficient', async () => {
  const { client } = await clientFixture();
  const body = '{"id":5,"name":"k","revoked":true,"last_used_at":null,"last_used_from_addr":""}';
  const baseUrl = await answering((_request, response) => response.writeHead(200, json).end(body));
  expect(await client({ baseUrl }).revokePersonalKey('5')).toMatchObject({ id: '5', revoked: true });
});
