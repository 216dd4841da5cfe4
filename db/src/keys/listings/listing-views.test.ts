import { makeControlPlane } from '@keywarden/testkit/store/rows';
import { createTestStore, type TestStore } from '@keywarden/testkit/store/test-store';
import { afterAll, beforeAll, expect, inject, test } from 'vitest';
import type { Tx } from '../../sql.ts';

let store: TestStore;
let planes: string[];
beforeAll(async () => {
  store = await createTestStore(inject('postgresUrl'));
  const make = async (name: string) => await makeControlPlane(store.sql, { name, baseUrl: `https://${name}.example` });
  planes = [await make('one'), await make('two'), await make('new')];
});
afterAll(async () => await store.close());

type Listing = [plane: number, scope: string, day: number, whySuspect?: string];

/** Stores listings of a day of June, each received an hour ago. */
async function list(tx: Tx, listings: Listing[]): Promise<void> {
  for (const [plane, scope, day, whySuspect = null] of listings) {
    const at = `2026-06-0${day}T00:00:00Z`;
    await tx`
      insert into keywarden.key_listing (control_plane_number, scope, connection, listed_at, begun_at, received_at, key_count, why_suspect)
      values (${planes[plane] ?? ''}, ${scope}, 'x', ${at}, ${at}, now() - interval '1 hour', 1, ${whySuspect})`;
  }
}

test('the time of a control plane is that of its last listing and what has passed since; without one it is that of the database', async () => {
  const rows = await store.sql.begin(async (tx) => {
    await list(tx, [
      [0, 'user:ada', 2],
      [1, 'user:ada', 7],
      [0, 'user:ada', 3],
    ]);
    return await tx`
      select case when at = now() then 'now' else to_char(at at time zone 'UTC', 'DD HH24:MI') end as at
      from keywarden.control_plane_now order by control_plane_number`;
  });
  expect(rows.map(({ at }) => String(at))).toEqual(['03 01:00', '07 01:00', 'now']);
});

test('each scope of each control plane is listed once, with its last listing that is not suspect', async () => {
  const rows = await store.sql.begin(async (tx) => {
    const ofScope = (plane: number, scope: string, last: number): Listing[] => [
      [plane, scope, last - 1],
      [plane, scope, last],
      [plane, scope, last + 1, 'short'],
    ];
    await list(tx, [
      [0, 'organization:a', 9, 'short'],
      ...[0, 1].flatMap((plane) => [...ofScope(plane, 'organization:b', 5), ...ofScope(plane, 'user:bob', 7)]),
    ]);
    return await tx`
      select scope, extract(day from listed_at at time zone 'UTC')::int as day from keywarden.listed_scope
      where scope <> 'user:ada' order by control_plane_number, scope`;
  });
  const each = [
    { scope: 'organization:b', day: 5 },
    { scope: 'user:bob', day: 7 },
  ];
  expect(rows).toEqual([...each, ...each]);
});
