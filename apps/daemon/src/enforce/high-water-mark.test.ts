import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { addMark, reportMarkFile } from '@keywarden/db/daemon';
import {
  apply,
  day,
  enforced,
  fixture,
  makeStoredPlan,
  mint,
  openIncidents,
  pass,
  prepare,
  revokedNames,
  store,
  useApplyFixture,
} from '@keywarden/testkit/daemon/apply-fixture';
import { createTestStore, type TestStore } from '@keywarden/testkit/store/test-store';
import { expect, inject, test } from 'vitest';
import { ledgerCommand } from '../commands/ledger.ts';
import { armCommand, pauseCommand, resumeCommand } from '../commands/pause.ts';
import { armMachine, betweenMarks, disarmMachine, wholeSince } from './high-water-mark.ts';

useApplyFixture();

const markFile = () => join(fixture.context.environment.KEYWARDEN_DATA, 'high-water-mark');

test('R10: a new store enforces nothing automatically until a person runs resume; a plan that a person applies is carried out', async () => {
  await prepare(['one', 'two', 'busy'], { policy: enforced() });
  await pass();
  expect(await pass()).toMatchObject({ automatic: null, why: expect.stringMatching(/not permitted on this machine/) });
  expect(await revokedNames()).toEqual([]);
  await apply(await makeStoredPlan());
  expect(await revokedNames()).toEqual(['one', 'two']);
});

/** Restores the governing marks of the store as of a time: younger rows are gone, as after a restore. */
async function restoreMarks(dump: readonly { mark?: string }[]): Promise<void> {
  await store.sql`delete from keywarden.high_water_mark where not (mark::text = any(${dump.map((row) => String(row.mark))}))`;
}

test('R10: a store restored from before the last run enforces nothing until a person runs resume', async () => {
  await prepare(['one', 'two', 'busy'], { policy: enforced() });
  await armMachine(fixture.context, 'ada');
  await pass();
  const dump = await store.sql`select mark from keywarden.high_water_mark`;
  await pass();
  expect(await revokedNames()).toEqual(['one']);
  await restoreMarks(dump);
  expect(await pass(day)).toMatchObject({ automatic: null, why: expect.stringMatching(/is an older copy/) });
  expect(await revokedNames()).toEqual(['one']);
  expect(await openIncidents()).toEqual(['high_water_mark']);
  await armMachine(fixture.context, 'ada');
  expect(await openIncidents()).toEqual([]);
  await pass();
  expect(await revokedNames()).toEqual(['one', 'two']);
});

test('R10: a store restored from before a decision in the report enforces nothing, even without a run in between', async () => {
  await prepare(['one', 'two', 'busy'], { policy: enforced() });
  await armMachine(fixture.context, 'ada');
  await pass();
  await pass();
  expect(await revokedNames()).toEqual(['one']);
  const dump = await store.sql`select mark from keywarden.high_water_mark`;
  // The report does the same before it grants an exemption.
  const file = join(fixture.context.environment.KEYWARDEN_DATA, reportMarkFile);
  writeFileSync(file, await addMark(store.db, 'report'));
  await restoreMarks(dump);
  expect(await pass(day)).toMatchObject({ automatic: null, why: expect.stringMatching(/is an older copy/) });
  expect(await openIncidents()).toEqual(['high_water_mark']);
  await armMachine(fixture.context, 'ada');
  await pass();
  expect(await revokedNames()).toEqual(['one', 'two']);
});

test('R10: a store that cannot record that it lacks the mark of the report is an older one for the next pass, too', async () => {
  await prepare(['one', 'busy'], { policy: enforced() });
  await armMachine(fixture.context, 'ada');
  await pass();
  const dump = await store.sql`select mark from keywarden.high_water_mark`;
  writeFileSync(join(fixture.context.environment.KEYWARDEN_DATA, reportMarkFile), await addMark(store.db, 'report'));
  await restoreMarks(dump);
  await store.sql`alter table keywarden.incident add constraint failing check (false) not valid`;
  await expect(pass()).rejects.toMatchObject({ cause: { code: '23514' } });
  await store.sql`alter table keywarden.incident drop constraint failing`;
  expect(await pass()).toMatchObject({ automatic: null, why: expect.stringMatching(/is an older copy/) });
  expect(await revokedNames()).toEqual([]);
});

test('R10: an older store that one machine detects stops the others, even if their own file is older than the dump', async () => {
  await prepare(['one', 'two', 'busy'], { policy: enforced() });
  await armMachine(fixture.context, 'ada');
  await pass();
  const older = readFileSync(markFile(), 'utf8');
  await pass(0);
  const dump = await store.sql`select mark from keywarden.high_water_mark`;
  await pass();
  await restoreMarks(dump);
  await pass(day);
  writeFileSync(markFile(), older);
  expect(await pass(day)).toMatchObject({ automatic: null });
  expect(await revokedNames()).toEqual(['one']);
});

