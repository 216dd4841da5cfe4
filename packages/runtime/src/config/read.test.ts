import { mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { readEnvironment } from '../environment.ts';
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
    'a duration is a number and a unit',
  ],
  ['policy:\n  rules:\n    - {name: x, unused_for: 9d, action: delete}\n', 'policy.rules.0.action'],
  [
    'policy:\n  rules:\n    - {name: x, action: revoke}\n',
    'exactly one of preset, unused_for, never_used_for, older_than',
  ],
  ['polcy: {}\n', 'line 1, column 8: polcy'],
  ['schedules: {keys: every day}\n', 'not a cron expression'],
  ['connections: [\n', 'line 2, column 1'],
  [
    'connections:\n  - {name: a, url: "ftp://x", api_key_env: A}\n',
    'connections.0.url: an address must begin with https:// or http://',
  ],
  ['connections:\n  - {name: a, url: "https://x"}\n', 'exactly one of api_key_env and api_key_file'],
])('a broken file is reported in one sentence with its position: %j', (text, expected) => {
  expect(() => parseConfig(text, 'keywarden.yaml')).toThrow(expected);
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
  [{}, 'run npm start, or set CONTROL_PLANE_URL'],
])(
  'a wrong environment %j is reported with the variable and the fix',
  (variables: Record<string, string>, expected) => {
    expect(() => read('', variables)).toThrow(expected);
    expect(() => read('', variables)).not.toThrow('napi_x');
  },
);
