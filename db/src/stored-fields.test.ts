import { toCamel } from '@keywarden/core/values';
import type {
  WireCredential,
  WireKey,
  WireMember,
  WireOperation,
  WireOrganization,
  WireProject,
} from '@keywarden/core/wire';
import { makeControlPlane, makeProject } from '@keywarden/testkit/store/rows';
import { createTestStore, type TestStore } from '@keywarden/testkit/store/test-store';
import { getTableColumns } from 'drizzle-orm';
import { afterAll, beforeAll, expect, inject, test } from 'vitest';
import { saveKeyListing } from './keys/listings/save.ts';
import { listArchivedOperations, listArchivedOrganizations, listArchivedProjects } from './operations/archive.ts';
import { operationItem, operationVersion } from './operations/list.ts';
import { saveOperationPage } from './operations/pages.ts';
import { saveMembers, saveOrganizations } from './organizations/organizations.ts';
import { saveDeletedProjects, saveProjects } from './projects/projects.ts';
import { operation as operationTable } from './schema/operations.ts';
import { readNow, type Store } from './store.ts';

// A field that a schema of `wire` names is no longer kept among the unknown ones: what does not store it loses it. Without a value for such a field, the
// records below do not compile.

/** A record with a value in each field. */
type Whole<T> = { [K in keyof T]-?: NonNullable<T[K]> };

let store: TestStore;
let daemon: Store;
let report: Store;
let controlPlane: string;
beforeAll(async () => {
  store = await createTestStore(inject('postgresUrl'));
  daemon = await store.as('keywarden_daemon');
  report = await store.as('keywarden_report');
  controlPlane = await makeControlPlane(daemon.sql);
});
afterAll(async () => await store.close());

const page = { limit: 1, after: null };
const extra = { colour: 'blue' };

/** Returns a record of the archive in the form of `wire`, without its unknown fields. */
const readBack = (record: object) =>
  Object.fromEntries(
    Object.entries(record).flatMap(([name, value]) => (name in extra ? [] : [[toCamel(name), value]])),
  );

test('A5: each field of an operation is stored, and is in the archive', async () => {
  const operation: Whole<WireOperation> = {
    id: '00000000-0000-4000-8000-000000000001',
    projectId: 'quiet-river',
    branchId: 'br-1',
    endpointId: 'ep-1',
    action: 'start_compute',
    status: 'failed',
    failuresCount: 2,
    error: 'too late',
    retryAt: '2026-05-01T00:00:03Z',
    createdAt: '2026-05-01T00:00:01Z',
    updatedAt: '2026-05-01T00:00:02Z',
    totalDurationMs: 12,
    extra,
  };
  const project = await makeProject(daemon.sql, controlPlane);
  await saveOperationPage(daemon.sql, { project, operations: [operation] });
  const { records } = await listArchivedOperations(report.db, { project, projectId: operation.projectId, page });
  const { extra: _extra, ...fields } = operation;
  expect(readBack(JSON.parse(records) as object)).toEqual(fields);
});

test('each stored field of an operation is in the lists of operations and of versions', () => {
  const { projectNumber: _number, place: _place, ...columns } = getTableColumns(operationTable);
  const names = Object.values(columns).map(({ name }) => name);
  for (const { shape } of [operationItem, operationVersion])
    expect(Object.keys(shape)).toEqual(expect.arrayContaining(names));
});

