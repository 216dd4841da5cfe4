import { defaultPolicy } from '@keywarden/core/policy';
import { createToken } from '@keywarden/db/daemon';
import { makeContext } from '@keywarden/testkit/daemon/fixture';
import { createTestStore } from '@keywarden/testkit/store/test-store';
import { expect, inject, test } from 'vitest';
import { enforceRetention } from './retention.ts';

test("the daily retention check deletes the report's access log only where that is configured", async () => {
  const store = await createTestStore(inject('postgresUrl'));
  const daemon = await store.as('keywarden_daemon');
  const { number: token } = await createToken((await store.as('keywarden_admin')).db, {
    name: 'ada',
    role: 'viewer',
    organizationIds: null,
    createdBy: 'ada',
  });
  await store.sql`
    insert into keywarden.access_log (at, request_id, token_number, address, method, path, status)
    values (now() - interval '500 days', gen_random_uuid(), ${token}, '127.0.0.1', 'GET', '/v1/keys', 200)`;
  const accesses = async () => {
    const [row] = await store.sql`select count(*)::int as rows from keywarden.access_log`;
    return row?.rows;
  };
  const config = { connections: [], channels: [], policy: defaultPolicy };
  await enforceRetention(makeContext(daemon, config));
  expect(await accesses()).toBe(1);
  const retention = { access_log: { text: '400d', ms: 400 * 86_400_000 } };
  // The database keeps operations forever: the job fails on that, and this deletion is done all the same.
  const operations = { text: '300d', ms: 300 * 86_400_000 };
  const working = enforceRetention(makeContext(daemon, { ...config, retention: { ...retention, operations } }));
  await expect(working).rejects.toThrow(/run keywarden migrate/);
  expect(await accesses()).toBe(0);
  await store.close();
});
