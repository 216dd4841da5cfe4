import { fixture, useServedFixture } from '@keywarden/testkit/report/served-fixture';
import { expect, test } from 'vitest';

useServedFixture();

test('an export whose reader leaves before the first rows are read releases its connection at once, and is recorded as cut', async () => {
  const client = new AbortController();
  const headers = { authorization: `Bearer ${fixture.tokens.auditor}` };
  let asked: Promise<Response> | undefined;
  await fixture.store.sql.begin(async (tx) => {
    await tx`lock table keywarden.credential in access exclusive mode`;
    asked = Promise.resolve(fixture.app.request('/v1/exports/keys', { headers, signal: client.signal }));
    await fixture.store.untilBlocked(asked);
    client.abort();
  });
  await asked;
  const [open] = await fixture.store.sql`
    select count(*)::int as n from pg_stat_activity
    where datname = current_database() and xact_start is not null and pid <> pg_backend_pid()`;
  expect(open?.n).toBe(0);
  const rows = await fixture.store.sql`select stream from keywarden.access_log order by number`;
  expect(rows.map(({ stream }) => String(stream))).toEqual(['begun', 'cut']);
});
