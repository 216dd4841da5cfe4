import { tmpdir } from 'node:os';
import { listLedgerRowFaults } from '@keywarden/db/daemon';
import { openStore, type Store, type StoreRole } from '@keywarden/db/store';
import { isStoreUnavailable } from '@keywarden/runtime';
import { afterAll, beforeAll, expect, inject, test } from 'vitest';
import { type CutLine, openCutLine } from '../store/cut-line.ts';
import { until } from '../until.ts';
import { makeApp } from './app.ts';
import { type Fixture, makeFixture } from './fixture.ts';
import { findRows, type WriterContext, writerName, writers } from './writers.ts';

let fixture: Fixture;
let line: CutLine;
let place: WriterContext;
const stores: Store[] = [];
beforeAll(async () => {
  fixture = await makeFixture(inject('postgresUrl'));
  line = await openCutLine(fixture.store.url);
  const options = { databaseUrl: line.url, dataFolder: tmpdir(), applicationName: writerName, maxConnections: 2 };
  const as = async (role?: StoreRole) => {
    const store = await openStore({ ...options, ...(role === undefined ? {} : { role }) });
    stores.push(store);
    return store;
  };
  const { app } = await makeApp({ as });
  const [owner, daemon, admin] = [await as(), await as('keywarden_daemon'), await as('keywarden_admin')];
  place = { owner, daemon, admin, app, rows: await findRows(fixture) };
});
afterAll(async () => {
  for (const store of stores) await store.close();
  await line.close();
  await fixture.close();
});

/** An export sends about fifty messages, and most of them read. */
const stepOf = (writer: string) => (writer === 'exports' ? 4 : 1);

const isLoss = (error: unknown) =>
  isStoreUnavailable(error) || (error instanceof Error && / answered 50[03]: |^an export was cut$/.test(error.message));

test.each(Object.keys(writers))(
  'a line that is cut at each message of a process that writes %s: no row without its event, no event without its row, and the next run works',
  async (writer) => {
    const { sql } = fixture.store;
    const countEvents = async () => {
      const rows = await sql`select type, count(*)::int as n from keywarden.ledger_event group by type`;
      return new Map(rows.map(({ type, n }) => [String(type), Number(n)]));
    };
    const before = await countEvents();
    const cuts = await line.cutEach(async (at) => {
      const failure = await writers[writer]?.write(place).then(
        () => null,
        (error: unknown) => ({ isOfCut: line.hasCut() && isLoss(error), error }),
      );
      expect(failure?.isOfCut ?? true, `${at}: ${String(failure?.error)}`).toBe(true);
      line.repair();
      // The server rolls back a session that has ended.
      await until(async () => {
        const rows = await sql`
          select from pg_stat_activity where application_name = ${writerName} and datname = current_database() and state <> 'idle'`;
        return rows.length === 0;
      });
      expect(await listLedgerRowFaults(sql), `after ${at}`).toEqual([]);
    }, stepOf(writer));
    const kinds = writers[writer]?.kinds ?? [];
    const after = await countEvents();
    for (const kind of kinds) expect(after.get(kind) ?? 0, `events of ${kind}`).toBeGreaterThan(before.get(kind) ?? 0);
    expect(cuts).toBeGreaterThanOrEqual(kinds.length);
  },
);
