import { mkdtempSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { revokeToken } from '@keywarden/db/daemon';
import { authenticate } from '@keywarden/db/report';
import { openStore, type Store } from '@keywarden/db/store';
import { readDataFile } from '@keywarden/runtime';
import { type Fixture, makeFixture } from '@keywarden/testkit/daemon/fixture';
import { createTestStore, type TestStore } from '@keywarden/testkit/store/test-store';
import { afterAll, beforeAll, expect, inject, test } from 'vitest';
import { ensureFirstToken } from './first-token.ts';

let store: TestStore;
let fixture: Fixture;
let report: Store;
const folder = mkdtempSync(join(tmpdir(), 'keywarden-token-'));
beforeAll(async () => {
  store = await createTestStore(inject('postgresUrl'));
  fixture = await makeFixture(store);
  report = await store.as('keywarden_report');
  fixture.context.environment.KEYWARDEN_DATA = folder;
});
afterAll(async () => {
  await fixture.close();
  await store.close();
});

const kept = () => readDataFile(folder, 'report-token') ?? '';
const holder = async () => await authenticate(report.sql, kept());

test("the first token is readable by its owner only; it is an operator's on the sandbox, and a viewer's elsewhere", async () => {
  await ensureFirstToken(fixture.context, { isSandbox: true });
  const first = kept();
  expect(statSync(join(folder, 'report-token')).mode & 0o077).toBe(0);
  expect(await holder()).toMatchObject({ role: 'operator', organizations: null });
  await ensureFirstToken(fixture.context, { isSandbox: false });
  expect(kept()).toBe(first);
  expect(await holder()).toMatchObject({ role: 'viewer' });
});

test('a revoked first token stays revoked, and another one replaces it', async () => {
  const dead = kept();
  await revokeToken((await store.as('keywarden_admin')).db, { number: (await holder())?.token ?? '', by: 'ada' });
  await ensureFirstToken(fixture.context, { isSandbox: true });
  expect(kept()).not.toBe(dead);
  expect(await authenticate(report.sql, dead)).toBeUndefined();
  expect(await holder()).toMatchObject({ role: 'operator' });
});

test('REPORT_TOKEN is used as it is given', async () => {
  fixture.context.environment.REPORT_TOKEN = 'given-by-the-environment';
  await ensureFirstToken(fixture.context, { isSandbox: true });
  expect(kept()).toBe('given-by-the-environment');
  expect(await holder()).toMatchObject({ role: 'operator' });
});

test('a daemon whose login may not act as keywarden_admin starts without a first token', async () => {
  await store.sql.unsafe(`create role login_run login password 'x' in role keywarden_daemon`);
  const databaseUrl = Object.assign(new URL(store.url), { username: 'login_run', password: 'x' }).href;
  const own = await openStore({ databaseUrl, dataFolder: '.', applicationName: 'test', role: 'keywarden_daemon' });
  const empty = mkdtempSync(join(tmpdir(), 'keywarden-token-'));
  const environment = { ...fixture.context.environment, KEYWARDEN_DATA: empty, REPORT_TOKEN: undefined };
  const before = await store.sql`select count(*) from keywarden.report_token`;
  await ensureFirstToken({ ...fixture.context, store: own, environment }, { isSandbox: true });
  expect(readDataFile(empty, 'report-token')).toBeUndefined();
  expect(await store.sql`select count(*) from keywarden.report_token`).toEqual(before);
  await own.close();
  await store.sql.unsafe('drop role login_run');
});