test('A5: each field of an organization and of a project is stored when it changes, and is in the archive', async () => {
  const organization: Whole<WireOrganization> = { id: 'org-1', name: 'Acme', createdAt: '2026-05-01T00:00:01Z', extra };
  const project: Whole<WireProject> = {
    id: 'quiet-river',
    name: 'shop',
    orgId: 'org-1',
    ownerId: 'ada',
    regionId: 'eu-1',
    pgVersion: 18,
    createdAt: '2026-05-01T00:00:02Z',
    updatedAt: '2026-05-01T00:00:03Z',
    deletedAt: '2026-05-04T00:00:00Z',
    extra,
  };
  const at = (day: number) => ({ controlPlane, seenAt: `2026-05-0${day}T00:00:00Z`, organizationId: 'org-1' });
  const others = { ownerId: 'bela', regionId: 'us-1', pgVersion: 17, updatedAt: project.createdAt, extra: null };
  await saveOrganizations(daemon.sql, at(2), [{ ...organization, name: 'Other', extra: null }]);
  await saveOrganizations(daemon.sql, at(3), [organization]);
  await saveProjects(daemon.sql, { ...at(2), unavailableIds: [] }, [{ ...project, name: 'other', ...others }]);
  await saveProjects(daemon.sql, { ...at(3), unavailableIds: [] }, [project]);
  await saveDeletedProjects(daemon.sql, at(5), [project]);
  const asked = { organizations: null, page };
  for (const [{ records }, saved] of [
    [await listArchivedOrganizations(report.db, { ...asked, id: 'org-1' }), organization],
    [await listArchivedProjects(report.db, { ...asked, id: 'quiet-river', state: 'gone' }), project],
  ] as const)
    expect(records.map(readBack)).toEqual([saved]);
});

test('each field of a member, and of a credential, is stored when it changes', async () => {
  const member: Whole<WireMember> = {
    id: 'member-1',
    userId: 'ada',
    organizationId: 'org-1',
    role: 'admin',
    joinedAt: '2026-05-01T00:00:01Z',
    email: 'ada@acme.example',
  };
  const at = (day: number) => ({ controlPlane, seenAt: `2026-05-0${day}T00:00:00Z`, organizationId: 'org-1' });
  const former = { id: 'member-0', role: 'member', joinedAt: null, email: 'ada@example.com' };
  await saveMembers(daemon.sql, at(2), [{ ...member, ...former }]);
  await saveMembers(daemon.sql, at(3), [member]);
  const [{ row: stored } = {}] = await store.sql`select to_jsonb(m) as row from keywarden.member m`;
  expect(lostIn(stored, member)).toEqual([]);

  const key: Whole<WireKey> = {
    id: '17',
    name: 'ci',
    createdAt: '2026-05-01T00:00:01Z',
    createdBy: { id: 'ada', name: 'Ada' },
    lastUsedAt: '2026-05-02T00:00:00Z',
    lastUsedFromAddr: '203.0.113.7',
    projectId: 'quiet-river',
    extra,
  };
  // One that is revoked is none of the list's credentials.
  const credential: Omit<Whole<WireCredential>, 'revokedAt'> = {
    ...key,
    kind: 'branch_credential',
    branchId: 'br-1',
    holder: 'worker',
    expiresAt: '2027-05-01T00:00:00Z',
  };
  const begunAt = await readNow(daemon.sql);
  const save = async (listedAt: string, change: Partial<WireCredential> = {}) =>
    await saveKeyListing(daemon.sql, {
      controlPlane,
      scope: 'branch_credential:org-1/quiet-river',
      organizationId: 'org-1',
      connection: 'main',
      run: null,
      listedAt,
      begunAt,
      keys: [{ ...credential, revokedAt: null, ...change }],
    });
  const other = { name: 'other', lastUsedAt: null, lastUsedFromAddr: null, extra: null, holder: null, expiresAt: null };
  await save('2026-05-03T00:00:00Z', { ...other, projectId: 'bold-moon', branchId: null });
  await save('2026-05-04T00:00:00Z');
  const rows =
    await store.sql`select to_jsonb(c) as row, o.record from keywarden.credential c join keywarden.key_observation o on o.key_number = c.number
    where c.superseded_at is null order by o.number desc limit 1`;
  for (const { row, record } of rows) expect([lostIn(row, credential), lostIn(record, credential)]).toEqual([[], []]);
  expect(rows).toHaveLength(1);
});

/** Returns the fields of a record whose values are not in a row of JSON. */
function lostIn(row: unknown, record: object): string[] {
  const stored = new Set(leavesOf(row));
  return Object.entries(record).flatMap(([name, value]) =>
    leavesOf(value).every((leaf) => stored.has(leaf)) ? [] : [name],
  );
}

/** Returns the values within a value of JSON, with times as Postgres writes them. */
const leavesOf = (value: unknown): string[] =>
  typeof value === 'object' && value !== null
    ? Object.values(value).flatMap(leavesOf)
    : [String(value).replace(/(?<=T[\d:.]+)Z$/, '+00:00')];
