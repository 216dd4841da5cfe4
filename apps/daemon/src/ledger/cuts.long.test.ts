import { hashLeaf, parseCheckpoint, rootOfLeaves, splitNote } from '@keywarden/core/ledger';
import { makeOperationPartitions, readNewestCheckpoint, saveOperationPage, sealDays } from '@keywarden/db/daemon';
import { openStore } from '@keywarden/db/store';
import { type Machine, machines, owner, useMachines } from '@keywarden/testkit/daemon/ledger-machines';
import { type CutLine, openCutLine } from '@keywarden/testkit/store/cut-line';
import { makeControlPlane, makeProject, makeWireOperation } from '@keywarden/testkit/store/rows';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { beginAnew } from './begin-anew.ts';
import { checkLedger, whyLedgerDiffers } from './checks.ts';
import { growLedger } from './ledger.ts';
import { readSeen } from './seen-checkpoint.ts';
import { readSigningKeys } from './signing-keys.ts';

// A machine that loses its connection to the store at each message of its work.

useMachines();

let machine: Machine;
let line: CutLine;
beforeEach(async () => {
  line = await openCutLine(owner.url);
  const options = { databaseUrl: line.url, dataFolder: '', applicationName: 'a machine whose line is cut' };
  machine = {
    ...(await machines.create()),
    store: await openStore({ ...options, role: 'keywarden_daemon', maxConnections: 2 }),
  };
});
afterEach(async () => {
  await machine.store.close();
  await line.close();
});

const grow = async () => await growLedger(machine, { createsKey: true });

interface Head {
  size: number;
  root: Uint8Array;
}

/** Returns the heads of the checkpoints in the store. */
async function listHeads(): Promise<Head[]> {
  const notes = await owner.sql`select note from keywarden.ledger_checkpoint`;
  return notes.flatMap(({ note }) => parseCheckpoint(splitNote(String(note))?.text ?? '') ?? []);
}

/** Expects that each of these trees is one of the first events of the ledger, and that these have their places. */
async function expectTrees(heads: Head[]): Promise<void> {
  const rows = await owner.sql`
    select leaf, leaf_index from keywarden.ledger_event where leaf_index is not null order by leaf_index`;
  expect(rows.map(({ leaf_index: index }) => Number(index))).toEqual(rows.map((_row, index) => index));
  const leaves = rows.map(({ leaf }) => hashLeaf(String(leaf)));
  for (const { size, root } of heads)
    expect(Buffer.from(root).equals(rootOfLeaves(leaves.slice(0, size))), `the tree of ${size}`).toBe(true);
}

/** Does some work after an event, with a cut at each message. `heal` runs on a whole line after each time. Returns the number of cuts. */
async function cutEach(work: () => Promise<unknown>, heal: (at: string) => Promise<void>): Promise<number> {
  return await line.cutEach(async (at) => {
    await machines.addEvent();
    const failure = await work().then(
      () => null,
      (error: unknown) => error,
    );
    line.repair();
    await heal(at);
    expect(line.hasCut() || failure === null, `without a cut: ${String(failure)}`).toBe(true);
  });
}

test('a sequencer whose line is cut at any message: the next run continues its tree, and signs no other one', async () => {
  const heads: Head[] = [];
  const cuts = await cutEach(grow, async (at) => {
    const seen = readSeen(machine.folder);
    if (seen !== null) heads.push(seen);
    expect(await grow(), `after ${at}`).toMatchObject({ state: 'grown' });
    expect((await readNewestCheckpoint(owner.db))?.note).toBe(readSeen(machine.folder)?.note);
    expect(await whyLedgerDiffers(machine), `after ${at}`).toBeNull();
  });
  expect(await checkLedger(machine)).toEqual([]);
  await expectTrees([...heads, ...(await listHeads())]);
  expect(cuts).toBeGreaterThan(40);
});

test('a ledger that begins anew on a line that is cut at any message: a second run finishes it, and all trees stay', async () => {
  await grow();
  let isDone = false;
  const begin = async () => {
    isDone = false;
    await beginAnew(machine, { reason: 'a test', by: 'ada' });
    isDone = true;
  };
  const nameOfKey = () => readSigningKeys(machine.environment)[0]?.verifier.name;
  let former = nameOfKey();
  const heads: Head[] = [];
  const cuts = await cutEach(begin, async (at) => {
    const seen = readSeen(machine.folder);
    if (seen !== null) heads.push(seen);
    const begun = nameOfKey();
    // The daemon of this machine goes on meanwhile, and may find the ledger unfinished.
    await grow();
    if (!isDone) await begin();
    expect(begun === former || begun === nameOfKey(), `one ledger after ${at}`).toBe(true);
    former = nameOfKey();
    expect(await grow(), `after ${at}`).toMatchObject({ state: 'grown' });
    expect(await whyLedgerDiffers(machine), `after ${at}`).toBeNull();
  });
  const ledgers = await owner.sql`select distinct split_part(public_key, '+', 1) as name from keywarden.ledger_key`;
  const begun = await owner.sql`select number from keywarden.ledger_beginning`;
  expect(begun).toHaveLength(ledgers.length - 1);
  expect(await checkLedger(machine)).toEqual([]);
  await expectTrees([...heads, ...(await listHeads())]);
  expect(cuts).toBeGreaterThan(40);
});

test('a sealing whose line is cut at any message: each day has its seal after the next run', async () => {
  await grow();
  const { sql } = machine.store;
  const project = await makeProject(sql, await makeControlPlane(sql));
  await owner.sql`
    update keywarden.project set created_at = '2026-05-01', walked_at = '2026-05-12', last_seen_at = '2026-05-12' where number = ${project}`;
  await makeOperationPartitions(sql, ['2026-05']);
  const change = async (round: number) => {
    await saveOperationPage(sql, { project, operations: [makeWireOperation(100_000 * round)] });
    await owner.sql`
      update keywarden.operation_sealing set changed = '{[2026-05-01,2026-05-12)}', changed_at = now() - interval '1 hour'`;
  };
  let rounds = 1;
  await change(rounds);
  const cuts = await cutEach(
    async () => await sealDays(sql, { signal: machine.signal }),
    async (at) => {
      expect(await checkLedger(machine), `after ${at}`).toEqual([]);
      await change((rounds += 1));
    },
  );
  expect(await checkLedger(machine)).toEqual([]);
  expect(await whyLedgerDiffers(machine)).toBeNull();
  expect(cuts).toBeGreaterThan(10);
});
