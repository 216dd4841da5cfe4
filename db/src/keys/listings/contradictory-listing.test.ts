import { unknownCreator, type WireKey } from '@keywarden/core/wire';
import { makeControlPlane, makeWireKey } from '@keywarden/testkit/store/rows';
import { createTestStore, type TestStore } from '@keywarden/testkit/store/test-store';
import { afterAll, beforeAll, expect, inject, test } from 'vitest';
import { readNow, type Store } from '../../store.ts';
import { saveKeyListing } from './save.ts';

let store: TestStore;
let daemon: Store;
let controlPlane: string;
let listings = 0;

beforeAll(async () => {
  store = await createTestStore(inject('postgresUrl'));
  daemon = await store.as('keywarden_daemon');
  controlPlane = await makeControlPlane(daemon.sql);
});
afterAll(async () => await store.close());

/** Saves a listing of a scope of its own that shows key 1, and then key 1 with these changes. Returns why it is suspect. */
async function listTwice(...changes: Partial<WireKey>[]): Promise<string | null> {
  listings += 1;
  const organizationId = `org-${listings}`;
  const { whySuspect } = await saveKeyListing(daemon.sql, {
    controlPlane,
    scope: `organization:${organizationId}`,
    organizationId,
    connection: 'main',
    run: null,
    listedAt: '2026-06-01T00:00:00Z',
    begunAt: await readNow(daemon.sql),
    keys: [{}, ...changes].map((change) => makeWireKey('1', change)),
  });
  return whySuspect;
}

const bob = { id: 'bob', name: 'Bob' };
const unnamed = { createdBy: { id: unknownCreator, name: null } };

test.each([
  ['another creation time', { createdAt: '2026-04-01T00:00:00Z' }],
  ['another creator', { createdBy: bob }],
  ['another kind', { projectId: 'quiet-river' }],
])(
  'R1: a listing that shows an id a second time with %s is suspect: only one of the records is of that key',
  async (_name, other) => {
    expect(await listTwice(other)).toBe('it shows key 1 twice, as different keys');
    expect(await listTwice({}, unnamed, other)).not.toBeNull();
  },
);

test('a listing that shows one key twice, with other names, uses and digits, is trusted', async () => {
  const offset = { createdAt: '2026-01-01T02:00:00.25+02:00' };
  expect(await listTwice({ name: 'renamed' }, unnamed, offset, { lastUsedAt: '2026-05-01T00:00:00Z' })).toBeNull();
});
