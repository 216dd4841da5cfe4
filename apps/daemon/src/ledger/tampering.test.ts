import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import {
  createSigningKey,
  formatCheckpoint,
  parseCheckpoint,
  parseSigningKey,
  signatureLines,
  signNote,
} from '@keywarden/core/ledger';
import { hasOpenIncident, integrateEvents, readNewestCheckpoint } from '@keywarden/db/daemon';
import { machines, owner, useMachines } from '@keywarden/testkit/daemon/ledger-machines';
import type { TestStore } from '@keywarden/testkit/store/test-store';
import { expect, test } from 'vitest';
import type { LedgerContext } from '../context.ts';
import { checkLedger, whyLedgerDiffers } from './checks.ts';
import { growLedger } from './ledger.ts';
import { readSeen } from './seen-checkpoint.ts';

useMachines();

const grow = async (place: LedgerContext) => await growLedger(place, { createsKey: true });

test('a ledger of many tiles is compared, and a fault in any of them is found', async () => {
  const first = await machines.create();
  await owner.sql`insert into keywarden.pause (paused_by, resumed_at) select 'ada', now() from generate_series(1, 6000)`;
  const grown = await grow(first);
  expect(readSeen(first.folder)?.size).toBeGreaterThan(12_000);
  expect(grown).toMatchObject({ added: readSeen(first.folder)?.size });
  await machines.addEvent();
  expect(await checkLedger(first)).toEqual([]);
  await machines.behindTriggers(
    `update keywarden.ledger_tile set hashes = set_byte(hashes, 2, (get_byte(hashes, 2) + 1) % 256) where level = 0 and index = 40`,
  );
  expect(await checkLedger(first)).toEqual(['tile/0/040 is not the tile of its events']);
});

test('the report’s role cannot stop the sequencer', async () => {
  const first = await machines.create();
  const report = await owner.as('keywarden_report');
  await report.sql.begin(async (tx) => {
    await tx`lock table keywarden.ledger_tile, keywarden.ledger_event, keywarden.ledger_checkpoint in access share mode`;
    await tx`select pg_advisory_xact_lock(hashtext('keywarden.ledger'))`;
    await expect(
      tx.savepoint(async (inner) => await inner`lock table keywarden.ledger_tile in row share mode`),
    ).rejects.toMatchObject({ code: '42501' });
    expect(await grow(first)).toMatchObject({ state: 'grown' });
  });
});

const tampered: [string, string, (sql: TestStore['sql']) => Promise<unknown>][] = [
  [
    'an older store',
    'fewer events',
    async () =>
      await machines.behindTriggers(
        `delete from keywarden.ledger_checkpoint where size > (select min(size) from keywarden.ledger_checkpoint);
        update keywarden.ledger_event set leaf_index = null where leaf_index >= (select max(size) from keywarden.ledger_checkpoint)`,
      ),
  ],
  [
    'a changed tile',
    'hashes',
    async (sql) =>
      await sql`update keywarden.ledger_tile set hashes = set_byte(hashes, 2, (get_byte(hashes, 2) + 1) % 256) where level = 0`,
  ],
  [
    'a store without its last event',
    'lacks the last event',
    async () =>
      await machines.behindTriggers(
        `delete from keywarden.ledger_event where leaf_index = (select max(leaf_index) from keywarden.ledger_event)`,
      ),
  ],
  [
    'a checkpoint of another key',
    'not signed',
    async (sql) => await sql`update keywarden.ledger_checkpoint set note = replace(note, '— keywarden', '— another')`,
  ],
];
test.each(tampered)(
  '%s: found by the sequencer before it signs, and nothing is enforced',
  async (_what, why, change) => {
    const [first, second] = [await machines.create(), await machines.create()];
    await grow(first);
    await machines.addEvent();
    await grow(first);
    await grow(second);
    await change(owner.sql);
    expect(await grow(first)).toMatchObject({ state: 'inconsistent', why: expect.stringContaining(why) });
    // What one machine finds stops all of them.
    expect(await whyLedgerDiffers(second)).toMatch(/^an incident about the ledger is open/);
    expect(await hasOpenIncident(first.store.db, 'ledger_inconsistent')).toBe(true);
  },
);

test('a rebuilt ledger with another history is refused, and enforcement stops', async () => {
  const [first, second] = [await machines.create(), await machines.create()];
  await machines.addEvent();
  for (const machine of [first, second]) await grow(machine);
  owner.isTampered();
  // An owner who even had the key rebuilds the whole tree without the first event.
  await owner.sql
    .unsafe(`
    set session_replication_role = replica;
    delete from keywarden.ledger_salt where event_number = 1;
    delete from keywarden.ledger_event where number = 1;
    update keywarden.ledger_event set leaf_index = null;
    truncate keywarden.ledger_tile, keywarden.ledger_checkpoint, keywarden.ledger_cosignature;
    set session_replication_role = default`)
    .simple();
  const accomplice = await machines.create({ LEDGER_KEY: readFileSync(join(first.folder, 'ledger-key'), 'utf8') });
  await machines.addEvent();
  expect(await growLedger(accomplice)).toMatchObject({ state: 'grown' });
  expect(await grow(second)).toMatchObject({ state: 'inconsistent', why: expect.stringContaining('other events') });
  expect(await whyLedgerDiffers(first)).toMatch(/^an incident about the ledger is open/);
  expect(await grow(first)).toMatchObject({
    state: 'inconsistent',
    why: expect.stringContaining('other events'),
  });
});

