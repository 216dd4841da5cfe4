import { expect, test } from 'vitest';
import type { z } from 'zod';
import { int64, when } from './primitives.ts';
import { mostDepth } from './record.ts';
import * as wire from './schemas.ts';

const at = '2026-01-01T00:00:00.123456Z';
const key = { id: 1, name: 'bot', created_at: at };
const read = (schema: z.ZodType, value: unknown): unknown => {
  const { data, success } = schema.safeParse(value);
  return success ? data : 'refused';
};

test.each([
  [1, '1'],
  [-1, '-1'],
  ['9223372036854775807', '9223372036854775807'],
  ['-9223372036854775808', '-9223372036854775808'],
  ['9223372036854775808', 'refused'],
  ['-9223372036854775809', 'refused'],
  [2 ** 53, 'refused'],
  [1.5, 'refused'],
  ['1e3', 'refused'],
  ['0x1', 'refused'],
  ['', 'refused'],
  ['1 ', 'refused'],
  ['12345678901234567890', 'refused'],
  [null, 'refused'],
])('an int64 of %j is %j', (value, expected) => {
  expect(read(int64, value)).toBe(expected);
});

test.each([
  [undefined, null],
  [null, null],
  ['0001-01-01T00:00:00Z', null],
  ['0001-01-01T00:00:00+01:00', null],
  ['0001-01-01T00:00:00.001Z', '0001-01-01T00:00:00.001Z'],
  ['9999-12-31T23:59:59.9999999Z', '9999-12-31T23:59:59.9999999Z'],
  [at, at],
  ['', 'refused'],
  [0, 'refused'],
])('a time of %j that may be missing is %j', (value, expected) => {
  expect(read(when, value)).toBe(expected);
});

test('a time may have a lower-case t and z, as RFC 3339 permits', () => {
  const { createdAt } = wire.keySchema.parse({ ...key, created_at: at.toLowerCase() });
  expect(createdAt).toBe(at);
  expect(read(when, '2026-01-01t00:00:00+02:00')).toBe('2026-01-01T00:00:00+02:00');
  expect(read(when, '0001-01-01t00:00:00z')).toBeNull();
});

test('an id has 1 to 256 characters that a store can hold', () => {
  const organization = (id: unknown) => read(wire.organizationSchema, { id, name: 'x', created_at: at }) !== 'refused';
  expect(['org-1', 'x'.repeat(256), 'é', '😀'].map(organization)).toEqual([true, true, true, true]);
  expect(['x'.repeat(257), 'a\0', '\uD83D', 1, null].map(organization)).toEqual([false, false, false, false, false]);
});

test('a key’s creator is an object, a bare id, or unknown', () => {
  const creatorOf = (createdBy: unknown) => wire.keySchema.parse({ ...key, created_by: createdBy }).createdBy;
  expect(creatorOf({ id: 'ada', name: 'Ada' })).toEqual({ id: 'ada', name: 'Ada' });
  expect(creatorOf({ id: 'ada' })).toEqual({ id: 'ada', name: null });
  expect(creatorOf('ada')).toEqual({ id: 'ada', name: null });
  const zero = '00000000-0000-0000-0000-000000000000';
  for (const none of [null, undefined, '', zero, {}, { id: null }, { id: '' }, { id: zero, name: '', image: '' }])
    expect(creatorOf(none)).toEqual({ id: 'unknown', name: null });
  for (const odd of ['a\0', { id: 'a\0' }, 'x'.repeat(257), 7])
    expect(read(wire.keySchema, { ...key, created_by: odd })).toBe('refused');
  expect(read(wire.revokedKeySchema, { ...key, revoked: true })).toMatchObject({ createdBy: undefined });
  for (const revoked of [undefined, null, 'true', 1])
    expect(read(wire.revokedKeySchema, { ...key, revoked })).toBe('refused');
});

test('the address of a use is kept as text that a store can hold, and cut; an empty one is none', () => {
  const addressOf = (from: unknown) => wire.keySchema.parse({ ...key, last_used_from_addr: from }).lastUsedFromAddr;
  expect(['203.0.113.7', '', null, undefined, 'a\0b\uD83D'].map(addressOf)).toEqual([
    '203.0.113.7',
    null,
    null,
    null,
    'a\uFFFDb\uFFFD',
  ]);
  expect(addressOf('x'.repeat(501))).toBe('x'.repeat(500));
});

