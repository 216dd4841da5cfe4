import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { dayMs } from '@keywarden/core/values';
import { noteLedgerKeys } from '@keywarden/db/daemon';
import { type Machine, machines, owner, useMachines } from '@keywarden/testkit/daemon/ledger-machines';
import { expect, test } from 'vitest';
import { beginAnew } from './begin-anew.ts';
import { checkLedger, whyLedgerDiffers } from './checks.ts';
import { growLedger } from './ledger.ts';
import { endorsedKeysOf } from './public-keys.ts';
import { readLatestRecorded, rememberLatest } from './seen-checkpoint.ts';
import { createLedgerKey, readSigningKeys } from './signing-keys.ts';

useMachines();

/** Adds two events as an owner can, with this JSON as their time of recording. */
async function addFalseEvents(recorded: string): Promise<void> {
  await machines.addEvent('eve');
  await machines.behindTriggers(
    `update keywarden.ledger_event set leaf = regexp_replace(leaf, '"recorded":"[^"]*"', '"recorded":' || $$${recorded}$$) where leaf_index is null`,
  );
}

/** Adds two events that were recorded so many days from now. */
async function addEventsAt(days: number): Promise<void> {
  await addFalseEvents(JSON.stringify(new Date(Date.now() + days * dayMs).toISOString().replace(/\.?0*Z$/, 'Z')));
  await machines.behindTriggers(
    `update keywarden.ledger_event set recorded_at = (leaf::jsonb ->> 'recorded')::timestamptz where leaf_index is null`,
  );
}

const grow = async (machine: Machine) => await growLedger(machine, { createsKey: true });

const readIncidents = async () =>
  (await owner.sql`select detail ->> 'why' as why, closed_at from keywarden.incident order by number`).map(
    ({ why, closed_at: at }) => ({ why: String(why), isOpen: at === null }),
  );

const closeIncidents = async () =>
  await owner.sql`update keywarden.incident set closed_at = now(), closed_by = 'ada' where closed_at is null`;

test.each([-1, 365])(
  'an event that an owner adds with a false time of recording, %d days from now, opens an incident as it is signed',
  async (days) => {
    const first = await machines.create();
    await machines.addEvent();
    await grow(first);
    await addEventsAt(days);
    expect(await grow(first)).toMatchObject({ state: 'grown' });
    // Row, event and tree agree with each other.
    expect(await checkLedger(first)).toEqual([]);
    const why = expect.stringMatching(
      /^events say that they were recorded .*: event \d+ at \d{4}-.*Z, event \d+ at .*Z$/,
    );
    expect(await readIncidents()).toEqual([{ why, isOpen: true }]);
    expect(await whyLedgerDiffers(first)).toMatch(/^an incident about the ledger is open/);
    await closeIncidents();
    await machines.addEvent();
    expect(await grow(first)).toMatchObject({ state: 'grown' });
    expect(await readIncidents()).toEqual([{ why, isOpen: false }]);
  },
);

test('a false time is reported while an incident is open, and after events that only seem to be in order', async () => {
  const first = await machines.create();
  await machines.addEvent();
  await grow(first);
  await addEventsAt(-1);
  await grow(first);
  await addEventsAt(-9);
  await grow(first);
  const [{ why } = { why: '' }] = await readIncidents();
  // The event of the incident itself waited too.
  expect(why.match(/event \d+ at/g)).toHaveLength(5);
  await closeIncidents();
  // Each is less than an hour before the one before it.
  for (let step = 1; step <= 4; step += 1) {
    await addEventsAt((-step * 55) / (24 * 60));
    await grow(first);
  }
  expect((await readIncidents()).at(-1)).toMatchObject({ isOpen: true });
});

test.each(['"\\u0000"', '"\\ud800"', '{"toString":1}', `"${'9'.repeat(1_000_000)}"`, '"2026-13-01T00:00:00Z"'])(
  'a time of recording that is none (%.20s) opens an incident, and the ledger grows',
  async (recorded) => {
    const first = await machines.create();
    await machines.addEvent();
    await grow(first);
    await addFalseEvents(recorded);
    expect(await grow(first)).toMatchObject({ state: 'grown', added: 2 });
    const [{ why } = { why: '' }] = await readIncidents();
    expect(why).toMatch(/^events say .*: event \d+ at no time, event \d+ at no time$/);
  },
);

/** Makes all events that wait older, as if they had been recorded then. */
const makeOlder = async (days: number) =>
  await machines.behindTriggers(`
    update keywarden.ledger_event set recorded_at = recorded_at - interval '${days} days' where leaf_index is null;
    update keywarden.ledger_event set leaf = regexp_replace(leaf, '"recorded":"[^"]*"', '"recorded":"' || keywarden.ledger_time(recorded_at) || '"') where leaf_index is null`);

