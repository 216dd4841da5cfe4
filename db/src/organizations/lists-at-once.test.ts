import { makeControlPlane, makeWireProject } from '@keywarden/testkit/store/rows';
import { createTestStore, type TestStore } from '@keywarden/testkit/store/test-store';
import { afterAll, beforeAll, expect, inject, test } from 'vitest';
import { saveMembers, saveOrganizations, saveProjects, saveRejectedRows } from '../daemon.ts';
import type { Store } from '../store.ts';

// Two connections see the same organizations, and may save their lists at the same time.

const seenAt = '2026-06-01T00:00:00Z';
let store: TestStore;
let daemon: Store;
let controlPlane: string;
beforeAll(async () => {
  store = await createTestStore(inject('postgresUrl'));
  daemon = await store.as('keywarden_daemon');
  controlPlane = await makeControlPlane(daemon.sql);
});
afterAll(async () => await store.close());

const memberOf = (userId: string, change: { id?: string; role?: string } = {}) => ({
  id: `m-${userId}`,
  userId,
  role: 'member',
  joinedAt: null,
  email: `${userId}@company.example`,
  ...change,
});

const saveOrganization = async (...ids: string[]) =>
  await saveOrganizations(
    daemon.sql,
    { controlPlane, seenAt },
    ids.map((id) => ({ id, name: id, createdAt: seenAt, extra: null })),
  );

const place = () => ({ controlPlane, seenAt, organizationId: 'acme' });

const lists: [table: string, id: string, save: (ids: string[]) => Promise<unknown>][] = [
  ['organization', 'id', async (ids) => await saveOrganization(...ids)],
  [
    'member',
    'user_id',
    async (ids) =>
      await saveMembers(
        daemon.sql,
        place(),
        ids.map((id) => memberOf(id)),
      ),
  ],
  [
    'project',
    'id',
    async (ids) =>
      await saveProjects(
        daemon.sql,
        { ...place(), unavailableIds: [] },
        ids.map((id) => makeWireProject(id)),
      ),
  ],
  [
    'rejected_row',
    'row_id',
    async (ids) =>
      await saveRejectedRows(
        daemon.sql,
        { controlPlane, list: 'keys', place: 'organization:acme' },
        ids.map((id) => ({ id, why: 'odd', record: {} })),
      ),
  ],
];

test.each(lists)(
  'two lists with the same rows of table %s in another order are saved one after the other',
  async (table, id, save) => {
    await saveOrganization('acme');
    await save(['a', 'm', 'z']);
    const holder = await store.sql.reserve();
    await holder.unsafe(`begin; select from keywarden.${table} where ${id} = 'm' for update`).simple();
    const first = save(['a', 'm', 'z']);
    await store.untilBlocked(first);
    const second = save(['z', 'm', 'a']);
    await store.untilBlocked(first, second);
    await holder.unsafe('commit');
    holder.release();
    expect(await Promise.allSettled([first, second])).toMatchObject([{ status: 'fulfilled' }, { status: 'fulfilled' }]);
  },
);

test('a list that shows a person twice, before and after they returned, is saved with the last membership', async () => {
  await saveOrganization('acme');
  const twice = [memberOf('ada', { id: 'm-1', role: 'admin' }), memberOf('bob'), memberOf('ada', { id: 'm-2' })];
  await saveMembers(daemon.sql, { ...place(), seenAt: '2026-06-02T00:00:00Z' }, twice);
  const rows = await store.sql`
    select member_id, role from keywarden.member where organization_id = 'acme' and user_id = 'ada'`;
  expect(rows).toEqual([{ member_id: 'm-2', role: 'member' }]);
});

test('rows that cannot be read are kept, also if their ids differ only in what the store has no place for', async () => {
  const rows = ['\ud800', '\ud801', '\0'].map((id) => ({ id, why: 'odd', record: { id } }));
  await saveRejectedRows(daemon.sql, { controlPlane, list: 'keys', place: 'organization:odd' }, rows);
  const kept = await store.sql`select row_id, times from keywarden.rejected_row where place = 'organization:odd'`;
  expect(kept).toMatchObject([{ row_id: '\uFFFD', times: '1' }]);
});
