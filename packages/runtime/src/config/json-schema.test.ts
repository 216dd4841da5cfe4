import { readFileSync } from 'node:fs';
import { Ajv } from 'ajv';
import { expect, test } from 'vitest';
import { parse } from 'yaml';
import { parseConfig } from './read.ts';
import { configJsonSchema } from './schema.ts';

const docs = new URL('../../../../docs/', import.meta.url);
const example = /```yaml\n([\s\S]*?)```/.exec(readFileSync(new URL('POLICY.md', docs), 'utf8'))?.[1] ?? '';
const isValid = new Ajv({ strict: false, validateFormats: false }).compile(configJsonSchema());

test('the JSON schema in docs matches this version', () => {
  expect(JSON.parse(readFileSync(new URL('keywarden.schema.json', docs), 'utf8'))).toEqual(
    JSON.parse(JSON.stringify(configJsonSchema())),
  );
});

test('Keywarden and an editor both accept the example of POLICY.md', () => {
  expect(parseConfig(example, 'the example').policy.rules).toHaveLength(4);
  expect(isValid(parse(example))).toBe(true);
});

test.each([
  ['policy: {rules: [{name: a, unused_fr: 90d, action: revoke}]}'],
  ['policy: {rules: [{name: a, unused_for: 90, action: revoke}]}'],
  ['policy: {rules: [{name: a, all: [{older_than: 1y}], action: revoke}]}'],
  ['policy: {rules: [{name: a, preset: iso, action: revoke}]}'],
  ['policy: {rules: [{name: a, older_than: 90d, action: delete}]}'],
])('an editor marks %s, and Keywarden refuses it', (text) => {
  expect(isValid(parse(text))).toBe(false);
  expect(() => parseConfig(text, 'it')).toThrow(/^it, line 1, column \d+: policy\.rules\.0/);
});
