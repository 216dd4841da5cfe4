import { existsSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { createSigningKey } from '@keywarden/core/ledger';
import { interrupt, interruptStep, machines, owner, useMachines } from '@keywarden/testkit/daemon/ledger-machines';
import { expect, test } from 'vitest';
import type { LedgerContext } from '../context.ts';
import { beginAnew } from './begin-anew.ts';
import { checkLedger, whyLedgerDiffers } from './checks.ts';
import { growLedger } from './ledger.ts';
import { readSeen } from './seen-checkpoint.ts';
import { readSigningKeys } from './signing-keys.ts';

useMachines();

const grow = async (place: LedgerContext) => await growLedger(place, { createsKey: true });

/** Restores the store as it is now, when the returned function is called. */
async function takeBackup(): Promise<() => Promise<void>> {
  const [{ last } = {}] = await owner.sql`select max(number) as last from keywarden.ledger_event`;
  await owner.sql`create table public.tiles as select * from keywarden.ledger_tile`;
  await owner.sql`create table public.checkpoints as select * from keywarden.ledger_checkpoint`;
  return async () => {
    await machines.behindTriggers(`
      delete from keywarden.ledger_salt where event_number > ${String(last)};
      delete from keywarden.pause p using keywarden.ledger_event e where e.number > ${String(last)} and e.subject = 'pause/' || p.number;
      delete from keywarden.ledger_key k using keywarden.ledger_event e where e.number > ${String(last)} and e.subject = 'ledger_key/' || k.number;
      delete from keywarden.incident n using keywarden.ledger_event e where e.number > ${String(last)} and e.subject = 'incident/' || n.number;
      delete from keywarden.ledger_event where number > ${String(last)};
      truncate keywarden.ledger_tile, keywarden.ledger_checkpoint, keywarden.ledger_cosignature;
      insert into keywarden.ledger_tile select * from public.tiles;
      insert into keywarden.ledger_checkpoint select * from public.checkpoints`);
  };
}

/** A machine that is killed when its new ledger is signed, before the keys of the former one end. */
function killAtEnd(machine: LedgerContext): LedgerContext {
  const db = new Proxy(machine.store.db, {
    get: (target, name) => {
      if (name === 'update') throw new Error('killed');
      return Reflect.get(target, name);
    },
  });
  return { ...machine, store: { ...machine.store, db } };
}

test('a restored store cannot continue its ledger, and a person begins a new one that names the former', async () => {
  const [first, second] = [await machines.create(), await machines.create()];
  await machines.addEvent();
  await grow(first);
  const restore = await takeBackup();
  for (let count = 0; count < 3; count += 1) await machines.addEvent();
  await grow(first);
  await growLedger(second);
  const before = readSeen(first.folder);
  const [oldKey] = readSigningKeys(first.environment);
  await restore();
  expect(await grow(first)).toMatchObject({ state: 'inconsistent', why: expect.stringContaining('fewer events') });

  const asked = { reason: 'restored', by: 'ada' };
  const interrupted = {
    ...first,
    now: () => {
      throw new Error('killed');
    },
  };
  await expect(beginAnew(interrupted, asked)).rejects.toThrow('killed');
  const [newKey] = readSigningKeys(first.environment);
  await beginAnew(first, asked);
  expect(readSigningKeys(first.environment).map(({ verifier }) => verifier.text)).toEqual([newKey?.verifier.text]);
  expect(newKey?.verifier.name).not.toBe(oldKey?.verifier.name);
  const suffix = `of-${String(before?.origin.replace('/', '_'))}`;
  expect(readFileSync(join(first.folder, `ledger-checkpoint.${suffix}`), 'utf8')).toBe(before?.note);
  expect(existsSync(join(first.folder, `ledger-key.${suffix}`))).toBe(true);
  expect(readSeen(first.folder)?.origin).toBe(newKey?.verifier.name);
  const events = await owner.sql`
    select content::jsonb as content from keywarden.ledger_event where type = 'ledger.begun_anew' and leaf_index is not null`;
  expect(events[0]?.content).toMatchObject({ seen_checkpoint: before?.note, former_checkpoint: expect.any(String) });
  expect(await checkLedger(first)).toEqual([]);
  expect(await grow(first)).toMatchObject({ state: 'grown' });

  // The incident stays until a person closes it, and another machine must be told.
  expect(await whyLedgerDiffers(first)).toMatch(/^an incident about the ledger is open/);
  const close = async () =>
    await owner.sql`update keywarden.incident set closed_at = now(), closed_by = 'ada', note = 'restored' where closed_at is null`;
  await close();
  expect(await whyLedgerDiffers(first)).toBeNull();
  expect(await growLedger(second)).toMatchObject({ state: 'inconsistent' });
  await close();
  rmSync(join(second.folder, 'ledger-checkpoint'));
  writeFileSync(join(second.folder, 'ledger-public-keys'), `${String(newKey?.verifier.text)}\n`);
  expect(await growLedger(second)).toMatchObject({ state: 'no_key', size: readSeen(first.folder)?.size });
  expect(await whyLedgerDiffers(second)).toBeNull();
});

test('a ledger without its key begins anew, a changed one does not, and without one there is nothing to begin anew', async () => {
  const first = await machines.create();
  const asked = { reason: 'lost', by: 'ada' };
  await expect(beginAnew(first, asked)).rejects.toThrow(/^There is no ledger that could begin anew/);
  await machines.addEvent();
  await grow(first);
  const other = await machines.create();
  const LEDGER_KEY = readFileSync(join(first.folder, 'ledger-key'), 'utf8');
  await expect(beginAnew(await machines.create({ LEDGER_KEY }), asked)).rejects.toThrow(
    /^LEDGER_KEY has the key of the former ledger/,
  );
  await beginAnew(other, asked);
  expect(await grow(other)).toMatchObject({ state: 'grown' });
  expect(await checkLedger(other)).toEqual([]);
  await owner.sql`update keywarden.ledger_tile set hashes = set_byte(hashes, 2, (get_byte(hashes, 2) + 1) % 256) where level = 0`;
  await expect(beginAnew(other, asked)).rejects.toThrow(/^The hashes in this store are not those/);
});

test('a store that is restored twice begins two ledgers, and the files of each former one stay', async () => {
  const first = await machines.create();
  const asked = { reason: 'restored', by: 'ada' };
  await machines.addEvent();
  await grow(first);
  const restore = await takeBackup();
  const formers: { key: string; note: string }[] = [];
  for (let count = 0; count < 2; count += 1) {
    formers.push({
      key: readFileSync(join(first.folder, 'ledger-key'), 'utf8'),
      note: readSeen(first.folder)?.note ?? '',
    });
    await machines.addEvent();
    await beginAnew(first, asked);
    await restore();
  }
  const kept = readdirSync(first.folder).filter((name) => name.includes('.of-'));
  const textsOf = (name: string) =>
    kept.filter((each) => each.startsWith(name)).map((each) => readFileSync(join(first.folder, each), 'utf8'));
  expect(textsOf('ledger-key').toSorted()).toEqual(formers.map(({ key }) => key).toSorted());
  expect(textsOf('ledger-checkpoint').toSorted()).toEqual(formers.map(({ note }) => note).toSorted());
});

test('a pass that waits while another process of the machine begins the ledger anew finds no fault', async () => {
  const first = await machines.create();
  const asked = { reason: 'a test', by: 'ada' };
  await grow(first);
  let steps = 0;
  for (let hasBegun = true; hasBegun; steps += 1) {
    hasBegun = false;
    await machines.addEvent();
    const anew = async () => {
      await beginAnew(first, asked);
      hasBegun = true;
    };
    const grown = await grow(interruptStep(first, steps + 1, anew));
    expect(grown, `at step ${steps + 1}`).toMatchObject({ state: expect.stringMatching(/grown|no_key/) });
    expect(await whyLedgerDiffers(first), `at step ${steps + 1}`).toBeNull();
  }
  expect(steps).toBeGreaterThan(5);
  expect(await checkLedger(first)).toEqual([]);
});

test.each([1, 2])(
  'a pass that waits before its transaction %i while a restored store begins a new ledger finds no fault',
  async (at) => {
    const first = await machines.create();
    await grow(first);
    const restore = await takeBackup();
    await machines.addEvent();
    await grow(first);
    await restore();
    const anew = async () => await beginAnew(first, { reason: 'restored', by: 'ada' });
    expect(await grow(interrupt(first, at, anew))).toMatchObject({ state: 'grown' });
    expect(await whyLedgerDiffers(first)).toBeNull();
  },
);

test('a beginning that is killed at any step is finished by the next run, which begins no other ledger', async () => {
  const first = await machines.create();
  await grow(first);
  const asked = { reason: 'a test', by: 'ada' };
  const nameOfKey = () => readSigningKeys(first.environment)[0]?.verifier.name;
  let steps = 0;
  for (let wasKilled = true; wasKilled; steps += 1) {
    wasKilled = false;
    await machines.addEvent();
    const former = nameOfKey();
    const kill = async () => {
      wasKilled = true;
      throw new Error('killed');
    };
    const failure = await beginAnew(interruptStep(first, steps + 1, kill), asked).catch((error: unknown) => error);
    expect(failure !== undefined).toBe(wasKilled);
    const begun = nameOfKey();
    // The daemon of this machine continues meanwhile.
    if (steps % 2 === 0) await grow(first);
    if (wasKilled) await beginAnew(first, asked);
    expect(nameOfKey() === begun || begun === former, `at step ${steps + 1}`).toBe(true);
    expect(await whyLedgerDiffers(first), `at step ${steps + 1}`).toBeNull();
    const [events] = await owner.sql`
      select count(*)::int as begun, count(*) filter (where content::jsonb ->> 'seen_checkpoint' is not null)::int as seen
      from keywarden.ledger_event where type = 'ledger.begun_anew'`;
    expect(events, `at step ${steps + 1}`).toEqual({ begun: steps + 1, seen: steps + 1 });
  }
  expect(steps).toBeGreaterThan(10);
  const [open] = await owner.sql`select count(*)::int as keys from keywarden.ledger_key where ended_at is null`;
  expect(open?.keys).toBe(1);
  expect(await checkLedger(first)).toEqual([]);
});

test('a beginning that was killed is not finished in a store that is restored again: its key signs no second history', async () => {
  const first = await machines.create();
  await grow(first);
  const restore = await takeBackup();
  const asked = { reason: 'restored', by: 'ada' };
  await expect(beginAnew(killAtEnd(first), asked)).rejects.toThrow('killed');
  const begun = readSeen(first.folder);
  await restore();
  await beginAnew(first, asked);
  expect(begun?.origin).not.toBe(readSeen(first.folder)?.origin);
  expect(readSigningKeys(first.environment)[0]?.verifier.name).toBe(readSeen(first.folder)?.origin);
});

test('a store that is restored to before its first checkpoint begins a new ledger, also after a run that was killed', async () => {
  const first = await machines.create();
  await machines.addEvent();
  await grow(first);
  const before = readSeen(first.folder);
  await machines.behindTriggers(`
    truncate keywarden.ledger_tile, keywarden.ledger_checkpoint, keywarden.ledger_cosignature;
    update keywarden.ledger_event set leaf_index = null`);
  const now = () => {
    throw new Error('killed');
  };
  const asked = { reason: 'restored', by: 'ada' };
  await expect(beginAnew({ ...first, now }, asked)).rejects.toThrow('killed');
  await beginAnew(first, asked);
  const events = await owner.sql`
    select content::jsonb ->> 'seen_checkpoint' as seen from keywarden.ledger_event where type = 'ledger.begun_anew'`;
  expect(events.map(({ seen }) => seen)).toEqual([before?.note]);
  expect(await checkLedger(first)).toEqual([]);
});

test('a beginning with a given key is finished after it was killed, and that key begins no ledger on a restored store', async () => {
  await grow(await machines.create());
  const restore = await takeBackup();
  const given = await machines.create({ LEDGER_KEY: createSigningKey('keywarden/given', 'log') });
  const asked = { reason: 'restored', by: 'ada' };
  await expect(beginAnew(killAtEnd(given), asked)).rejects.toThrow('killed');
  await beginAnew(given, asked);
  expect(await checkLedger(given)).toEqual([]);
  // The checkpoint of its own ledger is not that of a former one.
  expect(readdirSync(given.folder).filter((name) => name.includes('.of-'))).toEqual([]);
  await restore();
  await expect(beginAnew(given, asked)).rejects.toThrow(/^LEDGER_KEY has the key of the former ledger/);
});

test('a key that began a ledger begins no other one on a restored store, also if the machine lost its checkpoint', async () => {
  const first = await machines.create();
  await grow(first);
  const restore = await takeBackup();
  const asked = { reason: 'restored', by: 'ada' };
  await beginAnew(first, asked);
  const before = readSeen(first.folder);
  await restore();
  rmSync(join(first.folder, 'ledger-checkpoint'));
  await beginAnew(first, asked);
  expect(readSeen(first.folder)?.origin).not.toBe(before?.origin);
});

test('a process without the key in the folder of a machine that began a ledger anew accepts the new key', async () => {
  const first = await machines.create();
  await grow(first);
  const withoutKey = await machines.create();
  const command = { ...withoutKey, environment: { ...withoutKey.environment, KEYWARDEN_DATA: first.folder } };
  const key = join(first.folder, 'ledger-key');
  const elsewhere = join(withoutKey.folder, 'key');
  const follow = async () => {
    renameSync(key, elsewhere);
    expect(await growLedger(command)).toMatchObject({ state: 'no_key' });
    renameSync(elsewhere, key);
  };
  await follow();
  await beginAnew(first, { reason: 'a test', by: 'ada' });
  await follow();
  expect(await whyLedgerDiffers(first)).toBeNull();
});

test('a new machine that another one preceded does not discard the key with which it begins the ledger anew', async () => {
  const other = await machines.create();
  await grow(other);
  const checkpoints = await owner.sql`select size, note from keywarden.ledger_checkpoint`;
  for (let at = 5; at <= 12; at += 1) {
    // The other machine signs first, while this one waits.
    await machines.behindTriggers('truncate keywarden.ledger_checkpoint, keywarden.ledger_cosignature');
    const late = await machines.create();
    const signsFirst = async () =>
      await owner.sql`insert into keywarden.ledger_checkpoint ${owner.sql(checkpoints, 'size', 'note')} on conflict do nothing`;
    const preceded = interruptStep(late, 4, signsFirst);
    const anew = async () => {
      await signsFirst();
      await beginAnew(late, { reason: 'a test', by: 'ada' });
    };
    await grow(interruptStep(preceded, at, anew));
    expect(existsSync(join(late.folder, 'ledger-key')), `at step ${at}`).toBe(true);
  }
});
