import { makeControlPlane, makeWireKey } from '@keywarden/testkit/store/rows';
import { createTestStore, type TestStore } from '@keywarden/testkit/store/test-store';
import { afterAll, beforeAll, expect, inject, test } from 'vitest';
import { saveKeyListing } from '../daemon.ts';
import { countKeysOfDay, readIdleTrend } from './trend.ts';

let store: TestStore;
let controlPlane: string;
beforeAll(async () => {
  store = await createTestStore(inject('postgresUrl'));
  controlPlane = await makeControlPlane(store.sql);
  await store.sql`insert into keywarden.organization (control_plane_number, id, name, created_at, first_seen_at, last_seen_at)
    select ${controlPlane}, id, id, '2025-01-01', '2026-01-01', '2026-01-01' from unnest(array['acme', 'other']) id`;
});
afterAll(async () => await store.close());

/** Lists keys of an organization, each by the day of its last use, and counts as the daemon does. */
async function list(organizationId: string, day: string, uses: (string | null)[]) {
  const listing = {
    controlPlane,
    scope: `organization:${organizationId}`,
    organizationId,
    connection: 'main',
    run: null,
  };
  const keys = uses.map((use, index) =>
    makeWireKey(String(organizationId.length * 100 + index), {
      createdAt: '2025-03-01T00:00:00Z',
      lastUsedAt: use,
      lastUsedFromAddr: use === null ? null : '192.0.2.1',
    }),
  );
  const at = `${day}T10:00:00Z`;
  await saveKeyListing(store.sql, { ...listing, listedAt: at, begunAt: at, keys });
  await countKeysOfDay((await store.as('keywarden_daemon')).db);
}

test('live keys are counted once a day; a week shows its last day, each caller sees the own organizations', async () => {
  const used = '2026-04-30T00:00:00Z';
  await list('acme', '2026-05-04', [used, used, null]);
  // The same day again: it is counted.
  await list('acme', '2026-05-04', [used, used, '2026-05-04T08:00:00Z']);
  await list('other', '2026-05-05', [null]);
  await list('acme', '2026-05-06', [used, used, '2026-05-04T08:00:00Z']);
  await list('acme', '2026-09-07', [used, '2026-09-01T00:00:00Z', '2026-05-04T08:00:00Z']);
  const trend = async (organizations: string[] | null) =>
    (await readIdleTrend((await store.as('keywarden_report')).db, organizations)).map(
      ({ day, inUse, idle, unknown }) => `${day}: ${inUse} in use, ${idle} idle, ${unknown} unknown`,
    );
  expect(await trend(['acme'])).toEqual([
    '2026-05-06: 3 in use, 0 idle, 0 unknown',
    '2026-09-07: 1 in use, 2 idle, 0 unknown',
  ]);
  // The other organization was not listed within a day.
  expect(await trend(null)).toEqual([
    '2026-05-06: 3 in use, 0 idle, 1 unknown',
    '2026-09-07: 1 in use, 2 idle, 1 unknown',
  ]);
  const [other] =
    await store.sql`select live, idle, unknown from keywarden.key_count where organization_id = 'other' and day = '2026-05-05'`;
  expect(other).toEqual({ live: 1, idle: 1, unknown: 0 });
  // Its last key goes: the week then has none.
  await store.sql`update keywarden.credential set gone_at = '2026-09-10' where organization_id = 'other'`;
  await list('acme', '2026-09-11', [used, '2026-09-01T00:00:00Z', '2026-05-04T08:00:00Z']);
  expect((await trend(null)).at(-1)).toBe('2026-09-11: 1 in use, 2 idle, 0 unknown');
  expect(await trend(['nosuch'])).toEqual([]);
  const [first] = await store.sql`select live, idle from keywarden.key_count where day = '2026-05-04'`;
  expect(first).toEqual({ live: 3, idle: 1 });
});
