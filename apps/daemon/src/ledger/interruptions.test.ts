import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { formatCheckpoint, parseCheckpoint, signNote } from '@keywarden/core/ledger';
import { hasOpenIncident, integrateEvents, readNewestCheckpoint, saveOperationPage } from '@keywarden/db/daemon';
import { interrupt, machines, owner, useMachines } from '@keywarden/testkit/daemon/ledger-machines';
import { makeControlPlane, makeProject, makeWireOperation } from '@keywarden/testkit/store/rows';
import { expect, test } from 'vitest';
import type { LedgerContext } from '../context.ts';
import { beginAnew } from './begin-anew.ts';
import { checkLedger, whyLedgerDiffers } from './checks.ts';
import { growLedger } from './ledger.ts';
import { endorsedKeysOf } from './public-keys.ts';
import { readSeen } from './seen-checkpoint.ts';
import { addLedgerKey, endFormerKeys, readSigningKeys } from './signing-keys.ts';

// What happens between two steps of one machine, or on another machine meanwhile, is no tampering.

useMachines();

const grow = async (place: LedgerContext) => await growLedger(place, { createsKey: true });

/** Grows a ledger whose checkpoint cannot be stored, as when the connection is cut after the machine has remembered the tree. */
async function growWithoutStoring(place: LedgerContext): Promise<void> {
  await owner.sql
    .unsafe(
      `create function public.cut() returns trigger language plpgsql as $$ begin raise exception 'cut'; end $$;
      create trigger cut before insert on keywarden.ledger_checkpoint for each row execute function public.cut()`,
    )
    .simple();
  await expect(grow(place)).rejects.toMatchObject({ cause: { message: 'cut' } });
  await owner.sql.unsafe('drop trigger cut on keywarden.ledger_checkpoint; drop function public.cut()').simple();
}

test('a process without the key in the folder of a machine that signs is no fault while a checkpoint is not stored yet', async () => {
  const first = await machines.create();
  await grow(first);
  const LEDGER_KEY = readFileSync(join(first.folder, 'ledger-key'), 'utf8');
  const signing = await machines.create({ LEDGER_KEY });
  await growLedger(signing);
  await machines.addEvent();
  await growWithoutStoring(signing);
  const command = { ...signing, environment: { ...signing.environment, LEDGER_KEY: undefined } };
  expect(readSeen(signing.folder)?.size).toBeGreaterThan((await readNewestCheckpoint(owner.db))?.size ?? 0);
  expect(await growLedger(command)).toMatchObject({ state: 'no_key' });
  expect(await whyLedgerDiffers(signing)).toBeNull();
});

test('a machine that could not store the first checkpoint follows the one that could', async () => {
  const [one, other] = [await machines.create(), await machines.create()];
  await growWithoutStoring(one);
  expect(await grow(other)).toMatchObject({ state: 'grown' });
  expect(await grow(one)).toMatchObject({ state: 'no_key', size: readSeen(other.folder)?.size });
  for (const each of [one, other]) expect(await whyLedgerDiffers(each)).toBeNull();
});

test('a key that was rotated out is not accepted again by a machine that has only the new one', async () => {
  const first = await machines.create();
  await grow(first);
  const [former] = readSigningKeys(first.environment);
  if (former === undefined) throw new Error('no key');
  addLedgerKey(first.environment);
  await grow(first);
  endFormerKeys(first.environment, (await readNewestCheckpoint(owner.db))?.note ?? null);
  await machines.addEvent();
  await grow(first);
  const LEDGER_PUBLIC_KEY = readSigningKeys(first.environment)[0]?.verifier.text ?? '';
  const follower = await machines.create({ LEDGER_PUBLIC_KEY });
  expect(await growLedger(follower)).toMatchObject({ state: 'no_key' });
  await machines.addEvent('eve');
  await integrateEvents(owner.sql, {
    limit: 100,
    seen: null,
    open: (note) => parseCheckpoint(note.slice(0, note.indexOf('\n\n') + 1)),
    sign: (head) => signNote(formatCheckpoint({ origin: former.verifier.name, ...head }), [former], 0),
  });
  expect(await growLedger(follower)).toMatchObject({ state: 'inconsistent' });
});

