import { sha256 } from '@keywarden/core/values';
import { makePrincipal } from '@keywarden/testkit/store/principal';
import { createTestStore, type TestStore } from '@keywarden/testkit/store/test-store';
import { afterAll, beforeAll, expect, inject, test } from 'vitest';
import type { Store } from '../store.ts';
import { type Access, recordAccess } from './access-log.ts';

let store: TestStore;
let report: Store;
beforeAll(async () => {
  store = await createTestStore(inject('postgresUrl'));
  report = await store.as('keywarden_report');
});
afterAll(async () => await store.close());

const access: Access = {
  credential: null,
  requestId: '11111111-2222-4333-8444-555555555555',
  address: '127.0.0.1',
  network: '127.0.0.1',
  method: 'GET',
  path: '/v1/keys',
  query: '',
  status: 200,
  stream: null,
  records: null,
  sha256: null,
  fileSha256: null,
  event: 'request',
};

test('refusals of one status are one row, in a minute; other requests and streams have one each', async () => {
  const statuses = [200, 399, 400, 499, 500, 503];
  const twice = [...statuses, ...statuses].map((status, index) => ({ ...access, status, path: `/${index}` }));
  await recordAccess(report.sql, [...twice, { ...access, status: 499, stream: 'cut' }]);
  const rows =
    await store.sql`select status, stream, times from keywarden.access_log order by status, stream nulls first`;
  expect(rows.map(({ status, stream, times }) => `${status} ${stream ?? 'request'} ${times}`)).toEqual([
    '200 request 1',
    '200 request 1',
    '399 request 1',
    '399 request 1',
    '400 request 2',
    '499 request 2',
    '499 cut 1',
    '500 request 1',
    '500 request 1',
    '503 request 2',
  ]);
});

test('refusals of one network are one row, that has the network as its address and shows the first of them', async () => {
  const refused = Array.from({ length: 300 }, (_, n) => ({
    ...access,
    status: 429,
    address: `10.7.${n % 3}.${n}`,
    network: `10.7.${n % 3}.0/24`,
    path: `/${n}`,
  }));
  for (let turn = 0; turn < 2; turn += 1) await recordAccess(report.sql, refused);
  // A minute may end meanwhile.
  const rows = await store.sql`
    select address, min(path) as path, sum(times)::int as times from keywarden.access_log where address like '10.7.%' group by address order by address`;
  expect(rows).toEqual([0, 1, 2].map((n) => ({ address: `10.7.${n}.0/24`, path: `/${n}`, times: 200 })));
});

test('what a client says is stored to a limit', async () => {
  const long = 'x'.repeat(10_000);
  for (const status of [200, 404])
    await recordAccess(report.sql, [
      { ...access, status, address: long, network: long, method: long, path: long, query: long, sha256: long },
    ]);
  const rows = await store.sql`
    select length(address) as address, length(method) as method, length(path) as path, length(query) as query, length(sha256) as sha256
    from keywarden.access_log where method like 'xx%' order by status`;
  const limits = { address: 64, method: 16, path: 512, query: 1024 };
  expect(rows).toEqual([
    { ...limits, sha256: 64 },
    { ...limits, sha256: null },
  ]);
});

test('only a complete file of a path without details is an export in the ledger', async () => {
  const { credential } = await makePrincipal(store, 'vito', 'viewer');
  const whole: Access = { ...access, credential, stream: 'complete', records: 1, fileSha256: sha256('whole') };
  const others: Partial<Access>[] = [
    { stream: 'cut' },
    { credential: 'unknown' },
    { fileSha256: sha256('x').slice(1) },
    { path: '/v1/keys/1' },
    { path: '/v1/keys?name=ada' },
  ];
  await recordAccess(report.sql, [
    ...others.map((each, index) => ({ ...whole, fileSha256: sha256(String(index)), ...each })),
    whole,
  ]);
  const rows = await store.sql`select sha256, exported_by from keywarden.report_export`;
  expect(rows).toEqual([{ sha256: sha256('whole'), exported_by: 'vito' }]);
});

test('an access is recorded with its token, also if that or its session has just ended', async () => {
  const { credential, token } = await makePrincipal(store, 'vera', 'viewer');
  await report.sql`select keywarden.open_session(${credential}, 'of vera', '127.0.0.1', '')`;
  await report.sql`select keywarden.end_session('of vera', null)`;
  await store.sql`update keywarden.report_token set revoked_at = now() where number = ${token}`;
  await recordAccess(
    report.sql,
    [credential, 'of vera', 'of nobody'].map((each) => ({ ...access, credential: each, path: '/ended' })),
  );
  const rows = await store.sql`select token_number from keywarden.access_log where path = '/ended' order by number`;
  expect(rows.map(({ token_number: number }) => number)).toEqual([token, token, null]);
});

const minutes = "select date_trunc('minute', now()) + n * interval '1 minute' from generate_series(0, 1) n";
test.each<[string, change: (n: number) => Partial<Access>, held: string]>([
  [
    'refusals of the same networks',
    (n) => ({ status: 429, network: `10.0.0.${n}`, credential: null }),
    `insert into keywarden.access_log (request_id, address, method, path, status, minute)
      select gen_random_uuid(), '10.0.0.21', '', '', 429, minute from (${minutes}) m(minute)`,
  ],
  [
    'exports of the same files',
    (n) => ({ stream: 'complete', records: 1, fileSha256: sha256(String(n)) }),
    `insert into keywarden.report_export (sha256, path, records) values ('${sha256('21')}', '/v1/keys', 1)`,
  ],
])('two reports record %s at once, in any order, and neither fails', async (_, change, held) => {
  const { credential } = await makePrincipal(store, 'rita');
  const other = await store.as('keywarden_report');
  const of = (first: number, count: number): Access[] =>
    Array.from({ length: count }, (_, n) => ({ ...access, credential, ...change(first + n) }));
  let recorded: Promise<void>[] = [];
  await store.sql.begin(async (tx) => {
    await tx.unsafe(held);
    recorded = [recordAccess(report.sql, of(10, 30))];
    await store.untilBlocked(...recorded);
    // With so many more, hash tables have another order.
    recorded.push(recordAccess(other.sql, [...of(1000, 2000), ...of(10, 30)].toReversed()));
    await store.untilBlocked(...recorded);
  });
  await expect(Promise.all(recorded)).resolves.toHaveLength(2);
});