test('R7: a pause is in force although its machine cannot write a mark, and says so', async () => {
  await prepare(['one'], { policy: enforced() });
  await armMachine(fixture.context, 'ada');
  const { environment } = fixture.context;
  const context = {
    ...fixture.context,
    environment: { ...environment, KEYWARDEN_DATA: join(import.meta.filename, 'x') },
  };
  const paused = await pauseCommand.run?.(context as never, { reason: 'a full disk' } as never);
  expect(paused).toMatchObject({
    json: {
      paused: true,
      is_new: true,
      warnings: [expect.stringMatching(/^This machine could not write its mark/)],
    },
    text: expect.stringMatching(/^Paused: .*\nThis machine could not write its mark/),
    needsPerson: true,
  });
  expect(await pass()).toMatchObject({ automatic: null, why: expect.stringMatching(/^paused by .*a full disk/) });
});

test('G4: arm and resume say that nothing is enforced while an incident about the ledger is open', async () => {
  await prepare(['one'], { policy: enforced() });
  const expected = { text: expect.stringMatching(/\nIt begins once the incident about the ledger is closed/) };
  await store.sql`insert into keywarden.incident (kind, detail) values ('ledger_inconsistent', '{"why": "a test"}')`;
  expect(await resumeCommand.run?.(fixture.context as never, {} as never)).toMatchObject({
    text: expect.stringMatching(/\nIt begins once .*\nIn the next version, only keywarden arm does this\.$/),
  });
  expect(await armCommand.run?.(fixture.context as never, {} as never)).toMatchObject(expected);
  expect(await pass()).toMatchObject({
    automatic: null,
    why: expect.stringMatching(/^an incident about the ledger is open/),
  });
  // A ledger that was repaired or begun anew is compared all the same.
  expect(await ledgerCommand.run?.(fixture.context as never, { check: true, createKey: true } as never)).toMatchObject({
    json: { faults: [expect.stringMatching(/^an incident about the ledger is open/)] },
    text: expect.stringMatching(/^Every governed row, event, hash and sealed operation in the store matches\.$/m),
    needsPerson: true,
  });
  await store.sql`update keywarden.incident set closed_at = now(), closed_by = 'ada'`;
  const permitted = { text: expect.not.stringContaining('incident') };
  expect(await armCommand.run?.(fixture.context as never, {} as never)).toMatchObject(permitted);
});

test('R10: a dump from before a pause also counts as an older store', async () => {
  await prepare(['one', 'busy'], { policy: enforced() });
  await armMachine(fixture.context, 'ada');
  await pass();
  const dump = await store.sql`select mark from keywarden.high_water_mark`;
  await store.sql`insert into keywarden.pause (paused_by) values ('ada')`;
  expect(await pass()).toMatchObject({ automatic: null, why: expect.stringMatching(/^paused by ada/) });
  store.isTampered();
  await store.sql`delete from keywarden.pause`;
  await restoreMarks(dump);
  expect(await pass()).toMatchObject({ automatic: null, why: expect.stringMatching(/is an older copy/) });
  expect(await revokedNames()).toEqual([]);
});

test("R10: killed between the store's mark and the file's, the next run continues; without the file it does not", async () => {
  await prepare(['one', 'two', 'busy'], { policy: enforced() });
  await armMachine(fixture.context, 'ada');
  await pass();
  const before = readFileSync(markFile(), 'utf8');
  await pass(0);
  writeFileSync(markFile(), before);
  await pass();
  expect(await revokedNames()).toEqual(['one']);
  rmSync(markFile());
  expect(await pass(day)).toMatchObject({ automatic: null });
  expect(await revokedNames()).toEqual(['one']);
});

test("R10: a machine that did not govern last treats an old store as older, even if the store has that machine's marks", async () => {
  await prepare(['one', 'busy'], { policy: enforced() });
  await armMachine(fixture.context, 'ada');
  await pass();
  const standby = readFileSync(markFile(), 'utf8');
  await betweenMarks(fixture.context, () => Promise.resolve());
  await store.sql`update keywarden.high_water_mark set made_at = made_at - interval '10 hours'`;
  writeFileSync(markFile(), standby);
  expect(await pass()).toMatchObject({
    automatic: null,
    why: expect.stringMatching(/^another machine made the last mark hours ago/),
  });
  expect(await revokedNames()).toEqual([]);
});

test('R10: a governing action on a machine that enforces nothing leaves a mark there, too', async () => {
  await prepare(['one', 'busy']);
  const marks = async () => (await store.sql`select 1 from keywarden.high_water_mark`).length;
  await expect(betweenMarks(fixture.context, () => Promise.reject(new Error('it failed')))).rejects.toThrow(
    'it failed',
  );
  expect(await marks()).toBe(2);
  expect(readFileSync(markFile(), 'utf8')).toMatch(/^[0-9a-f-]{36} watch( 20[0-9T:.-]+Z){2}\n$/);
  await store.sql`delete from keywarden.high_water_mark`;
  await betweenMarks(fixture.context, () => Promise.resolve());
  expect(await openIncidents()).toEqual(['high_water_mark']);
  expect(await marks()).toBe(0);
});