test('T3: of a key’s unknown fields, those are left out that may be a secret, at any depth; all others are kept', () => {
  const kept = { note: 'x', monkey: 1, keyed: 2, tokens_used: 3, nested: { list: [{ a: null }] } };
  const secret = {
    key: 'x',
    API_KEY: 'x',
    apiKey: 'x',
    'access-tokens': ['x'],
    secrets: [],
    token: 1,
    old_password: null,
    note_2: 'see napi_abc',
    deep: { note: 'x', list: [{ text: 'napi_abc' }, 1] },
    deeper: { list: [{ token: 'x' }] },
  };
  expect(wire.keySchema.parse({ ...key, ...kept, ...secret }).extra).toEqual(kept);
  expect(wire.revokedKeySchema.parse({ ...key, revoked: true, ...kept, ...secret }).extra).toEqual(kept);
  expect(wire.keySchema.parse({ ...key, ...secret }).extra).toBeNull();
});

test('unknown fields are kept unless they are nested too deep to be read again, in which case the row cannot be read', () => {
  const nested = (depth: number): unknown => (depth === 0 ? 1 : [nested(depth - 1)]);
  const organization = { id: 'org-1', name: 'x', created_at: at };
  const deep = (depth: number) => ({ ...organization, deep: nested(depth) });
  expect(read(wire.organizationSchema, deep(mostDepth - 1))).toMatchObject({ extra: { deep: nested(mostDepth - 1) } });
  expect(read(wire.organizationSchema, deep(mostDepth))).toBe('refused');
  expect(read(wire.organizationSchema, { ...deep(mostDepth), flat: 1 })).toBe('refused');
  let endless: unknown = 1;
  for (let depth = 0; depth < 50_000; depth += 1) endless = [endless];
  expect(read(wire.keySchema, { ...key, endless })).toBe('refused');
  const { error } = wire.organizationSchema.safeParse(deep(mostDepth));
  expect(error?.issues.map(({ message }) => message)).toEqual(['its unknown fields are nested too deep']);
  expect(read(wire.organizationSchema, JSON.parse(`{"__proto__":1,"id":"o","name":"x","created_at":"${at}"}`))).toEqual(
    {
      id: 'o',
      name: 'x',
      createdAt: at,
      extra: null,
    },
  );
});

test('the next page is named by cursor or next; an empty or missing name is the end', () => {
  const cursorOf = (pagination: unknown) => read(wire.paginationSchema, pagination);
  expect(
    [
      { cursor: 'a' },
      { next: 'b' },
      { cursor: 'a', next: 'b' },
      { cursor: null, next: 'b' },
      { cursor: '', next: 'b' },
    ].map(cursorOf),
  ).toEqual(['a', 'b', 'a', 'b', 'b']);
  expect([{ cursor: '' }, { next: '' }, {}, null, undefined].map(cursorOf)).toEqual([null, null, null, null, null]);
  expect(cursorOf({ cursor: 1 })).toBe('refused');
});

test('the other records of the control plane are read into these shapes', () => {
  const member = { id: 'm', user_id: 'u', role: 'admin' };
  const user = { email: 'ada@acme.example' };
  const shown = { id: 'm', userId: 'u', role: 'admin', email: 'ada@acme.example' };
  expect(read(wire.memberSchema, { member, user })).toEqual({ ...shown, joinedAt: null });
  expect(read(wire.memberSchema, { member: { ...member, org_id: 'o', joined_at: at }, user })).toEqual({
    ...shown,
    organizationId: 'o',
    joinedAt: at,
  });
  const created = { id: 7, key: 'napi_abc' };
  expect(read(wire.createdKeySchema, created)).toEqual({ id: '7', secret: 'napi_abc', projectId: null });
  expect(read(wire.createdKeySchema, { ...created, project_id: 'p' })).toMatchObject({ projectId: 'p' });
  expect(read(wire.createdKeySchema, { ...created, id: 1.5 })).toBe('refused');
  for (const key of ['', 'napi_abc\n', 'napi abc', 'napi_\0', 'napi_\u00e9'])
    expect(read(wire.createdKeySchema, { ...created, key })).toBe('refused');
  expect(read(wire.authSchema, { account_id: 'a', auth_method: 'api_key_user', extra: 1 })).toEqual({
    accountId: 'a',
    authMethod: 'api_key_user',
  });
  expect(read(wire.authSchema, { account_id: 'a\0', auth_method: 'api_key_user' })).toBe('refused');
  expect(read(wire.branchSchema, { id: '', name: 'main' })).toBe('refused');
});
