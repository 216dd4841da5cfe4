import { type ControlPlaneClient, collect, createClient, type Page } from '@keywarden/core/client';
import { type OtherKind, otherKinds } from '@keywarden/core/wire';
import {
  makeOperationPartitions,
  saveKeyListing,
  saveMembers,
  saveOperationPage,
  saveOrganizations,
  saveProjects,
} from '@keywarden/db/daemon';
import { sized } from '@keywarden/testkit';
import { makeControlPlane, makeProject } from '@keywarden/testkit/store/rows';
import { createTestStore, type TestStore } from '@keywarden/testkit/store/test-store';
import * as fc from 'fast-check';
import { afterAll, beforeAll, expect, inject, test } from 'vitest';

// A record that the client accepts fits into the store. Otherwise one record, which a client or a hostile control plane wrote, would keep all others out.

const at = '2026-05-01T00:00:00Z';
let store: TestStore;
let controlPlane: string;
let project: string;
beforeAll(async () => {
  store = await createTestStore(inject('postgresUrl'));
  controlPlane = await makeControlPlane(store.sql);
  const acme = { id: 'acme', name: 'Acme', createdAt: at, extra: null };
  await saveOrganizations(store.sql, { controlPlane, seenAt: at }, [acme]);
  project = await makeProject(store.sql, controlPlane);
  await makeOperationPartitions(store.sql, ['2026-05']);
});
afterAll(async () => await store.close());

/** Text that does not compress: an index has room for 2,704 bytes. */
const long = fc
  .integer({ min: 200, max: 9000 })
  .chain((length) => fc.string({ unit: 'binary', minLength: length, maxLength: length, size: 'max' }));
const odd = fc.oneof(
  fc.string({ unit: 'binary' }),
  long,
  fc.constantFrom('', '\0', '\ud800', 'a\nb', '{"a":1}', '\u202e'),
  fc.integer(),
  fc.constantFrom(2 ** 31, -(2 ** 31) - 1, 2 ** 53 - 1, -1, 0, 1.5, 1e300),
  fc.constantFrom(null, true, [], {}),
  fc.constantFrom('0001-01-01T00:00:00Z', '9999-12-31T23:59:59.999999Z', '2026-05-01T00:00:00+23:59', at),
  fc.integer({ min: 1, max: 9000 }).map((depth) => `nested ${depth}`),
);
interface Kind {
  row: object;
  /** The list in a response, and how the client reads it. */
  list: string;
  read: (client: ControlPlaneClient) => AsyncIterable<Page<unknown>>;
  save: (rows: never[]) => Promise<unknown>;
}

const kinds: Record<string, Kind> = {
  organization: {
    row: { id: 'acme', name: 'Acme', created_at: at },
    list: 'organizations',
    read: (client) => client.currentUserOrganizations(),
    save: async (rows) => await saveOrganizations(store.sql, { controlPlane, seenAt: at }, rows),
  },
  member: {
    row: { member: { id: 'm', user_id: 'u', role: 'admin', joined_at: at }, user: { email: 'u@acme.example' } },
    list: 'members',
    read: (client) => client.members('acme'),
    save: async (rows) => await saveMembers(store.sql, { controlPlane, seenAt: at, organizationId: 'acme' }, rows),
  },
  project: {
    row: { id: 'p', name: 'p', org_id: 'acme', region_id: 'r', pg_version: 18, created_at: at, updated_at: at },
    list: 'projects',
    read: (client) => client.projects('acme'),
    save: async (rows) =>
      await saveProjects(
        store.sql,
        { controlPlane, seenAt: at, organizationId: 'acme', unavailableIds: [], isWhole: true },
        rows,
      ),
  },
  key: {
    row: {
      id: 1,
      name: 'ci',
      created_at: at,
      created_by: { id: 'u', name: 'U' },
      last_used_at: at,
      last_used_from_addr: '192.0.2.1',
    },
    list: 'keys',
    read: (client) => client.organizationKeys('acme'),
    save: saveListing('organization:acme'),
  },
  ...credentialsOf('branch_credential', 'credentials', {
    token_id: 't',
    name: 'ci',
    scopes: ['storage:read'],
    principal_type: 'user',
    function_id: 'f',
    created_at: at,
    last_used_at: at,
    revoked_at: at,
    expires_at: at,
  }),
  ...credentialsOf('role', 'roles', {
    name: 'app',
    protected: false,
    authentication_method: 'password',
    created_at: at,
    updated_at: at,
  }),
  ...credentialsOf('project_permission', 'project_permissions', {
    id: 'g',
    granted_to_email: 'u@acme.example',
    granted_at: at,
    revoked_at: at,
  }),
  ...credentialsOf('project_member', 'project_members', {
    member_id: 'm',
    user_id: 'u',
    email: 'u@acme.example',
    project_role: 'admin',
    joined_at: at,
  }),
  ...credentialsOf('jwks', 'jwks', {
    id: 'j',
    branch_id: 'b',
    provider_name: 'idp',
    jwks_url: 'https://idp.example/.well-known/jwks.json',
    role_names: ['app'],
    created_at: at,
  }),
  operation: {
    row: {
      id: '00000000-0000-4000-8000-000000000001',
      project_id: 'p',
      action: 'a',
      status: 's',
      failures_count: 0,
      created_at: at,
      updated_at: at,
      total_duration_ms: 1,
      error: 'e',
    },
    list: 'operations',
    read: (client) => client.operations('p'),
    // A walk keeps rows of impossible times apart.
    save: async (rows: { createdAt: string }[]) =>
      await saveOperationPage(store.sql, {
        project,
        operations: rows.filter(({ createdAt }) => createdAt.startsWith('2026-05')) as never,
      }),
  },
};