test('R10: a permission that is withdrawn while another process makes its mark stays so', async () => {
  await prepare(['one', 'busy'], { policy: enforced() });
  await armMachine(fixture.context, 'ada');
  /** Runs work while a mark waits for the store. */
  const meanwhile = async (work: () => Promise<unknown>) => {
    let marked: Promise<void> | undefined;
    await store.sql.begin(async (tx) => {
      await tx`lock table keywarden.high_water_mark in share mode`;
      marked = betweenMarks(fixture.context, () => Promise.resolve());
      await store.untilBlocked(marked);
      await work();
    });
    await marked;
  };
  await meanwhile(() => Promise.resolve(disarmMachine(fixture.context)));
  expect(readFileSync(markFile(), 'utf8')).toMatch(/ watch /);
  expect(await pass()).toMatchObject({ automatic: null, why: expect.stringMatching(/not permitted on this machine/) });
  expect(await revokedNames()).toEqual([]);
});

test('R10: a permission that is withdrawn while another process writes its mark stays so, until arm', async () => {
  await prepare(['one', 'busy'], { policy: enforced() });
  await armMachine(fixture.context, 'ada');
  const read = readFileSync(markFile(), 'utf8');
  expect(disarmMachine(fixture.context)).toBe(true);
  writeFileSync(markFile(), read); // what the other process read before
  expect(await pass()).toMatchObject({ automatic: null, why: expect.stringMatching(/not permitted on this machine/) });
  await armMachine(fixture.context, 'ada');
  expect(await pass()).toMatchObject({ why: null });
});

test('R10: a store counts as whole only since the last incident about it ended, also if another machine opened it', async () => {
  await prepare(['one', 'busy']);
  await armMachine(fixture.context, 'ada');
  const armed = await wholeSince(fixture.context);
  await store.sql`
    insert into keywarden.incident (kind, scope, detail, closed_at, closed_by) values ('high_water_mark', 'store', '{}', now(), 'grace')`;
  const [incident] =
    await store.sql`select closed_at = ${await wholeSince(fixture.context)} as is_end from keywarden.incident`;
  expect(incident?.is_end).toBe(true);
  await armMachine(fixture.context, 'ada');
  const again = await wholeSince(fixture.context);
  const [order] =
    await store.sql`select ${armed}::timestamptz < closed_at and closed_at < ${again} as is_right from keywarden.incident`;
  expect(order?.is_right).toBe(true);
});

test('R10: an arm that cannot write its mark permits nothing, on no machine', async () => {
  await prepare(['one', 'busy'], { policy: enforced() });
  await armMachine(fixture.context, 'ada');
  await store.sql`insert into keywarden.incident (kind, scope, detail) values ('high_water_mark', 'store', '{}')`;
  const { environment } = fixture.context;
  const full = { ...fixture.context, environment: { ...environment, KEYWARDEN_DATA: '/proc/self' } };
  await expect(armMachine(full, 'ada')).rejects.toThrow(/cannot be written/);
  expect(await pass()).toMatchObject({ automatic: null, why: expect.stringMatching(/is an older copy/) });
  expect(await revokedNames()).toEqual([]);
});

/** Runs work on the databases themselves, which requires that this database has no session. */
async function withoutSessions(work: (sql: TestStore['sql'], name: string) => Promise<void>): Promise<void> {
  const [row] = await store.sql`select current_database() as name`;
  const name = String(row?.name);
  const administrator = await createTestStore(inject('postgresUrl'));
  await administrator.sql`select pg_terminate_backend(pid) from pg_stat_activity where datname = ${name}`;
  await work(administrator.sql, name);
  await administrator.close();
}

test("R10: a store restored from yesterday's copy plans, and a person can apply; automatically it revokes nothing", async () => {
  await prepare(['one', 'two', 'three', 'busy'], { policy: enforced() });
  await armMachine(fixture.context, 'ada');
  await pass();
  await pass();
  expect(await revokedNames()).toEqual(['one']);
  await withoutSessions(async (sql, name) => void (await sql.unsafe(`create database ${name}_copy template ${name}`)));
  await pass(day);
  expect(await revokedNames()).toEqual(['one', 'two', 'three']);
  await mint('four');
  await fixture.controls.advance(40 * day);
  await withoutSessions(async (sql, name) => {
    await sql.unsafe(`drop database ${name}`);
    await sql.unsafe(`alter database ${name}_copy rename to ${name}`);
  });
  await pass();
  const restored = await pass(day);
  expect(restored).toMatchObject({ automatic: null, why: expect.stringMatching(/is an older copy/) });
  expect(restored.plan.document.items.map(({ key }) => key.name)).toEqual(['four']);
  expect(await revokedNames()).toEqual(['one', 'two', 'three']);
  await apply(await makeStoredPlan());
  expect(await revokedNames()).toEqual(['one', 'two', 'three', 'four']);
});
