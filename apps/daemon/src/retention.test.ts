import { defaultPolicy } from '@keywarden/core/policy';
import { createToken } from '@keywarden/db/daemon';
import { setOperationRetention } from '@keywarden/db/store';
import { makeContext } from '@keywarden/testkit/daemon/fixture';
import { createSealing } from '@keywarden/testkit/store/sealing';
import { createTestStore } from '@keywarden/testkit/store/test-store';
import { expect, inject, test } from 'vitest';
import { dropDueMonths, enforceRetention, findExpiredMonths } from './retention.ts';

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

test("no month is named while the database's clock is behind: it would be dropped before its day is over", async () => {
  const sealing = await createSealing(inject('postgresUrl'));
  const { store, daemon } = sealing;
  await sealing.makeSealedMonth('03');
  const keep = { text: '214d', ms: 214 * 86_400_000 };
  await setOperationRetention(store.sql, keep.ms);
  const config = { connections: [], channels: [], policy: defaultPolicy };
  const context = makeContext(daemon, { ...config, retention: { operations: keep } });
  const named = async () => await store.sql`select from keywarden.operation_drop`;
  const early = { ...context, now: () => Date.now() + 86_400_000 };
  await expect(enforceRetention(early)).rejects.toThrow(
    /No month was named or dropped, because the database's clock is 86\d{3} s behind this machine's/,
  );
  expect(await named()).toHaveLength(0);
  await enforceRetention(context);
  expect((await named()).length).toBeGreaterThan(0);
  await store.close();
});

test('a due month that differs from its seals is kept, the others are dropped, and a person can drop it all the same', async () => {
  const sealing = await createSealing(inject('postgresUrl'));
  const { store, daemon } = sealing;
  const operations = { text: '214d', ms: 214 * 86_400_000 };
  const config = { connections: [], channels: [], policy: defaultPolicy };
  const context = makeContext(daemon, { ...config, retention: { operations } });
  const dropped = async () => {
    // The fixture's month of 2026 is due from 2027 on.
    const rows = await store.sql`
      select month::text from keywarden.operation_drop where dropped_at is not null and month < '2026-01-01'`;
    return rows.map((row) => String(row.month));
  };
  await sealing.makeSealedMonth('03');
  const { project } = await sealing.makeSealedMonth('04');
  await sealing.announceDrop('2025-03');
  await store.sql`delete from keywarden.operation where project_number = ${project}`;
  await enforceRetention(context);
  expect(await dropped()).toEqual(['2025-03-01']);
  await store.sql`update keywarden.operation_drop set announced_at = announced_at - interval '1 day'`;
  await expect(enforceRetention(context)).rejects.toThrow(
    /^These months differ from their seals, and are kept: 2025-04/,
  );
  expect(await dropped()).toEqual(['2025-03-01']);
  const [incident] =
    await store.sql`select detail->>'why' as why from keywarden.incident where kind = 'ledger_inconsistent'`;
  expect(incident?.why).toContain('2025-04');
  const drop = { months: await findExpiredMonths(context), by: 'ada', evenIfChanged: true };
  const behind = { ...context, now: () => Date.now() - 86_400_000 };
  await expect(dropDueMonths(behind, drop)).rejects.toThrow(/86\d{3} s ahead of this machine's. Nothing was/);
  await dropDueMonths(context, drop);
  expect(await dropped()).toEqual(['2025-03-01', '2025-04-01']);
  await store.close();
});
