import { createHash } from 'node:crypto';
import { formatCheckpoint, growTree, hashLeaf, parseCheckpoint, type Tile } from '@keywarden/core/ledger';
import { integrateEvents } from '@keywarden/db/daemon';
import type { Sql } from '@keywarden/db/store';
import { createTestStore, startTestPostgres } from '@keywarden/testkit/store/test-store';
import { count, readNumber, runToEnd, timed } from './measure.ts';

/**
 * `ledger [--leaves N] [--tree N]`: adds N events to the ledger, 200,000 by default, in durable embedded Postgres, as the daemon does. The yardstick is
 * SHA-256 of the same bytes in this process, which is the limit. Then it makes proofs in a tree of 10,000,000 leaves by default, from its tiles. Their
 * yardstick is a statement that reads one tile: its longest time shows how long this machine stops at times.
 */
export async function benchLedger(args: string[]): Promise<void> {
  const leaves = readNumber(args, 'leaves', 200_000);
  const size = readNumber(args, 'tree', 10_000_000);
  const postgres = await startTestPostgres({ isDurable: true });
  const store = await createTestStore(postgres.url);
  store.isTampered();
  try {
    await addEvents(store.sql, leaves);
    const rows = await store.sql`select leaf from keywarden.ledger_event where leaf_index is null order by number`;
    const texts = rows.map(({ leaf }) => String(leaf));
    const limit = await timed(() => {
      for (const text of texts) createHash('sha256').update(text).digest();
      return Promise.resolve();
    });
    const added = await timed(async () => await integrateAll(store.sql));
    const [rate, limitRate] = [leaves / added.seconds, leaves / limit.seconds];
    console.log(
      `integrate  ${count(leaves)} leaves in ${added.seconds.toFixed(1)} s: ${count(rate)} a second; SHA-256 of the same bytes ${count(limitRate)}; ratio ${(rate / limitRate).toFixed(3)}`,
    );
    await printSizes(store.sql, leaves);
    await fillTiles(store.sql, size);
    // In a process of its own, as the report makes them: filling the tiles leaves a large heap behind.
    await runToEnd('ledger-proofs.ts', [store.url, String(size)]);
  } finally {
    await store.close();
    await postgres.close();
  }
}

/** Records pauses, as the product does: each is two events. */
async function addEvents(sql: Sql, events: number): Promise<void> {
  const { seconds } = await timed(
    async () =>
      await sql`
        insert into keywarden.pause (paused_by, reason, resumed_at, resumed_by)
        select 'ada@acme.example', 'a move', now(), 'ada@acme.example' from generate_series(1, ${Math.ceil(events / 2)}::int)`,
  );
  console.log(
    `record     ${count(events)} events by triggers in ${seconds.toFixed(1)} s: ${count(events / seconds)} a second`,
  );
}

async function integrateAll(sql: Sql): Promise<void> {
  for (;;) {
    const grown = await integrateEvents(sql, {
      limit: 5000,
      seen: null,
      open: parseCheckpoint,
      sign: (head) => formatCheckpoint({ origin: 'bench', ...head }),
    });
    if (typeof grown === 'string') throw new Error(grown);
    if (!grown.hasMore) return;
  }
}

async function printSizes(sql: Sql, leaves: number): Promise<void> {
  await sql`vacuum full keywarden.ledger_event`;
  const sizes = await sql`
    select relname as name, pg_total_relation_size(oid)::float8 as bytes from pg_class
    where relnamespace = 'keywarden'::regnamespace and relname in ('ledger_event', 'ledger_salt', 'ledger_tile') order by relname`;
  const parts = sizes.map(({ name, bytes }) => `${String(name)} ${Math.round(Number(bytes) / leaves)}`);
  const sum = sizes.reduce((total, { bytes }) => total + Number(bytes), 0);
  console.log(`storage    ${Math.round(sum / leaves)} bytes a leaf with its content: ${parts.join(', ')}`);
}

/** Fills the tiles of a tree. */
async function fillTiles(sql: Sql, size: number): Promise<void> {
  await sql`truncate keywarden.ledger_tile`;
  let edge: Tile[] = [];
  const step = 256 * 256;
  for (let at = 0; at < size; at += step) {
    const hashes = Array.from({ length: Math.min(step, size - at) }, (_, index) => hashLeaf(String(at + index)));
    const changed = growTree(at, edge, hashes);
    edge = changed.filter((tile) => tile.hashes.length < 256 * 32);
    await saveTiles(sql, at + step < size ? changed.filter((tile) => tile.hashes.length === 256 * 32) : changed);
  }
  // What filling the tables leaves behind, here and in the database, is no part of a proof.
  await sql`vacuum analyze keywarden.ledger_tile`;
  await sql`checkpoint`;
}

async function saveTiles(sql: Sql, tiles: Tile[]): Promise<void> {
  await sql`
    insert into keywarden.ledger_tile (level, index, hashes)
    select level, index, decode(hashes, 'hex') from unnest(${tiles.map(({ level }) => level)}::int[],
      ${tiles.map(({ index }) => String(index))}::bigint[], ${tiles.map(({ hashes }) => Buffer.from(hashes).toString('hex'))}::text[])
      as t(level, index, hashes)`;
}
