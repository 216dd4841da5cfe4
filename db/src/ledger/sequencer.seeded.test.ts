import {
  emptyRoot,
  formatCheckpoint,
  type Hash,
  hashLeaf,
  isConsistent,
  isIncluded,
  parseCheckpoint,
  parseProof,
  rootOfLeaves,
  type TreeHead,
} from '@keywarden/core/ledger';
import { sized } from '@keywarden/testkit';
import { createTestStore, type TestStore } from '@keywarden/testkit/store/test-store';
import { afterAll, beforeAll, expect, inject, test } from 'vitest';
import type { Sql } from '../sql.ts';
import type { Store } from '../store.ts';
import { listLedgerRowFaults } from './check.ts';
import { makeReceipts, readPlacedEvents } from './receipts.ts';
import { integrateEvents, type Sequencer } from './sequencer.ts';
import { continues, readConsistency } from './tree.ts';

let store: TestStore;
let daemon: Store;
beforeAll(async () => {
  store = await createTestStore(inject('postgresUrl'));
  store.isTampered();
  daemon = await store.as('keywarden_daemon');
});
afterAll(async () => await store.close());

const sequencer: Sequencer = {
  limit: 100,
  seen: null,
  open: parseCheckpoint,
  sign: (head) => formatCheckpoint({ origin: 'log', ...head }),
};

/** Empties the ledger; only a test can. */
async function begin(): Promise<void> {
  await store.sql
    .unsafe(`
    set session_replication_role = replica;
    truncate keywarden.ledger_event, keywarden.ledger_salt, keywarden.ledger_tile, keywarden.ledger_checkpoint, keywarden.ledger_cosignature, keywarden.pause;
    select setval('keywarden.ledger_event_number_seq', 1, false);
    set session_replication_role = default`)
    .simple();
}

async function readLeaves(): Promise<{ index: number | null; hash: Hash }[]> {
  const rows =
    await store.sql`select leaf_index, leaf from keywarden.ledger_event order by leaf_index nulls last, number`;
  return rows.map((row) => ({
    index: row.leaf_index === null ? null : Number(row.leaf_index),
    hash: hashLeaf(String(row.leaf)),
  }));
}

const readHeads = async (): Promise<TreeHead[]> =>
  (await store.sql`select note from keywarden.ledger_checkpoint order by size`).map(
    ({ note }) => parseCheckpoint(String(note)) ?? { size: -1, root: new Uint8Array() },
  );

/** Ends the session of a pool between two of its statements, as a kill does. */
async function kill(sql: Sql): Promise<void> {
  await store.sql`
    select pg_terminate_backend(pid) from pg_stat_activity where application_name = 'to be killed' and datname = current_database()`;
  await sql.end({ timeout: 1 }).catch(() => undefined);
}

const connect = () => store.connect({ max: 1, settings: { application_name: 'to be killed' } });

