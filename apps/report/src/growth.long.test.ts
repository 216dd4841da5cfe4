import { assignOwners } from '@keywarden/db/daemon';
import { openStore } from '@keywarden/db/store';
import { makeApp } from '@keywarden/testkit/report/app';
import { type Fixture, makeFixture } from '@keywarden/testkit/report/fixture';
import { copyHistory } from '@keywarden/testkit/store/copy-history';
import { until } from '@keywarden/testkit/until';
import { expect, inject, test } from 'vitest';

/** Writes what people write: owners, an exemption, a review, a campaign and a request. */
async function govern(fixture: Fixture): Promise<void> {
  const { '12': key = '', '13': other = '' } = fixture.keys;
  const assignments = [
    { key, owner: 'ada' },
    { key: other, owner: 'bob' },
  ];
  await assignOwners(fixture.store.sql, { assignments, source: 'assignment', by: 'ada' });
  const due = new Date(Date.now() + 86_400_000).toISOString();
  for (const [as, path, body] of [
    ['operator', '/v1/exemptions', { keys: [key], reason: 'because', for: '30d' }],
    ['auditor', '/v1/reviews', { title: 'spring' }],
    ['auditor', '/v1/reviews/1/decisions', { keys: [key], decision: 'keep', reason: 'because' }],
    ['auditor', '/v1/campaigns', { title: 'spring', split_by: 'owner', due_at: due }],
  ] as const)
    expect(await fixture.ask(path, { as, method: 'POST', body })).toMatchObject({ status: 201 });
}

const applicationName = 'growth';

/** Whether a route is a page or a list: no export or pack, whose reader expects to wait, and no file. */
const isRead = ({ method, path }: { method: string; path: string }) =>
  method === 'GET' && !/\*|\/exports\/|\/evidence$|\/api\/|receipt|assets|\.\w+$/.test(path);

/** Returns how many rows Postgres reads for each page and list of the report in a store with so many times its rows. */
async function countRowsRead(copies: number): Promise<Map<string, number>> {
  const fixture = await makeFixture(inject('postgresUrl'));
  const { store, keys, planId } = fixture;
  await govern(fixture);
  store.isTampered();
  await copyHistory(store.sql, copies);
  // A connection tells what it has read when it ends.
  const countRead = async () => {
    await until(async () => {
      const open = await store.sql`
        select from pg_stat_activity where datname = current_database() and application_name = ${applicationName}`;
      return open.length === 0;
    });
    const [row] = await store.sql`
      select sum(seq_tup_read + coalesce(idx_tup_fetch, 0)) as n from pg_stat_user_tables where schemaname = 'keywarden'`;
    return Number(row?.n);
  };
  const ask = async (path: string, secret: string | undefined) => {
    const report = await openStore({
      databaseUrl: store.url,
      dataFolder: '',
      applicationName,
      role: 'keywarden_report',
    });
    const { app } = await makeApp({ as: () => Promise.resolve(report) });
    const response = await app.request(path, { headers: { authorization: `Bearer ${secret}` } });
    await response.text();
    await report.close();
    return response.status;
  };
  const ids: Record<string, string> = {
    key: keys['12'] ?? '',
    plan_id: planId,
    rotation_id: 'abcd2345',
    review: '1',
    campaign: '1',
    project_id: 'quiet-river',
  };
  const fill = (path: string) => path.replaceAll(/:(\w+)(\{[^}]*\})?/g, (all, name: string) => ids[name] ?? all);
  const found = new Map<string, number>();
  for (const path of new Set(fixture.app.routes.filter(isRead).map((route) => fill(route.path)))) {
    if (path.includes(':')) continue;
    const before = await countRead();
    const status = await ask(path, fixture.tokens[/ledger|access-log|document/.test(path) ? 'auditor' : 'operator']);
    if (status === 200) found.set(path, (await countRead()) - before);
  }
  await fixture.close();
  return found;
}

test('no page and no list reads more rows than its share of a larger store', async () => {
  const [small, large] = [await countRowsRead(250), await countRowsRead(1000)];
  expect(large.size).toBeGreaterThan(40);
  const excessive = [...large].filter(([path, rows]) => rows > 6 * (small.get(path) ?? 0) + 1000);
  expect(excessive).toEqual([]);
});
