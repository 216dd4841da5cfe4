import { makeControlPlane, makeWireProject } from '@keywarden/testkit/store/rows';
import { createTestStore, type TestStore } from '@keywarden/testkit/store/test-store';
import { afterAll, beforeAll, expect, inject, test } from 'vitest';
import type { Store } from '../store.ts';
import { saveProjects } from './projects.ts';

let store: TestStore;
let daemon: Store;
let controlPlane: string;
beforeAll(async () => {
  store = await createTestStore(inject('postgresUrl'));
  daemon = await store.as('keywarden_daemon');
  controlPlane = await makeControlPlane(daemon.sql);
});
afterAll(async () => await store.close());

/** Saves a list of an organization's projects, some hours after the first one, and returns which projects are gone. */
async function list(organizationId: string, ids: string[], hours: number): Promise<string[]> {
  const seenAt = new Date(Date.UTC(2026, 5, 1, hours)).toISOString();
  const place = { controlPlane, organizationId, seenAt, unavailableIds: [] };
  const projects = ids.map((id) => makeWireProject(`${organizationId}-${id}`, { orgId: organizationId }));
  await saveProjects(daemon.sql, place, projects);
  const rows = await store.sql`
    select id from keywarden.project where organization_id = ${organizationId} and gone_at is not null order by id`;
  return rows.map((row) => String(row.id));
}

test('A7: lists that show other projects in the place of the known ones make none gone for a day', async () => {
  const known = ['1', '2', '3', '4', '5'];
  const others = known.map((id) => `9${id}`);
  await list('o', known, 0);
  for (const hour of [1, 2, 3, 4]) expect(await list('o', others, hour)).toEqual([]);
  expect(await list('o', others, 25)).toEqual(known.map((id) => `o-${id}`));
});

test('A7: of projects that are replaced by a few each hour, each is gone after two lists without it', async () => {
  await list('p', ['1', '2', '3', '4', '5'], 0);
  await list('p', ['2', '3', '4', '5', '6'], 1);
  expect(await list('p', ['3', '4', '5', '6', '7'], 2)).toEqual(['p-1']);
});

test('A7: no list makes a project of another organization or control plane gone, or one that it names as unavailable; neither do incomplete and empty lists', async () => {
  const other = await makeControlPlane(daemon.sql, { name: 'other', baseUrl: 'sandbox other' });
  let hours = 0;
  const listTwice = async (ids: string[], place: Partial<Parameters<typeof saveProjects>[1]> = {}) => {
    for (let count = 0; count < 2; count += 1) {
      const seenAt = new Date(Date.UTC(2026, 5, 1, hours)).toISOString();
      const projects = ids.map((id) => makeWireProject(id));
      const own = { controlPlane, organizationId: 'q', unavailableIds: [], seenAt };
      await saveProjects(daemon.sql, { ...own, ...place }, projects);
      hours += 30;
    }
    const rows = await store.sql`
      select id from keywarden.project where organization_id in ('q', 'r') and gone_at is not null order by id`;
    return rows.map((row) => String(row.id));
  };
  expect(await listTwice(['q-1', 'q-2'])).toEqual([]);
  expect(await listTwice(['q-3'], { controlPlane: other })).toEqual([]);
  expect(await listTwice(['r-1'], { organizationId: 'r' })).toEqual([]);
  expect(await listTwice(['q-1'], { unavailableIds: ['q-2'] })).toEqual([]);
  expect(await listTwice(['q-1'], { isWhole: false })).toEqual([]);
  expect(await listTwice([])).toEqual([]);
  // Once absent, but named before it is absent again.
  const once = async (unavailableIds: string[]) => {
    const seenAt = new Date(Date.UTC(2026, 5, 1, hours++)).toISOString();
    await saveProjects(daemon.sql, { controlPlane, organizationId: 'q', unavailableIds, seenAt }, [
      makeWireProject('q-1'),
    ]);
  };
  for (const unavailableIds of [[], ['q-2'], [], ['q-2']]) await once(unavailableIds);
  expect(await listTwice([])).toEqual([]);
  // The same list without these says that it is gone.
  expect(await listTwice(['q-1'])).toEqual(['q-2']);
});
