import { makeControlPlane } from '@keywarden/testkit/store/rows';
import { createTestStore, type TestStore } from '@keywarden/testkit/store/test-store';
import { afterAll, beforeAll, expect, inject, test } from 'vitest';
import { toInstant } from '../../schema/columns.ts';
import { listInventoryGaps } from './gaps.ts';

let store: TestStore;
beforeAll(async () => {
  store = await createTestStore(inject('postgresUrl'));
  const controlPlane = await makeControlPlane(store.sql);
  const other = await makeControlPlane(store.sql, { name: 'other', baseUrl: 'https://other.example/api/v2' });
  // Listings at times that have no pattern, some of them suspect, some at the same time; one scope has only suspect ones.
  await store.sql`
    insert into keywarden.key_listing (control_plane_number, scope, connection, listed_at, begun_at, key_count, why_suspect)
    select c, scope, 'main', at, at, 1, case when scope = 'user:none' or abs(hashtext(scope || n)) % 7 = 0 then 'short' end
    from unnest(array[${controlPlane}, ${other}]::bigint[]) c, generate_series(1, 60) n,
      unnest('{user:none,user:ada,user:bob,organization:a,organization:b,role:a/p,role:b/q}'::text[]) scope,
      lateral (select '2026-01-01'::timestamptz + (abs(hashtext(scope || c || n % 50)) % 2400) * interval '1 hour' as at) t`;
});
afterAll(async () => await store.close());

/** The gaps between all listings: the statement that reads the listings of all times. */
async function readAll(of: 'keys' | 'credentials', { from, to }: { from: string; to: string }): Promise<string[]> {
  const rows = await store.sql`
    with listing as (
      select control_plane_number, scope, listed_at from keywarden.key_listing
      where why_suspect is null and (split_part(scope, ':', 1) in ('user', 'organization')) = ${of === 'keys'}
    ), gap as (
      select *, lag(listed_at) over (partition by control_plane_number, scope order by listed_at) as opens, listed_at as closes from listing
      union all
      select control_plane_number, scope, null, max(listed_at), null from listing group by control_plane_number, scope
    )
    select control_plane_number::text as plane, scope, opens, closes from gap
    where (opens is null or coalesce(closes, ${to}) - opens > ${of === 'keys' ? '1 day' : '2 days'}::interval)
      and coalesce(opens, '-infinity') < ${to} and coalesce(closes, 'infinity') > ${from}`;
  const instant = (at: unknown) => (typeof at === 'string' ? toInstant(at) : 'null');
  return rows.map(({ scope, opens, closes }) => `${scope} ${instant(opens)} ${instant(closes)}`).toSorted();
}

const times = Array.from({ length: 12 }, (_, n) => new Date(Date.UTC(2025, 11, 28 + n * 10, n)).toISOString());
const periods = times.flatMap((from) => [0, 1, 20].map((days) => ({ from, to: later(from, days) })));
function later(at: string, days: number): string {
  return new Date(Date.parse(at) + days * 86_400_000).toISOString();
}

test.each(['keys', 'credentials'] as const)(
  'the gaps of a time or period, of %s, are those of all listings around it',
  async (of) => {
    let gaps = 0;
    for (const period of periods) {
      const found = await listInventoryGaps(store.db, { ...period, organizations: null, of });
      const expected = await readAll(of, period);
      // Without an organization, nothing is known of other credentials.
      const ofScopes = found.filter(({ scope }) => scope !== 'every scope');
      expect(ofScopes.map(({ scope, from, to }) => `${scope} ${from} ${to}`).toSorted()).toEqual(expected);
      gaps += expected.length;
    }
    expect(gaps).toBeGreaterThan(100);
  },
);