test.each([
  [
    'a row deleted with its events',
    `delete from keywarden.ledger_salt where event_number in (select number from keywarden.ledger_event where subject = 'pause/1'); delete from keywarden.ledger_event where subject = 'pause/1'; delete from keywarden.pause where number = 1`,
    /^the event at place \d+ of the tree is missing$/,
  ],
  [
    'a row and its event rewritten',
    `update keywarden.pause set paused_at = '2020-01-01' where number = 1;
     update keywarden.ledger_event e set content = (keywarden.describe_pause_begun(p, s.salt))[4],
       leaf = regexp_replace(replace(leaf, encode(sha256(convert_to(content, 'UTF8')), 'hex'), encode(sha256(convert_to((keywarden.describe_pause_begun(p, s.salt))[4], 'UTF8')), 'hex')),
         '"at":"[^"]*"', '"at":"2020-01-01T00:00:00Z"')
     from keywarden.pause p, keywarden.ledger_salt s where e.subject = 'pause/1' and e.type = 'pause.begun' and p.number = 1 and s.event_number = e.number`,
    /^tile\/0\/\d+ is not the tile of its events$/,
  ],
  [
    'a tile within the tree',
    `update keywarden.ledger_tile set hashes = set_byte(hashes, 2, (get_byte(hashes, 2) + 1) % 256) where level = 0 and index = 0`,
    /^tile\/0\/000 is not the tile of its events$/,
  ],
  [
    'two events in another order',
    `update keywarden.ledger_event set leaf_index = -1 where leaf_index = 20; update keywarden.ledger_event set leaf_index = 20 where leaf_index = 21;
     update keywarden.ledger_event set leaf_index = 21 where leaf_index = -1`,
    /^tile\/0\/000 is not the tile of its events$/,
  ],
  [
    'an event outside the tree',
    `update keywarden.ledger_event set leaf_index = 9000000000000 + number where leaf_index is null`,
    /^the event of pause\/\d+ has a place outside the tree$/,
  ],
  [
    'a row deleted, with its events under another name',
    `delete from keywarden.pause where number = 1; update keywarden.ledger_event set type = 'pause.forgotten' where subject = 'pause/1'`,
    /^the event of pause\/1 is not what its entry says$/,
  ],
  [
    'a waiting event under another name',
    `delete from keywarden.pause where number = 151; update keywarden.ledger_event set type = 'pause.forgotten' where subject = 'pause/151'`,
    /^the event of pause\/151 is not what its entry says$/,
  ],
  [
    'the time of a waiting event',
    `update keywarden.ledger_event set leaf = regexp_replace(leaf, '"at":"[^"]*"', '"at":"2019-01-01T00:00:00Z"') where subject = 'pause/151' and type = 'pause.begun'`,
    /^rows differ from their events: pause\/151 was altered$/,
  ],
  [
    'the actor of a waiting event',
    `update keywarden.ledger_event set leaf = regexp_replace(leaf, '"actor":"[^"]*"', '"actor":null') where subject = 'pause/151' and type = 'pause.begun'`,
    /^rows differ from their events: pause\/151 was altered$/,
  ],
  [
    'a member twice in a waiting event',
    `update keywarden.ledger_event set leaf = replace(leaf, '"recorded":', '"recorded":"2018-01-01T00:00:00Z","recorded":') where subject = 'pause/151'`,
    /^the event of pause\/151 is not what its entry says$/,
  ],
  [
    'the function that compares',
    `update keywarden.pause set paused_at = '2020-01-01' where number = 1;
     create or replace function keywarden.ledger_row_faults() returns table (type text, subject text, fault text) language sql as $$ select '', '', '' where false $$`,
    /^functions, triggers or views are not those of this version: ledger_row_faults\(\)$/,
  ],
  [
    'the content of an event',
    `update keywarden.ledger_event set content = content || ' ' where subject = 'pause/1' and type = 'pause.begun'`,
    /^rows differ from their events: pause\/1 was altered$/,
  ],
])(
  '%s: found by keywarden ledger --check and the daily comparison, and enforcement stops',
  async (_what, statement, fault) => {
    const first = await machines.create();
    for (let count = 0; count < 150; count += 1) await machines.addEvent();
    await grow(first);
    await machines.addEvent();
    await machines.behindTriggers(statement);
    const [found] = await checkLedger(first);
    expect(found).toMatch(fault);
    expect(await hasOpenIncident(first.store.db, 'ledger_inconsistent')).toBe(true);
    expect(await whyLedgerDiffers(first)).toMatch(/^an incident about the ledger is open/);
  },
);

