import { makePrincipal } from '@keywarden/testkit/store/principal';
import { createTestStore, type TestStore } from '@keywarden/testkit/store/test-store';
import { afterAll, beforeAll, expect, inject, test } from 'vitest';
import { isStillLive } from '../report.ts';
import type { Store } from '../store.ts';
import { revokeSession } from './sessions.ts';
import { revokeToken } from './tokens.ts';

let store: TestStore;
let admin: Store;
let report: Store;
beforeAll(async () => {
  store = await createTestStore(inject('postgresUrl'));
  admin = await store.as('keywarden_admin');
  report = await store.as('keywarden_report');
});
afterAll(async () => await store.close());

test('a token and a session are revoked once: what says so later changes nothing', async () => {
  const { token: number, credential } = await makePrincipal(store, 'vera');
  const [opened] = await report.sql`select keywarden.open_session(${credential}, 'of vera', '', '') as number`;
  const session = String(opened?.number);
  for (const [by, isFirst] of [
    ['ada', true],
    ['bob', false],
  ] as const) {
    expect(await revokeSession(admin.db, { number: session, by })).toBe(isFirst);
    expect(await revokeToken(admin.db, { number, by })).toBe(isFirst);
  }
  const [ended] = await store.sql`
    select t.revoked_by, s.ended_by from keywarden.report_token t join keywarden.report_session s on s.token_number = t.number where t.number = ${number}`;
  expect(ended).toEqual({ revoked_by: 'ada', ended_by: 'ada' });
  for (const unknown of ['999999', '9223372036854775807'])
    expect([
      await revokeToken(admin.db, { number: unknown, by: 'ada' }),
      await revokeSession(admin.db, { number: unknown, by: 'ada' }),
    ]).toEqual([false, false]);
});

test('what began with a token goes on only while the token is live and has the same role', async () => {
  const principal = await makePrincipal(store, 'olga');
  const isLive = async () => await isStillLive(report.sql, principal);
  expect(await isLive()).toBe(true);
  await store.sql`update keywarden.report_token set role = 'viewer' where number = ${principal.token}`;
  expect(await isLive()).toBe(false);
  await store.sql`update keywarden.report_token set role = 'operator' where number = ${principal.token}`;
  expect(await isLive()).toBe(true);
  await revokeToken(admin.db, { number: principal.token, by: 'ada' });
  expect(await isLive()).toBe(false);
});
