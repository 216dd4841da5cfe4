import { answering, clientFixture, failure } from '@keywarden/testkit/client/fixture';
import { expect, test } from 'vitest';
import { hiderOf } from './hide.ts';
import { collect } from './pagination.ts';

const secret = 'opaque/key+of~6"';
const jsonEscapes = (text: string) =>
  text.replaceAll(/./g, (each) => `\\u${each.charCodeAt(0).toString(16).padStart(4, '0')}`);
const percents = (text: string) => text.replaceAll(/./g, (each) => `%${each.charCodeAt(0).toString(16).toUpperCase()}`);
const quoted = (text: string) => JSON.stringify(text).slice(1, -1);
const urlBase64 = (text: string) => btoa(text).replaceAll('+', '-').replaceAll('/', '_').replaceAll('=', '');

/** What a careless control plane, or a proxy before it, may make of the credential when it repeats a request. */
const echoes: Record<string, string> = {
  plain: secret,
  'JSON in JSON': quoted(quoted(secret)),
  'every slash escaped': secret.replaceAll('/', String.raw`\/`),
  'every character escaped': jsonEscapes(secret),
  'escaped in upper case': jsonEscapes(secret).toUpperCase().replaceAll(String.raw`\U`, String.raw`\u`),
  'escaped twice': quoted(jsonEscapes(secret)),
  'a part of an address': encodeURIComponent(secret),
  'every character in percent': percents(secret),
  'percent in lower case': percents(secret).toLowerCase(),
  'percent twice': encodeURIComponent(percents(secret)),
  'a form': new URLSearchParams({ secret }).toString().slice('secret='.length),
  'base64 of a header': btoa(`Bearer ${secret}`),
  'base64 of a user': btoa(`:${secret}`),
  'base64 of a user and a name': btoa(`ab:${secret}`),
  'base64 of a request': btoa(`GET /auth HTTP/1.1\r\nAuthorization: Bearer ${secret}\r\nHost: a\r\n\r\n`),
  'base64 for addresses': urlBase64(`Bearer ${secret}?>`),
  'base64 in an address': encodeURIComponent(btoa(secret)),
  'base64 in JSON': btoa(`~~${secret}`).replaceAll('/', String.raw`\/`),
};

/** Returns everything that a reader of a text could take out of it by reversing these encodings. */
function readings(text: string): string {
  const read = [text];
  for (let round = 0; round < 3; round += 1) {
    const last = read.at(-1) ?? '';
    const plain = last
      .replaceAll(/\\+u00([\da-f]{2})/gi, (_, hex: string) => String.fromCharCode(Number.parseInt(hex, 16)))
      .replaceAll(/%([\da-f]{2})/gi, (_, hex: string) => String.fromCharCode(Number.parseInt(hex, 16)))
      .replaceAll(/\\+(?=["/])/g, '');
    const words =
      plain
        .replaceAll('-', '+')
        .replaceAll('_', '/')
        .match(/[\w+/]{12,}/g) ?? [];
    read.push(plain, ...words.map((word) => Buffer.from(word, 'base64').toString('latin1')));
  }
  return read.join('\n');
}

test('a credential that an answer repeats is hidden in any encoding of an address, of JSON or in base64', async () => {
  const { client } = await clientFixture();
  const shown = Object.entries(echoes).map(([of, echo]) => ({ of, text: hiderOf(secret)(`<${echo}>`) }));
  expect(shown.filter(({ text }) => !text.includes('[redacted]') || readings(text).includes(secret))).toEqual([]);
  // The test itself finds the credential in each of them.
  expect(Object.keys(echoes).filter((of) => !readings(echoes[of] ?? '').includes(secret))).toEqual([]);
  let message: string | undefined;
  const baseUrl = await answering((_request, response) => {
    const row = { id: 1, name: 'plain', created_at: '2026-01-01T00:00:00Z', hint: echoes };
    const body = message === undefined ? [row] : { message, request_id: urlBase64(secret) };
    const raw = JSON.stringify(body).replace('plain', `${jsonEscapes(secret)} ${secret.replaceAll(/["/]/g, '\\$&')}`);
    response.writeHead(message === undefined ? 200 : 400, { 'content-type': 'application/json' }).end(raw);
  });
  const careless = client({ apiKey: secret, baseUrl });
  const { items } = await collect(careless.personalKeys());
  expect(items).toMatchObject([{ name: '[redacted] [redacted]' }]);
  expect(readings(JSON.stringify(items))).not.toContain(secret);
  for (message of Object.values(echoes)) {
    const error = await failure(careless.auth());
    expect(error.message).toContain('[redacted]');
    expect(readings(`${error.message} ${error.requestId}`)).not.toContain(secret);
  }
});

test('what is no credential stays as it is, and no text takes long to search', () => {
  const hide = hiderOf(secret);
  const others = [
    'opaque/key',
    btoa('opaque/key'),
    String.raw`\n\u0041\\`,
    percents('opaque'),
    '100% \\ sure',
    '{"a":"\\"opaque"}',
  ];
  expect(others.map(hide)).toEqual(others);
  expect(hide(`\\n${secret}`)).toBe(String.raw`\n[redacted]`);
  for (const part of ['\\', '%25', secret.slice(0, -1), '\\u006f']) {
    const long = part.repeat(200_000);
    expect(hide(long)).toBe(long);
  }
});