test('a row that was changed behind the triggers opens an incident that names it', async () => {
  const first = await machines.create();
  await machines.addEvent();
  expect(await checkLedger(first)).toEqual([]);
  owner.isTampered();
  await owner.sql`update keywarden.pause set paused_at = paused_at - interval '1 day'`;
  expect(await checkLedger(first)).toEqual(['rows differ from their events: pause/1 was altered']);
  const [incident] =
    await owner.sql`select detail ->> 'why' as why from keywarden.incident where kind = 'ledger_inconsistent'`;
  expect(incident?.why).toBe('rows differ from their events: pause/1 was altered');
});

test('a key whose signature an owner adds to an honest checkpoint is not accepted by a machine without the key', async () => {
  const [first, second] = [await machines.create(), await machines.create()];
  await grow(first);
  await machines.addEvent();
  await grow(first);
  await growLedger(second);
  const publicKeys = join(second.folder, 'ledger-public-keys');
  const before = readFileSync(publicKeys, 'utf8');
  const { origin = '' } = readSeen(first.folder) ?? {};
  const forger = parseSigningKey(createSigningKey(origin, 'log'));
  const newest = await readNewestCheckpoint(first.store.db);
  if (forger === null || newest === null) throw new Error('no ledger');
  const text = newest.note.slice(0, newest.note.indexOf('\n\n') + 1);
  const added = newest.note + signatureLines(text, [forger], 0);
  await owner.sql`update keywarden.ledger_checkpoint set note = ${added} where size = ${newest.size}`;
  // Neither a row nor an endorsement by the new key itself says that it is one of the ledger.
  const endorsement = signNote(`${origin}\nanother key of this ledger\n${forger.verifier.text}\n`, [forger], 0);
  await owner.sql`insert into keywarden.ledger_key (public_key, endorsement) values (${forger.verifier.text}, ${endorsement})`;
  expect(await growLedger(second)).toMatchObject({ state: 'no_key' });
  expect(readFileSync(publicKeys, 'utf8')).toBe(before);
  await machines.addEvent('eve');
  await integrateEvents(owner.sql, {
    limit: 100,
    seen: null,
    open: (note) => parseCheckpoint(note.slice(0, note.indexOf('\n\n') + 1)),
    sign: (head) => signNote(formatCheckpoint({ origin, ...head }), [forger], 0),
  });
  expect(await growLedger(second)).toMatchObject({ state: 'inconsistent', why: expect.stringContaining('not signed') });
  expect(readFileSync(publicKeys, 'utf8')).toBe(before);
});

test('a trigger that withholds checkpoints is found, and events without one count as waiting', async () => {
  const first = await machines.create();
  await grow(first);
  await machines.addEvent();
  await owner.sql
    .unsafe(
      `create function public.withhold() returns trigger language plpgsql as $$ begin return null; end $$;
      create trigger withhold before insert on keywarden.ledger_checkpoint for each row execute function public.withhold()`,
    )
    .simple();
  expect(await grow(first)).toMatchObject({ state: 'grown' });
  expect(await whyLedgerDiffers(first)).toBeNull();
  await machines.behindTriggers(`update keywarden.ledger_event set recorded_at = now() - interval '2 hours'`);
  expect(await whyLedgerDiffers(first)).toMatch(/^2 events have waited for a signed checkpoint since/);
  expect((await checkLedger(first))[0]).toBe(
    'functions, triggers or views are not those of this version: withhold on ledger_checkpoint',
  );
});

test('a machine signs one tree of a size, although an owner keeps its signature and takes the events back', async () => {
  const first = await machines.create();
  await machines.addEvent();
  await grow(first);
  await machines.addEvent();
  await owner.sql
    .unsafe(
      `create function public.keep() returns trigger language plpgsql as $$ begin raise exception 'KEPT%', new.note; end $$;
      create trigger keep before insert on keywarden.ledger_checkpoint for each row execute function public.keep()`,
    )
    .simple();
  const kept = await grow(first).then(
    () => '',
    (error: Error) => String(error.cause).replace(/^[^]*?KEPT/, ''),
  );
  expect(parseCheckpoint(kept.slice(0, kept.indexOf('\n\n') + 1))?.size).toBe(readSeen(first.folder)?.size);
  await machines.behindTriggers(`
    drop trigger keep on keywarden.ledger_checkpoint;
    delete from keywarden.ledger_salt where event_number in (select number from keywarden.ledger_event where subject = 'pause/2');
    delete from keywarden.ledger_event where subject = 'pause/2';
    delete from keywarden.pause where number = 2`);
  await machines.addEvent('eve');
  const places =
    'update keywarden.ledger_event set leaf_index = null where leaf_index >= (select max(size) from keywarden.ledger_checkpoint)';
  for (const takesBack of [places, 'select']) {
    await machines.behindTriggers(takesBack);
    expect(await grow(first)).toMatchObject({ state: 'inconsistent' });
  }
  const sizes = await owner.sql`select size::int from keywarden.ledger_checkpoint order by size desc limit 1`;
  expect(Number(sizes[0]?.size)).toBeLessThan(Number(readSeen(first.folder)?.size));
});