test('a false time after the last event is found too: the machine had looked since', async () => {
  const first = await machines.create();
  createLedgerKey(first.environment);
  await noteLedgerKeys(first.store.db, endorsedKeysOf(readSigningKeys(first.environment)));
  await machines.addEvent();
  // All events, also that of the key, are older than the false one.
  await makeOlder(3);
  await grow(first);
  expect(await readIncidents()).toEqual([]);
  await addEventsAt(-2);
  await grow(first);
  expect(await readIncidents()).toMatchObject([{ isOpen: true }]);
});

test('a machine that knows no time yet takes that of the last events', async () => {
  const first = await machines.create();
  await machines.addEvent();
  await grow(first);
  const key = { LEDGER_KEY: readFileSync(join(first.folder, 'ledger-key'), 'utf8') };
  expect(await grow(await machines.create(key))).toMatchObject({ state: 'grown' });
  await addEventsAt(-1);
  await grow(await machines.create(key));
  expect(await readIncidents()).toMatchObject([{ isOpen: true }]);
});

test('a machine that remembers a time of the future reports no true event, and remembers the present again', async () => {
  const first = await machines.create();
  await machines.addEvent();
  await grow(first);
  writeFileSync(join(first.folder, 'ledger-recorded'), new Date(Date.now() + dayMs).toISOString());
  await machines.addEvent();
  expect(await grow(first)).toMatchObject({ state: 'grown' });
  expect(await readIncidents()).toEqual([]);
  expect(readLatestRecorded(first.folder)).toBeLessThan(Date.now() + dayMs / 2);
});

test('a machine that remembers a time of the future reports a false event', async () => {
  const first = await machines.create();
  await machines.addEvent();
  await grow(first);
  writeFileSync(join(first.folder, 'ledger-recorded'), new Date(Date.now() + dayMs).toISOString());
  await addEventsAt(-1);
  await grow(first);
  expect(await readIncidents()).toMatchObject([{ isOpen: true }]);
});

test('a machine writes the time down again when it differs by five minutes, in either direction', async () => {
  const { folder } = await machines.create();
  const minutes: [number, number][] = [
    [10, 10],
    [14, 10],
    [15, 15],
    [11, 15],
    [10, 10],
  ];
  for (const [at, remembered] of minutes) {
    rememberLatest(folder, at * 60_000);
    rememberLatest(folder, null);
    expect(readLatestRecorded(folder)).toBe(remembered * 60_000);
  }
});

test('a time of recording that is not that of its entry is found', async () => {
  const first = await machines.create();
  await machines.addEvent();
  await grow(first);
  await machines.behindTriggers(
    `update keywarden.ledger_event set recorded_at = recorded_at - interval '1 day' where subject = 'pause/1'`,
  );
  expect(await checkLedger(first)).toEqual(['the event of pause/1 is not what its entry says']);
});

test('an open incident without a reason gets that of a false time', async () => {
  const first = await machines.create();
  await machines.addEvent();
  await grow(first);
  await owner.sql`insert into keywarden.incident (kind, detail) values ('ledger_inconsistent', '{}')`;
  await grow(first);
  await addEventsAt(-1);
  await grow(first);
  expect(await readIncidents()).toEqual([{ why: expect.stringMatching(/^events say /), isOpen: true }]);
});

test('a difference that is found while the incident is open is added to it: a person who closes it sees both', async () => {
  const first = await machines.create();
  await machines.addEvent();
  await machines.behindTriggers(`update keywarden.pause set paused_at = paused_at - interval '1 day'`);
  await checkLedger(first);
  await machines.addEvent();
  await machines.behindTriggers(`delete from keywarden.pause where number = 2`);
  for (let times = 0; times < 2; times += 1) await checkLedger(first);
  const [incident] =
    await owner.sql`select detail ->> 'why' as why from keywarden.incident where kind = 'ledger_inconsistent'`;
  expect(incident?.why).toBe(
    'rows differ from their events: pause/1 was altered, pause/2 was removed; rows differ from their events: pause/1 was altered',
  );
});

test('a ledger that begins anew has all events, of any age, without an alarm', async () => {
  const first = await machines.create();
  await machines.addEvent();
  await makeOlder(30);
  await grow(first);
  await machines.addEvent();
  await grow(first);
  await beginAnew(first, { reason: 'a test', by: 'ada' });
  expect(await readIncidents()).toEqual([]);
});