test('only earlier keys endorse later ones', async () => {
  const first = await machines.create();
  await grow(first);
  addLedgerKey(first.environment);
  const endorsed = endorsedKeysOf(readSigningKeys(first.environment));
  expect(endorsed.map(({ endorsement }) => endorsement === null)).toEqual([true, false]);
});

test('a ledger that another machine continues while it begins anew ends with a sentence, and begins anew the next time', async () => {
  const first = await machines.create();
  await grow(first);
  const other = await machines.create({ LEDGER_KEY: readFileSync(join(first.folder, 'ledger-key'), 'utf8') });
  await growLedger(other);
  const third = await machines.create();
  const meanwhile = async () => {
    await machines.addEvent();
    await growLedger(other);
  };
  const asked = { reason: 'lost', by: 'ada' };
  for (const at of [2, 3]) {
    const begun = beginAnew(interrupt(third, at, meanwhile), asked);
    await expect(begun).rejects.toThrow(/^Another machine added to the former ledger meanwhile/);
  }
  await beginAnew(third, asked);
  expect(await grow(third)).toMatchObject({ state: 'grown' });
  expect(readSeen(third.folder)?.origin).toBe(readSigningKeys(third.environment)[0]?.verifier.name);
  expect(await checkLedger(third)).toEqual([]);
});

test('a project whose first walk ends while the comparison runs is sealed by it, and is no fault', async () => {
  const first = await machines.create();
  await grow(first);
  const { sql } = first.store;
  const project = await makeProject(sql, await makeControlPlane(sql));
  await owner.sql`
    update keywarden.project set created_at = '2026-05-01', walked_at = null, last_seen_at = '2026-05-12' where number = ${project}`;
  await sql`select keywarden.make_operation_partitions(array['2026-05-01']::date[])`;
  const proof = { from: '2026-05-01T00:00:00Z', isFromIncluded: true, below: '2026-05-12T00:00:00Z' };
  await saveOperationPage(sql, { project, operations: [makeWireOperation(100_000)], proof });
  const walk = async () =>
    await owner.sql`update keywarden.project set walked_at = '2026-05-12' where number = ${project}`;
  for (const at of [1, 2]) expect(await checkLedger(interrupt(first, at, walk))).toEqual([]);
  expect(await hasOpenIncident(owner.db, 'ledger_inconsistent')).toBe(false);
});

test('a failure of one comparison hides no fault of the others, and is no fault itself', async () => {
  const first = await machines.create();
  await machines.addEvent();
  await grow(first);
  await machines.behindTriggers(
    `update keywarden.ledger_event set leaf = 'x' where subject = 'pause/1' and type = 'pause.begun'`,
  );
  expect(await checkLedger(first)).toEqual([
    'rows cannot be compared with their events, because an event is no JSON',
    'the event of pause/1 is not what its entry says',
  ]);
});

test('functions of another version that has migrated the store are no fault', async () => {
  const first = await machines.create();
  await grow(first);
  await owner.sql
    .unsafe(
      `create or replace function keywarden.ledger_hash(value text) returns text language sql immutable as $$ select value $$;
      update keywarden.repeatable set sha256 = 'of a later version' where name = '71-ledger_hash.sql'`,
    )
    .simple();
  await expect(checkLedger(first)).rejects.toThrow(/run keywarden migrate/);
  expect(await hasOpenIncident(owner.db, 'ledger_inconsistent')).toBe(false);
});

test('a run that ended between the places and the checkpoint is continued with the same tree', async () => {
  const first = await machines.create();
  await grow(first);
  await machines.addEvent();
  await growWithoutStoring(first);
  const signed = readSeen(first.folder);
  expect(await checkLedger(first)).toEqual([]);
  expect(await whyLedgerDiffers(first)).toBeNull();
  expect((await readNewestCheckpoint(first.store.db))?.note).toBe(signed?.note);
  await machines.addEvent();
  expect(await grow(first)).toMatchObject({ state: 'grown', added: 2 });
  expect(await checkLedger(first)).toEqual([]);
});
