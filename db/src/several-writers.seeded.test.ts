import { formatCheckpoint, parseCheckpoint } from '@keywarden/core/ledger';
import { codeOf } from '@keywarden/runtime';
import { sized } from '@keywarden/testkit';
import { decisions } from '@keywarden/testkit/at-once/decisions';
import { createFixture, type Fixture, ids, writing } from '@keywarden/testkit/at-once/fixture';
import { lists } from '@keywarden/testkit/at-once/lists';
import { processes } from '@keywarden/testkit/at-once/processes';
import { type Drawn, drawn, nextRound, seed } from '@keywarden/testkit/at-once/rounds';
import * as fc from 'fast-check';
import { afterAll, beforeAll, expect, inject, test } from 'vitest';
import { integrateEvents, type Sequencer } from './ledger/sequencer.ts';
import { builderOf, type Sql, type Tx } from './sql.ts';

// Daemons, reports and people write the same rows at once, with inputs that contradict each other.

let fixture: Fixture;
beforeAll(async () => {
  fixture = await createFixture(inject('postgresUrl'));
});
afterAll(async () => await fixture.store.close());

/** Runs writers at once. Returns what failed, in words. */
async function run(round: Drawn[], of: Fixture): Promise<string[]> {
  const ended = await Promise.allSettled(
    round.map(async ({ write, pause }) => {
      await of.store.sql`select pg_sleep(${pause / 1000})`;
      await write(of);
    }),
  );
  return ended.flatMap((each, index) =>
    each.status === 'fulfilled'
      ? []
      : [`${round[index]?.name} beside ${round.map(({ name }) => name).join(', ')}: ${codeOf(each.reason)}`],
  );
}

test.each(Object.entries({ ...lists, ...decisions, ...processes }))(
  'several writers of %s at once: none fails, as by a deadlock or a row that another has inserted',
  async (_, noun) => {
    // Writers of two kinds at most, so that they meet.
    const round = fc
      .shuffledSubarray(drawn(noun.writers), { minLength: 1, maxLength: 2 })
      .chain((kinds) => fc.array(fc.oneof(...kinds), { minLength: 3, maxLength: 4 }));
    const failures: string[] = [];
    for (const each of fc.sample(round, { numRuns: sized(100, 0.08), seed }))
      failures.push(...(await run(each, await nextRound(fixture, noun))));
    expect(failures, `TEST_SEED=${seed} draws the same rounds`).toEqual([]);
  },
);

test('such rounds end in a deadlock if writers lock their rows in any order', async () => {
  const unordered = writing(fc.shuffledSubarray(ids, { minLength: 4 }), async ({ daemon, controlPlane }, some) => {
    await daemon.sql`
      insert into keywarden.organization (control_plane_number, id, name, created_at, first_seen_at, last_seen_at)
      select ${controlPlane}::bigint, id, '', now(), now(), now() from unnest(${some}::text[]) id
      on conflict (control_plane_number, id) do update set name = ''`;
  });
  const found = new Set<string>();
  const round = fc.array(fc.oneof(...drawn({ unordered })), { minLength: 4, maxLength: 4 });
  for (const each of fc.sample(round, { numRuns: 100, seed })) {
    for (const failure of await run(each, fixture)) found.add(failure.replace(/.*: /, ''));
    if (found.size > 0) break;
  }
  expect([...found]).toEqual(['40P01']);
});

/** The columns that say when or in which order rows were written. */
const left = ['number', 'received_at', 'seen_at', 'replaced_at'];
const tables: Record<string, string[]> = {
  organization: [],
  member: [],
  member_listing: [],
  rejected_row: ['first_seen_at', 'last_seen_at'],
  project: [],
  operation: [],
  operation_version: [],
  operation_coverage: [],
  open_walk: [],
  completed_walk: [],
  credential: [],
  connection_scope: [],
  key_count: [],
};

async function readState(sql: Sql | Tx): Promise<unknown> {
  const parts = Object.entries(tables).map(
    ([table, others]) => `select '${table}' as name, md5(string_agg(r::text, ',' order by r::text)) as hash
      from (select to_jsonb(t) - '{${[...left, ...others].join(',')}}'::text[] as r from keywarden.${table} t) rows`,
  );
  return [...(await sql.unsafe(parts.join(' union all ')))];
}

/** Returns what these writers would leave, one after the other. It is rolled back. */
async function stateAfter(round: Drawn[], of: Fixture): Promise<unknown> {
  const undone = new Error('undone');
  let state: unknown;
  await of.daemon.sql
    .begin(async (tx) => {
      const sql = new Proxy(tx, {
        get: (target, name) => (name === 'begin' ? target.savepoint.bind(target) : Reflect.get(target, name)),
      }) as unknown as Sql; // a transaction within it is a savepoint
      const daemon = { ...of.daemon, sql, db: builderOf(tx) };
      for (const { write } of round) await write({ ...of, daemon });
      state = await readState(tx);
      throw undone;
    })
    .catch((error: unknown) => {
      if (error !== undone) throw error;
    });
  return state;
}

/** Writers whose every write is one transaction, in which no time of the database counts. */
const atomic = {
  organizations: ['saveOrganizations', 'saveMembers', 'saveRejectedRows', 'saveKeyListing', 'countKeysOfDay'],
  projects: ['saveProjects', 'saveDeletedProjects', 'saveOperationPage', 'markWalkRefused'],
  keys: ['saveKeyListing', 'saveCredentials', 'saveProjects', 'countKeysOfDay'],
} as const;

test.each(Object.entries(atomic))(
  'two writers of %s at once leave what one leaves after the other',
  async (name, names) => {
    const noun = lists[name as keyof typeof atomic];
    const any = fc.oneof(...drawn(noun.writers, [...names]));
    const pair = any.chain(({ name: same }) =>
      fc.tuple(...drawn(noun.writers, [same]), fc.oneof(any, ...drawn(noun.writers, [same]))),
    );
    for (const round of fc.sample(pair, { numRuns: sized(50, 0.08), seed })) {
      const of = await nextRound(fixture, noun);
      const expected = [await stateAfter(round, of), await stateAfter(round.toReversed(), of)];
      expect(await run(round, of), `TEST_SEED=${seed} draws the same rounds`).toEqual([]);
      expect(expected, `TEST_SEED=${seed} draws the same rounds`).toContainEqual(await readState(fixture.daemon.sql));
    }
  },
);

test('each event of these writers has its leaf', async () => {
  const sequencer: Sequencer = {
    limit: 1e3,
    seen: null,
    open: parseCheckpoint,
    sign: (head) =>
      formatCheckpoint({
        origin: 'log',
        ...head,
      }),
  };
  let size = -1;
  for (let hasMore = true; hasMore; ) {
    const integrated = await integrateEvents(fixture.daemon.sql, sequencer);
    if (typeof integrated === 'string') throw new Error(integrated);
    ({ size, hasMore } = integrated);
  }
  const [row] = await fixture.store.sql`
    select count(*)::int as events, count(distinct leaf_index)::int as leaves from keywarden.ledger_event`;
  expect(row).toEqual({ events: size, leaves: size });
  expect(size).toBeGreaterThan(100);
});
