import { mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { readEnvironment } from '../environment.ts';
import { emptyNote, noteOf, writeNote } from './key-file.ts';
import { parseConfig, readConfig } from './read.ts';

const folder = mkdtempSync(join(tmpdir(), 'keywarden-config-'));

function read(text: string, variables: Record<string, string> = {}) {
  const file = join(folder, 'keywarden.yaml');
  writeFileSync(file, text);
  const all = { KEYWARDEN_CONFIG: file, KEYWARDEN_DATA: folder, ...variables };
  return readConfig(readEnvironment(all), all);
}

test('an empty file configures the sandbox with the default policy', () => {
  const config = read('', { SANDBOX_ADMIN_KEY: 'napi_x' });
  expect(config.usesSandbox).toBe(true);
  expect(config.connections).toMatchObject([{ name: 'sandbox', keyId: '1', url: 'http://127.0.0.1:8810/api/v2' }]);
  expect(config.policy.rules.map((rule) => rule.name)).toEqual([
    'unused-90d',
    'never-used-30d',
    'too-many-per-creator',
  ]);
});

test('connections read their keys from variables and files, never from the configuration file itself', () => {
  const text =
    'connections:\n  - {name: prod, url: "https://host.example/api/v2/", api_key_env: PROD_KEY, key_id: 9007199254740993}\n';
  const [connection] = read(text.replace('9007199254740993', '"9007199254740993"'), {
    PROD_KEY: 'napi_secret',
  }).connections;
  expect(connection).toEqual({
    name: 'prod',
    url: 'https://host.example/api/v2',
    identity: 'https://host.example/api/v2',
    apiKey: 'napi_secret',
    keyId: '9007199254740993',
    keyFile: null,
    share: 0.5,
  });
});

test.each([
  ['policy:\n  rules:\n    - name: x\n      unused_for: 90\n      action: revoke\n', 'line 4, column 19'],
  [
    'policy:\n  rules:\n    - name: x\n      unused_for: 90 days\n      action: revoke\n',
    'a duration is a number above 0 and a unit',
  ],
  ['policy:\n  rules:\n    - {name: x, unused_for: 9d, action: delete}\n', 'policy.rules.0.action'],
  [
    'policy:\n  rules:\n    - {name: x, action: revoke}\n',
    'exactly one of preset, unused_for, never_used_for, older_than',
  ],
  ['polcy: {}\n', 'line 1, column 1: polcy'],
  [
    'policy:\n  rules:\n    - name: x\n      older: # 90d\n        - 90d\n      action: revoke\n',
    'line 4, column 7: policy.rules.0.older: Unrecognized key',
  ],
  ['schedules: {keys: every day}\n', 'not a cron expression'],
  ['connections: [\n', 'line 2, column 1'],
  ['policy: *other\n', 'an alias (*name) cannot be resolved'],
  ['policy: {rules: [{name: a, action: report, not: &a {not: *a}}]}\n', 'an alias (*name) cannot be resolved'],
  ['policy: {quotas: !!omap [per_run: 5]}\n', 'line 1, column 18: Unresolved tag: tag:yaml.org,2002:omap'],
  [
    'retention: {operations: 300d}\n---\npolicy: {}\n',
    'line 2, column 1: the file has a second document (---); keep one.',
  ],
  ['retention: {operations: !from-vault 300d}\n', 'line 1, column 25: Unresolved tag: !from-vault'],
  [
    'connections:\n  - {name: a, url: "ftp://x", api_key_env: A}\n',
    'connections.0.url: an address must begin with https:// or http://',
  ],
  ['connections:\n  - {name: a, url: "https://x"}\n', 'exactly one of api_key_env and api_key_file'],
  [
    'connections:\n  - {name: a, url: "https://x", api_key_env: A, api_key_file: /b}\n',
    'exactly one of api_key_env and api_key_file',
  ],
  ['connections:\n  - {name: a, url: "https://x", api_key_env: A, share: 0.009}\n', 'connections.0.share'],
  ['connections:\n  - {name: a, url: "https://x", api_key_env: A, share: 1.1}\n', 'connections.0.share'],
  [
    'connections:\n  - &a {name: a, url: "https://x", api_key_env: A}\n  - *a\n',
    'connections: two connections have the same name',
  ],
  [
    'channels:\n  - &a {name: a, format: slack, url: "https://x"}\n  - *a\n',
    'channels: two channels have the same name',
  ],
  ['channels:\n  - {name: a, format: slack, url: "https://x", secret_env: A}\n', 'slack has neither'],
  [
    'channels:\n  - {name: a, format: standard-webhooks, url: "https://x"}\n',
    'exactly one of secret_env and secret_file',
  ],
  [
    'policy:\n  rules:\n    - {name: x, older_than: 90d, action: notify}\n',
    'a rule notifies owners (notices, or action: notify), and there is no channel',
  ],
  [
    'policy:\n  rules:\n    - {name: x, older_than: 90d, even_in_use: true, action: revoke, notices: [7d]}\n',
    'a rule notifies owners (notices, or action: notify), and there is no channel',
  ],
  ['sinks:\n  - &a {name: a, kind: file, path: /x}\n  - *a\n', 'sinks: two sinks have the same name'],
  ['sinks:\n  - {name: a, kind: file, path: "/x/{lineage"}\n', 'braces must enclose one of lineage'],
  ['sinks:\n  - {name: a, kind: file, path: "/x/{key}"}\n', 'are valid placeholders'],
  ['sinks:\n  - {name: a, kind: file, path: "/x\\0"}\n', 'must not contain NUL'],
  ['sinks:\n  - {name: a, kind: command, command: [x], timeout: 11m}\n', 'timeout must be at most 10m'],
  [
    'policy:\n  rules:\n    - {name: x, older_than: 90d, action: rotate, rotation: {sink: vault}}\n',
    'policy.rules.0.rotation.sink: sink vault does not exist',
  ],
  [
    'operations: {overlap: 999999w}\n',
    'operations.overlap: a duration is a number above 0 and a unit: 45s, 30m, 12h, 90d, 2w; the longest is 365000d',
  ],
  ['shutdown_timeout: 11m\n', 'shutdown_timeout must be at most 10m'],
  ['operations: {page_limit: 1}\n', 'operations.page_limit'],
  ['operations: {page_limit: 1001}\n', 'operations.page_limit'],
  ['operations: {settle: 9m}\n', 'operations.settle: settle must be at least 10m'],
  ['operations: {settle: 1h, overlap: 1h}\n', 'operations: overlap must be longer than settle'],
  ['retention: {operations: 213d}\n', 'retention.operations must be at least 214d'],
  ['retention: {access_log: 364d}\n', 'access_log must be at least 365d'],
])('a broken file is reported in one sentence with its position: %j', (text, expected) => {
  expect(() => parseConfig(text, 'keywarden.yaml')).toThrow(expected);
});

test('a file and an environment that both name a control plane are refused, and not one of them ignored', () => {
  const variables = { CONTROL_PLANE_URL: 'https://b.example', CONTROL_PLANE_API_KEY: 'napi_b', A: 'napi_a' };
  const connection = 'connections:\n  - {name: a, url: "https://a.example", api_key_env: A}\n';
  expect(() => read(connection, variables)).toThrow('unset one of them');
});

test.each([
  [{ CONTROL_PLANE_URL: 'https://host.example' }, 'CONTROL_PLANE_API_KEY is not'],
  [{ CONTROL_PLANE_API_KEY: 'napi_x' }, 'CONTROL_PLANE_URL is not'],
  [
    { CONTROL_PLANE_URL: 'host.example', CONTROL_PLANE_API_KEY: 'napi_x' },
    'must be an address that begins with https://',
  ],
  [{ REPORT_PORT: '99999' }, 'REPORT_PORT must be a port'],
  [{ LOG_LEVEL: 'loud' }, 'LOG_LEVEL must be one of'],
  [{ CONTROL_PLANE_KEY_ID: 'abc' }, 'CONTROL_PLANE_KEY_ID must be the number of a key'],
  [{ REPORT_TOKEN: 'short' }, 'REPORT_TOKEN must have 20 characters or more'],
  [{ REPORT_TOKEN: 'a phrase of several words' }, 'REPORT_TOKEN must be one word of ASCII characters'],
  [{ AUDITOR_TOKEN: '\u201cnapi_x\u201d' }, 'AUDITOR_TOKEN must be one word of ASCII characters'],
  [{}, 'run npm start, or set CONTROL_PLANE_URL'],
])(
  'a wrong environment %j is reported with the variable and the fix',
  (variables: Record<string, string>, expected) => {
    expect(() => read('', variables)).toThrow(expected);
    expect(() => read('', variables)).not.toThrow('napi_x');
  },
);

test('keys, and notifications with the names of people, leave this machine only over HTTPS', () => {
  const connection = (url: string) => `connections:\n  - {name: prod, url: "${url}", api_key_env: PROD_KEY}\n`;
  const channel = (url: string) => `channels:\n  - {name: chat, format: slack, url: "${url}"}\n`;
  const variables = { PROD_KEY: 'napi_secret', SANDBOX_ADMIN_KEY: 'napi_x' };
  for (const host of ['127.0.0.1', 'localhost', '[::1]']) {
    expect(read(connection(`http://${host}/api/v2`), variables).connections).toHaveLength(1);
    expect(read(channel(`http://${host}/hook`), variables).channels).toHaveLength(1);
  }
  for (const host of ['192.0.2.1', 'localhost.example', '127.0.0.1.example']) {
    expect(() => read(connection(`http://${host}/api/v2`), variables)).toThrow('use https://, or set ALLOW_HTTP=1');
    expect(() => read(channel(`http://${host}/hook`), { ...variables, ALLOW_HTTP: '1' })).toThrow(
      'The address of channel chat does not begin with https://',
    );
  }
  const allowed = read(connection('http://192.0.2.1/api/v2'), { ...variables, ALLOW_HTTP: '1' });
  expect(allowed.connections).toMatchObject([{ url: 'http://192.0.2.1/api/v2' }]);
});

test.each([
  ['https://ada:secret@x/api/v2'],
  ['https://secret@x/api/v2'],
  ['https://x/api/v2?k=secret'],
  ['https://x/#secret'],
  ['https://x/api/v2?'],
  ['https://x/#'],
])('the address %s of a control plane is refused without being shown', (url) => {
  const inFile = () =>
    read(`connections:\n  - {name: prod, url: "${url}", api_key_env: PROD_KEY}\n`, { PROD_KEY: 'x' });
  const alone = () => read('', { CONTROL_PLANE_URL: url, CONTROL_PLANE_API_KEY: 'x' });
  for (const each of [inFile, alone]) {
    expect(each).toThrow(/^The address of connection \w+ has a user, a query or a fragment; write it as/);
    expect(each).not.toThrow(/secret/);
  }
});

test('a key that no request can carry is refused without being shown; what surrounds one in a variable or a file does not count', () => {
  const file = join(folder, 'odd.key');
  const one = (key: string, from: string) => `connections:\n  - {name: prod, url: "https://x", ${key}: "${from}"}\n`;
  const sources: ((key: string) => ReturnType<typeof read>)[] = [
    (key) => read('', { CONTROL_PLANE_URL: 'https://x', CONTROL_PLANE_API_KEY: key }),
    (key) => read(one('api_key_env', 'PROD_KEY'), { PROD_KEY: key }),
    (key) => {
      writeFileSync(file, key);
      return read(one('api_key_file', file));
    },
  ];
  for (const readWith of sources) {
    for (const key of ['napi_a\nnapi_b', 'Bearer napi_a', '\u201cnapi_a\u201d']) {
      expect(() => readWith(key)).toThrow(
        /^The key of connection \w+ is not one word of ASCII characters; give the key/,
      );
      expect(() => readWith(key)).not.toThrow('napi_');
    }
    expect(readWith('napi_a \r\n').connections).toMatchObject([{ apiKey: 'napi_a' }]);
  }
});

test('a channel whose address has a user is refused without showing it, because nothing can be sent to it', () => {
  const variables = { CONTROL_PLANE_URL: 'https://x/api/v2', CONTROL_PLANE_API_KEY: 'x' };
  const channel = (url: string) => () => read(`channels:\n  - {name: chat, format: slack, url: "${url}"}\n`, variables);
  for (const user of ['ada:secret', 'secret', ':secret']) {
    expect(channel(`https://${user}@x/hook`)).toThrow(/^The address of channel chat has a user, .* remove the user\.$/);
    expect(channel(`https://${user}@x/hook`)).not.toThrow(/secret/);
  }
  expect(channel('https://x/hook?key=secret')().channels).toHaveLength(1);
});

test('a channel signs only with a secret that is long enough, and the error does not show it', () => {
  const text = 'channels:\n  - {name: hook, format: standard-webhooks, url: "https://x", secret_env: HOOK}\n';
  const readWith = (secret: string) => () => read(text, { HOOK: secret, SANDBOX_ADMIN_KEY: 'napi_x' });
  const secret = `whsec_${Buffer.from('eighteen bytes 123').toString('base64')}`;
  expect(readWith(secret)().channels).toMatchObject([{ secret }]);
  for (const wrong of ['whsec_c2hvcnQ=', 'not base64, but long enough for a secret']) {
    expect(readWith(wrong)).toThrow('The secret of channel hook is not base64 of at least 18 bytes');
    expect(readWith(wrong)).not.toThrow(wrong);
  }
});

test('the note beside a key’s file names the key; beside another secret than that of the note, the key is unknown', () => {
  const file = join(folder, 'prod.key');
  const text = `connections:\n  - {name: prod, url: "https://x", api_key_file: "${file}", key_id: 7}\n`;
  const heldWith = (secret: string, note?: string) => {
    writeFileSync(file, `${secret}\n`);
    if (note !== undefined) writeFileSync(noteOf(file), note);
    return read(text).connections.map(({ apiKey, keyId }) => [apiKey, keyId])[0];
  };
  expect(heldWith('napi_first')).toEqual(['napi_first', '7']);
  expect(heldWith('napi_first', emptyNote)).toEqual(['napi_first', '7']);
  const note = writeNote({ keyId: '8', secret: 'napi_second' }, { keyId: '7', secret: 'napi_first' });
  expect(heldWith('napi_second', note)).toEqual(['napi_second', '8']);
  // After a kill between the two writes, the file still has the former secret.
  expect(heldWith('napi_first', note)).toEqual(['napi_first', '7']);
  // Then `key_id` is not believed either: the guard of a connection's own key would protect another key (R2).
  expect(heldWith('napi_other', note)).toEqual(['napi_other', null]);
  expect(heldWith('napi_first', 'not a note')).toEqual(['napi_first', null]);
});
