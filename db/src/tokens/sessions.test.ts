import { makePrincipal } from '@keywarden/testkit/store/principal';
import { createTestStore, type TestStore } from '@keywarden/testkit/store/test-store';
import { afterAll, beforeAll, expect, inject, test } from 'vitest';
import type { Principal } from '../report.ts';
import type { Store } from '../store.ts';

let store: TestStore;
let report: Store;
let operator: Principal;
/** A viewer of one organization. */
let viewer: Principal;
beforeAll(async () => {
  store = await createTestStore(inject('postgresUrl'));
  report = await store.as('keywarden_report');
  operator = await makePrincipal(store, 'olga');
  viewer = await makePrincipal(store, 'vera', 'viewer', ['acme']);
});
afterAll(async () => await store.close());

const open = async (credential: string, session: string, agent = '', sql: Pick<Store['sql'], 'unsafe'> = report.sql) =>
  await sql.unsafe(`select keywarden.open_session($1, $2, repeat('1', 1000), $3)`, [credential, session, agent]);
const holderOf = async (session: string) => await report.sql`select name from keywarden.authenticate(${session})`;

test('every live token opens and ends its sessions, and nothing else does', async () => {
  await open(viewer.credential, 'of vera');
  expect(await holderOf('of vera')).toEqual([{ name: 'vera' }]);
  const end = async (credential: string) =>
    await report.sql`select keywarden.end_session(${credential}, null) as ended`;
  expect(await end('of vera')).toEqual([{ ended: true }]);
  for (const credential of ['of vera', 'of a thief']) {
    await expect(open(credential, 'another')).rejects.toMatchObject({ code: 'KW002' });
    await expect(end(credential)).rejects.toMatchObject({ code: 'KW002' });
  }
  const sessions = await store.sql`select ended_by from keywarden.report_session`;
  expect(sessions).toEqual([{ ended_by: `vera (report token ${viewer.token})` }]);
});

test('a session opens no other, with which the thief of a cookie would stay longer than half a day', async () => {
  await open(viewer.credential, 'live');
  await open('live', 'longer');
  expect([await holderOf('live'), await holderOf('longer')]).toEqual([[{ name: 'vera' }], []]);
});

test('what a client says of itself is stored to a limit', async () => {
  await open(viewer.credential, 'long', 'a'.repeat(1000));
  const [stored] = await store.sql`
    select length(address) as address, length(agent) as agent from keywarden.report_session where session_hash = 'long'`;
  expect(stored).toEqual({ address: 64, agent: 200 });
});

test('a viewer ends no session of another by opening one in a transaction that began long before', async () => {
  await open(operator.credential, 'of olga');
  await report.sql.begin(async (tx) => {
    // The latest time that is not ahead of the clock. It is ahead of the transaction's now().
    await store.sql`update keywarden.report_session set last_seen_at = clock_timestamp() + interval '5 minutes' where session_hash = 'of olga'`;
    await open(viewer.credential, 'late', '', tx);
  });
  expect(await holderOf('of olga')).toEqual([{ name: 'olga' }]);
});