test('1,000 histories with kills: no event without its leaf, none twice, and no checkpoint that contradicts an earlier one', async () => {
  const histories = sized(1000, 0.02);
  const refusals: string[] = [];
  for (let seed = 1; seed <= histories; seed += 1) {
    await begin();
    const random = randomOf(seed);
    const seen: TreeHead[] = [];
    let made = 0;
    for (let step = 0; step < 8; step += 1) {
      const pick = random(6);
      if (pick <= 2) {
        // A governed row, whose transaction is committed, undone, or killed.
        const count = 1 + random(pick === 0 ? 90 : 3);
        const write = async (sql: Sql) =>
          await sql`
            insert into keywarden.pause (paused_by, resumed_at, resumed_by) select 'ada', now(), 'ada' from generate_series(1, ${count}::int)`;
        const end = random(4);
        if (end === 0) {
          const killed = connect();
          await killed.unsafe('begin');
          await write(killed);
          await kill(killed);
        } else {
          await write(store.sql);
          made += count * 2;
        }
      } else if (pick === 3) {
        const killed = connect();
        const settings = { ...sequencer, limit: 1 + random(300) };
        const at = random(3);
        // Before the first statement, after the events have their places, or after the checkpoint.
        if (at === 0) await kill(killed);
        const sign: Sequencer['sign'] = (head) => {
          if (at === 1) throw new Error('killed');
          return sequencer.sign(head);
        };
        await integrateEvents(killed, { ...settings, sign }).catch(() => undefined);
        await kill(killed);
      } else {
        const integrated = await integrateEvents(daemon.sql, {
          ...sequencer,
          limit: 1 + random(300),
          seen: seen.at(-1) ?? null,
        });
        if (typeof integrated !== 'object') refusals.push(`seed ${seed}: ${integrated}`);
      }
      const heads = await readHeads();
      seen.push(...heads.slice(seen.length));
    }
    while (((await integrateEvents(daemon.sql, sequencer)) as { hasMore: boolean }).hasMore);
    const leaves = await readLeaves();
    expect(leaves, `seed ${seed}`).toHaveLength(made);
    expect(leaves.map(({ index }) => index)).toEqual(leaves.map((_leaf, index) => index));
    for (const { size, root } of await readHeads())
      expect(root, `seed ${seed}`).toEqual(rootOfLeaves(leaves.slice(0, size).map(({ hash }) => hash)));
    expect(await readHeads()).toEqual(expect.arrayContaining(seen));
    const faults = await listLedgerRowFaults(store.sql);
    expect(faults.filter(({ type }) => type !== 'store.migrated')).toEqual([]);
  }
  expect(refusals).toEqual([]);
});

/** A small random generator of whole numbers below a bound. */
function randomOf(seed: number): (below: number) => number {
  let state = seed * 2_654_435_761;
  return (below) => {
    state = (Math.imul(state ^ (state >>> 15), 2_246_822_519) + 3_266_489_917) >>> 0;
    return state % below;
  };
}

test('sequencers at the same time add each event once', async () => {
  await begin();
  await store.sql`insert into keywarden.pause (paused_by, resumed_at) select 'ada', now() from generate_series(1, 500)`;
  await Promise.all(
    Array.from({ length: 6 }, async () => await integrateEvents(daemon.sql, { ...sequencer, limit: 200 })),
  );
  const leaves = await readLeaves();
  expect(leaves.map(({ index }) => index)).toEqual(leaves.map((_leaf, index) => index));
  // One that places events after another, and signs before it, signs for both.
  const sizes = (await readHeads()).map(({ size }) => size);
  expect([sizes[0], sizes.at(-1)]).toEqual([0, 1000]);
  expect(sizes).toEqual([0, 200, 400, 600, 800, 1000].filter((size) => sizes.includes(size)));
});

test('proofs from the store are those of its leaves', async () => {
  const leaves = await readLeaves();
  const [size, root] = [1000, rootOfLeaves(leaves.map(({ hash }) => hash))];
  expect(await continues(daemon.db, { size, root })).toBe(true);
  const events = await readPlacedEvents(daemon.db, { after: -1, limit: size, size });
  const some = events.filter(({ leafIndex }) => [0, 255, 256, 511, 999].includes(leafIndex));
  const receipts = await makeReceipts(daemon.db, some, { size, note: '' });
  expect(receipts).toHaveLength(5);
  for (const receipt of receipts) {
    const { index, hashes: proof } = parseProof(receipt) ?? { index: 0, hashes: [] };
    expect(isIncluded(leaves[index]?.hash ?? root, { index, size, root, proof })).toBe(true);
  }
  const old = { size: 400, root: rootOfLeaves(leaves.slice(0, 400).map(({ hash }) => hash)) };
  const proof = await readConsistency(daemon.db, { oldSize: 400, size });
  expect(isConsistent(old, { size, root }, proof)).toBe(true);
  expect(await continues(daemon.db, old)).toBe(true);
  expect(await continues(daemon.db, { ...old, size: 401 })).toBe(false);
  expect(await continues(daemon.db, { ...old, size: 5000 })).toBe(false);
});

