import { expect, test } from 'vitest';
import { credentialSchemas, tokenIdOf } from './credentials.ts';
import type { OtherKind } from './kinds.ts';

const at = '2026-01-01T00:00:00Z';
const later = '2026-02-01T00:00:00Z';
const place = { projectId: 'p', branchId: 'b' };
const read = (kind: OtherKind, row: object, branchId: string | null = 'b') =>
  credentialSchemas[kind]({ projectId: 'p', branchId }).safeParse(row).data;

/** What a list does not show. */
const nothing = {
  holder: null,
  expiresAt: null,
  revokedAt: null,
  createdBy: { id: 'unknown', name: null },
  lastUsedAt: null,
  lastUsedFromAddr: null,
  extra: null,
  createdAt: '0001-01-01T00:00:00Z',
};

test.each<[OtherKind, object, object]>([
  ['branch_credential', { token_id: 'nak_1' }, { ...place, id: 'b/nak_1', name: 'nak_1' }],
  [
    'branch_credential',
    {
      token_id: 'nak_1',
      name: 'backup',
      scopes: ['storage:read'],
      principal_type: 'user',
      function_id: 'f',
      created_at: at,
      last_used_at: at,
      expires_at: later,
      revoked_at: later,
    },
    {
      ...place,
      id: 'b/nak_1',
      name: 'backup',
      createdAt: at,
      lastUsedAt: at,
      expiresAt: later,
      revokedAt: later,
      extra: { scopes: ['storage:read'], principal_type: 'user', function_id: 'f' },
    },
  ],
  ['role', { name: 'app' }, { ...place, id: 'b/app', name: 'app' }],
  [
    'role',
    { name: 'app', protected: false, authentication_method: 'password', created_at: at, updated_at: later },
    {
      ...place,
      id: 'b/app',
      name: 'app',
      createdAt: at,
      extra: { protected: false, authentication_method: 'password', updated_at: later },
    },
  ],
  [
    'project_permission',
    { id: '1', granted_to_email: 'eve@agency.example', granted_at: at, revoked_at: later },
    { ...place, id: '1', name: 'eve@agency.example', holder: 'eve@agency.example', createdAt: at, revokedAt: later },
  ],
  [
    'project_member',
    { member_id: 'm', user_id: 'u' },
    { ...place, id: 'p/m', name: 'm', holder: 'u', extra: { user_id: 'u' } },
  ],
  [
    'project_member',
    {
      member_id: 'm',
      email: 'eve@agency.example',
      org_role: 'admin',
      project_role: 'viewer',
      grant_source: 'direct',
      effective_project_permission: 'read',
      joined_at: at,
    },
    {
      ...place,
      id: 'p/m',
      name: 'eve@agency.example',
      holder: 'eve@agency.example',
      createdAt: at,
      extra: { organization_role: 'admin', project_role: 'viewer', source: 'direct', permission: 'read' },
    },
  ],
  [
    'jwks',
    {
      id: '1',
      branch_id: 'c',
      provider_name: 'x',
      jwks_url: 'https://keys.example/.well-known/jwks.json?token=hidden',
      jwt_audience: 'api',
      role_names: ['app'],
      created_at: at,
      updated_at: later,
    },
    {
      ...place,
      branchId: 'c',
      id: '1',
      name: 'x',
      createdAt: at,
      extra: { url: 'https://keys.example/.well-known/jwks.json', audience: 'api', roles: ['app'], updated_at: later },
    },
  ],
])('a row of %s is read: %j', (kind, row, expected) => {
  expect(read(kind, row)).toEqual({ ...nothing, kind, ...expected });
});

test('roles that sign in without a password are no credentials', () => {
  const methods = ['no_login', 'oauth', 'password', 'later'];
  expect(methods.map((method) => read('role', { name: 'a', authentication_method: method }) === null)).toEqual([
    true,
    true,
    false,
    false,
  ]);
});

test.each([
  ['https://keys.example/.well-known/jwks.json', 'https://keys.example/.well-known/jwks.json'],
  ['http://keys.example:8080/.well-known/a', 'http://keys.example:8080/.well-known/a'],
  ['https://user:hidden@keys.example/hidden/.well-known/a#hidden', 'https://keys.example'],
  ['https://keys.example/.well-known/a/hidden', 'https://keys.example'],
  ['ftp://keys.example/hidden', null],
  ['data:hidden', null],
  ['hidden', null],
])('T3: of the address %s, %s is kept', (url, expected) => {
  const extra = read('jwks', { id: '1', provider_name: 'x', jwks_url: url })?.extra ?? null;
  expect(extra).toEqual(expected === null ? null : { url: expected });
});

test('the control plane’s id of a branch credential has no branch', () => {
  expect(tokenIdOf({ id: 'b/nak_1', branchId: 'b' })).toBe('nak_1');
  expect(tokenIdOf({ id: '/nak_1', branchId: null })).toBe('nak_1');
  expect(read('branch_credential', { token_id: 'nak_1' }, null)?.id).toBe('/nak_1');
});

test('names and ids that a store cannot index are unreadable', () => {
  const branch = (change: object) => read('branch_credential', { token_id: 'x', ...change }) !== undefined;
  expect([branch({ token_id: 'x'.repeat(200) }), branch({ name: 'x'.repeat(1000) })]).toEqual([true, true]);
  expect([{ token_id: '' }, { token_id: 'x'.repeat(201) }, { name: 'x'.repeat(1001) }].map(branch)).toEqual([
    false,
    false,
    false,
  ]);
  expect([branch({ scopes: ['x'.repeat(200)] }), branch({ scopes: ['x'.repeat(201)] })]).toEqual([true, false]);
  expect([branch({ scopes: Array(100).fill('x') }), branch({ scopes: Array(101).fill('x') })]).toEqual([true, false]);
  const role = (name: string) => read('role', { name }) !== undefined;
  expect([role('x'.repeat(100)), role('x'.repeat(101)), role('')]).toEqual([true, false, false]);
});

test.each<[OtherKind, string, object]>([
  ['branch_credential', 'token_id', {}],
  ['role', 'name', {}],
  ['project_permission', 'id', { granted_to_email: 'ada@acme.example' }],
  ['project_member', 'member_id', {}],
  ['jwks', 'id', { provider_name: 'idp', jwks_url: 'https://idp.example' }],
])('a row of a %s has an id that a store has a place for', (kind, name, row) => {
  expect(read(kind, { ...row, [name]: 'a' })).toMatchObject({ kind });
  for (const id of ['', 'a\0', 'a\ud800', 'a'.repeat(201)]) expect(read(kind, { ...row, [name]: id })).toBeUndefined();
});
