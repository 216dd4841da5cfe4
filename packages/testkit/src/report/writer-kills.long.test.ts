import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { listLedgerRowFaults } from '@keywarden/db/daemon';
import { afterAll, beforeAll, expect, inject, test } from 'vitest';
import { crashStdio } from '../crash-stdio.ts';
import { until } from '../until.ts';
import { type Fixture, makeFixture } from './fixture.ts';
import { findRows, type WriterOrder, type WriterRows, writerName, writers } from './writers.ts';

const program = fileURLToPath(new URL('writer-crash-process.ts', import.meta.url));

let fixture: Fixture;
let rows: WriterRows;
beforeAll(async () => {
  fixture = await makeFixture(inject('postgresUrl'));
  rows = await findRows(fixture);
});
afterAll(async () => {
  for (const { child } of spare) child.kill();
  await fixture.close();
});

/** Processes that start while others run: a start takes longer than a writer. */
const spare: { child: ChildProcess; started: Promise<unknown> }[] = [];

async function takeProcess(): Promise<ChildProcess> {
  while (spare.length < 3) {
    const child = fork(program, { stdio: crashStdio() });
    spare.push({ child, started: once(child, 'message') });
  }
  const [next] = spare.splice(0, 1);
  if (next === undefined) throw new Error('there is no process');
  await next.started;
  return next.child;
}

/** Runs a writer until it is killed, or ends. Returns the signal, or null. */
async function runWriter(writer: string, killAfter: number): Promise<string | null> {
  const child = await takeProcess();
  const order: WriterOrder = { databaseUrl: fixture.store.url, writer, rows, killAfter };
  child.send(order);
  const [code, signal] = (await once(child, 'exit')) as [number | null, string | null];
  expect(code === 0 || signal === 'SIGKILL', `${writer} ends with ${code ?? signal}`).toBe(true);
  // The last statement of a killed process may still commit.
  await until(async () => {
    const [row] = await fixture.store.sql`
      select count(*)::int as n from pg_stat_activity where application_name = ${writerName} and datname = current_database()`;
    return row?.n === 0;
  });
  return signal;
}

test.each(Object.keys(writers))(
  'kill -9 of a process that writes %s, at each message that writes: no row without its event, no event without its row',
  async (writer) => {
    const { sql } = fixture.store;
    const kinds = writers[writer]?.kinds ?? [];
    const countEvents = async () => {
      const rows = await sql`select type, count(*)::int as n from keywarden.ledger_event group by type`;
      return new Map(rows.map(({ type, n }) => [String(type), Number(n)]));
    };
    let kills = 0;
    const before = await countEvents();
    while ((await runWriter(writer, kills + 1)) !== null) {
      kills += 1;
      expect(await listLedgerRowFaults(sql), `after a kill at message ${kills}`).toEqual([]);
    }
    expect(await listLedgerRowFaults(sql)).toEqual([]);
    expect(kills).toBeGreaterThanOrEqual(kinds.length);
    const after = await countEvents();
    for (const kind of kinds) expect(after.get(kind) ?? 0, `events of ${kind}`).toBeGreaterThan(before.get(kind) ?? 0);
  },
);

test('every kind of event is written by one of these writers, the sequencer’s, or a migration', async () => {
  const kinds = await fixture.store.sql`select kind from keywarden.ledger_kinds()`;
  const written = new Set(Object.values(writers).flatMap((writer) => writer.kinds));
  expect(kinds.map(({ kind }) => String(kind)).filter((kind) => !written.has(kind))).toEqual([
    'archive.sealed',
    'store.migrated',
  ]);
});