/** Returns a kind of credential of a project, by the name of its list. */
function credentialsOf(kind: OtherKind, list: string, row: object): Record<string, Kind> {
  const read: Kind['read'] = (client) => client.credentials(kind, { projectId: 'p', branchId: 'b' });
  return { [kind]: { row, list, read, save: saveListing(`${kind}:acme/p`) } };
}

let listings = 0;

function saveListing(scope: string): Kind['save'] {
  return async (rows: { revokedAt?: string | null }[]) => {
    listings += 1;
    const listedAt = new Date(Date.parse(at) + listings * 1000).toISOString();
    const place = { controlPlane, scope, organizationId: 'acme', connection: 'main', run: null };
    const [ended, keys] = [true, false].map((isEnded) =>
      rows.filter(({ revokedAt = null }) => (revokedAt !== null) === isEnded),
    );
    await saveKeyListing(store.sql, { ...place, listedAt, begunAt: at, keys: keys as never, ended: ended as never });
  };
}

test.each(Object.keys(kinds))('R7: every record that the client accepts fits into the store: %s', async (kind) => {
  const found = kinds[kind];
  if (found === undefined) throw new Error('there is no such kind');
  const { row, list, read, save } = found;
  const seen = { accepted: 0, rejected: 0 };
  const change = fc.tuple(fc.constantFrom(...leavesOf(row), ['unknown']), odd);
  await fc.assert(
    fc.asyncProperty(fc.array(change, { maxLength: 3 }), async (changes) => {
      const record = structuredClone(row);
      for (const [path, value] of changes) setAt(record, path, value);
      const text = JSON.stringify({ [list]: [record] }).replaceAll(
        /"nested (\d+)"/g,
        (_, depth) => '['.repeat(Number(depth)) + ']'.repeat(Number(depth)),
      );
      const answer = () => new Response(text, { headers: { 'content-type': 'application/json' } });
      const client = createClient({ baseUrl: 'http://127.0.0.1', apiKey: 'k', fetch: () => Promise.resolve(answer()) });
      const { items, rejected } = await collect(read(client));
      seen[rejected.length === 0 ? 'accepted' : 'rejected'] += 1;
      await save(items as never[]);
    }),
    // Each listing of keys compares all keys so far.
    { numRuns: sized(isOfListings(kind) ? 300 : 1000) },
  );
  // About one in twenty records of keys is accepted.
  expect(Math.min(seen.accepted, seen.rejected)).toBeGreaterThan(2);
});

const isOfListings = (kind: string) => ['key', ...otherKinds].includes(kind);

/** Returns the path of each field that is no object. */
const leavesOf = (row: object): string[][] =>
  Object.entries(row).flatMap(([name, value]: [string, unknown]) =>
    typeof value === 'object' && value !== null ? leavesOf(value).map((rest) => [name, ...rest]) : [[name]],
  );

function setAt(record: object, [name = '', ...rest]: string[], value: unknown): void {
  const inner: unknown = Reflect.get(record, name);
  if (rest.length > 0 && typeof inner === 'object' && inner !== null) setAt(inner, rest, value);
  else Reflect.set(record, name, value);
}