test.each([
  ['signature', `update keywarden.ledger_checkpoint set note = 'another note' where size = 1000`],
  [
    'hashes',
    `update keywarden.ledger_tile set hashes = set_byte(hashes, 4, (get_byte(hashes, 4) + 1) % 256) where level = 0 and index = 3`,
  ],
  ['hashes', 'delete from keywarden.ledger_tile where level = 1'],
  [
    'older',
    'delete from keywarden.ledger_checkpoint where size > 400; update keywarden.ledger_event set leaf_index = null where leaf_index >= 400',
  ],
  ['forked', 'FORK'],
] as const)('the tree does not grow over a ledger that was changed: %s', async (why, change) => {
  const [last] = (await readHeads()).slice(-1);
  let result: unknown;
  await store.sql
    .begin(async (tx) => {
      await tx`set local session_replication_role = replica`;
      if (change !== 'FORK') await tx.unsafe(change).simple();
      const seen = change === 'FORK' ? { size: 400, root: hashLeaf('another history') } : (last ?? null);
      const inTransaction = { begin: async (work: (inner: typeof tx) => unknown) => await work(tx) } as unknown as Sql;
      result = await integrateEvents(inTransaction, { ...sequencer, seen });
      throw new Error('undo');
    })
    .catch((error: unknown) => {
      if (!(error instanceof Error) || error.message !== 'undo') throw error;
    });
  expect(result).toBe(why);
});

test('the time before which everything is placed stays where it is while events wait for a signature', async () => {
  await begin();
  await store.sql`insert into keywarden.pause (paused_by, resumed_at) values ('ada', now())`;
  const unsigning: Sequencer = {
    ...sequencer,
    sign: ({ size }) => (size === 0 ? sequencer.sign({ size, root: emptyRoot }) : null),
  };
  const first = await integrateEvents(daemon.sql, unsigning);
  if (typeof first === 'string' || first.latestMs === null) throw new Error('nothing was placed');
  const { latestMs } = first;
  await store.sql`insert into keywarden.pause (paused_by, resumed_at) values ('ada', now())`;
  expect(await integrateEvents(daemon.sql, { ...unsigning, latestMs })).toMatchObject({ added: 2, latestMs });
  expect(await integrateEvents(daemon.sql, { ...unsigning, latestMs })).toMatchObject({ added: 0, latestMs });
  expect(await integrateEvents(daemon.sql, { ...sequencer, latestMs })).toMatchObject({ latestMs });
  const later = await integrateEvents(daemon.sql, { ...sequencer, latestMs });
  expect(later).toMatchObject({ added: 0, size: 4 });
  expect((later as { latestMs: number }).latestMs).toBeGreaterThanOrEqual(latestMs);
});

test('a machine that cannot sign places events up to ten times its limit, and the others wait', async () => {
  await begin();
  await store.sql`insert into keywarden.pause (paused_by, resumed_at) select 'ada', now() from generate_series(1, 12)`;
  const sign: Sequencer['sign'] = ({ size }) => (size === 0 ? sequencer.sign({ size, root: emptyRoot }) : null);
  const run = async (settings: Partial<Sequencer>) =>
    await integrateEvents(daemon.sql, { ...sequencer, limit: 2, ...settings });
  for (let size = 2; size <= 20; size += 2)
    expect(await run({ sign })).toMatchObject({ size, added: 2, hasMore: true });
  expect(await run({ sign })).toMatchObject({ size: 20, added: 0 });
  expect(await run({ limit: 100 })).toMatchObject({ size: 24, added: 4 });
});

test('after a full run, the time before which everything is placed is that of its last event, because others may wait', async () => {
  await begin();
  const recorded = '2026-01-01T00:00:00Z';
  await store.sql`insert into keywarden.pause (paused_by, resumed_at) values ('ada', now())`;
  await store.sql
    .unsafe(`
    set session_replication_role = replica;
    update keywarden.ledger_event set leaf = regexp_replace(leaf, '"recorded":"[^"]*"', '"recorded":"${recorded}"');
    set session_replication_role = default`)
    .simple();
  expect(await integrateEvents(daemon.sql, { ...sequencer, limit: 2 })).toMatchObject({
    added: 2,
    latestMs: Date.parse(recorded),
  });
});
