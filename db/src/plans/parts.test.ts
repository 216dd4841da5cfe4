import { createTestStore, type TestStore } from '@keywarden/testkit/store/test-store';
import { beforeAll, expect, inject, test } from 'vitest';
import type { Tx } from '../sql.ts';
import { derivePlan } from './parts.ts';

let store: TestStore;
const items = ['1', '2'].map((number) => ({ key: { number }, sha256: `hash of ${number}` }));
beforeAll(async () => {
  store = await createTestStore(inject('postgresUrl'));
  await store.sql`
    insert into keywarden.plan (id, sha256, approves, document, item_count, held_count, reported_count, policy_sha256, last_made_at)
    values ('whole', '', 'all', ${JSON.stringify({ items })}, 2, 0, 0, 'v', now() - interval '1 minute')`;
  return async () => await store.close();
});

/** The plan whose only key is key 1, as the next pass stores it. */
const save = async (tx: Tx, id: string) =>
  await tx`
    insert into keywarden.plan (id, sha256, approves, document, item_count, held_count, reported_count, policy_sha256)
    values (${id}, 'of facts', 'one', '{"items": []}', 1, 3, 0, 'v')
    on conflict (id) do update set last_made_at = now(), derived_from = null, sha256 = excluded.sha256, held_count = 3`;

test('a plan that is stored while a part with the same keys is made stays a plan of its own, and the newest', async () => {
  const { sql } = store;
  const undone = new Error('undone');
  let part = '';
  const derived = { plan: 'whole', keys: ['1'] };
  const tried = sql.begin(async (tx) => {
    part = String((await tx`select keywarden.derive_plan_of('whole', '{1}') as id`)[0]?.id);
    throw undone;
  });
  await expect(tried).rejects.toBe(undone);
  // The row is not there, then it is a part.
  for (const isNew of [true, false]) {
    expect(await sql`select from keywarden.plan where id = ${part}`).toHaveLength(isNew ? 0 : 1);
    let deriving: ReturnType<typeof derivePlan> | undefined;
    await sql.begin(async (tx) => {
      await save(tx, part);
      deriving = derivePlan(sql, derived);
      await store.untilBlocked(deriving);
    });
    expect(await deriving).toMatchObject({ id: part });
    const [row] = await sql`
      select p.derived_from, p.sha256, p.held_count, n.id as newest from keywarden.plan p, keywarden.newest_plan n where p.id = ${part}`;
    expect(row).toEqual({ derived_from: null, sha256: 'of facts', held_count: 3, newest: part });
    // The next pass finds all keys again, so the former plan becomes a part.
    await sql`update keywarden.plan set last_made_at = clock_timestamp() where id = 'whole'`;
    expect(await derivePlan(sql, derived)).toMatchObject({ id: part });
    const [former] = await sql`select derived_from, held_count from keywarden.plan where id = ${part}`;
    expect(former).toEqual({ derived_from: 'whole', held_count: 0 });
  }
});
