import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { hashLeaf, parseCheckpoint, rootOfLeaves, splitNote } from '@keywarden/core/ledger';
import { makeOperationPartitions, saveOperationPage } from '@keywarden/db/daemon';
import { readEnvironment } from '@keywarden/runtime';
import { sized, until } from '@keywarden/testkit';
import { crashStdio } from '@keywarden/testkit/crash-stdio';
import { makeControlPlane, makeProject, makeWireOperation } from '@keywarden/testkit/store/rows';
import { createTestStore } from '@keywarden/testkit/store/test-store';
import { expect, inject, test } from 'vitest';
import { checkLedger } from './checks.ts';
import { growLedger } from './ledger.ts';
import { readSeen } from './seen-checkpoint.ts';

const program = fileURLToPath(
  new URL('../../../../packages/testkit/src/daemon/ledger-crash-process.ts', import.meta.url),
);

test('kill -9 of processes that write, seal and sequence, at any time: the ledger is whole, and the file is never ahead of it', async () => {
  const store = await createTestStore(inject('postgresUrl'));
  const folder = mkdtempSync(join(tmpdir(), 'keywarden-kills-'));
  try {
    const daemon = await store.as('keywarden_daemon');
    const project = await makeProject(daemon.sql, await makeControlPlane(daemon.sql));
    await store.sql`update keywarden.project set created_at = '2026-05-01', walked_at = '2026-05-20', last_seen_at = '2026-05-20'`;
    await makeOperationPartitions(daemon.sql, ['2026-05']);
    const environment = readEnvironment({ KEYWARDEN_DATA: folder, DATABASE_URL: store.url });
    const place = { store: daemon, environment, now: Date.now, signal: new AbortController().signal };
    const countEvents = async () =>
      Number((await store.sql`select count(*)::int as n from keywarden.ledger_event`)[0]?.n);
    for (let round = 0; round < sized(25); round += 1) {
      const operations = [makeWireOperation(round * 60_000)];
      await saveOperationPage(daemon.sql, { project, operations });
      const children = [1, 2].map(() =>
        spawn(process.execPath, [...process.execArgv, program], {
          env: { ...process.env, KEYWARDEN_DATA: folder, DATABASE_URL: store.url },
          stdio: crashStdio(),
        }),
      );
      await Promise.all(children.map(async (child) => await once(child, 'message')));
      // The kill falls somewhere in the work, after so many more events.
      const begun = await countEvents();
      await until(async () => (await countEvents()) >= begun + 1 + ((round * 37) % 90));
      for (const child of children) child.kill('SIGKILL');
      await Promise.all(children.map(async (child) => await once(child, 'exit')));
      expect(await growLedger(place, { createsKey: true }), `round ${round}`).toMatchObject({ state: 'grown' });
      const notes = await store.sql`select note from keywarden.ledger_checkpoint order by size`;
      expect(readSeen(folder)?.size).toBe(parseCheckpoint(splitNote(String(notes.at(-1)?.note))?.text ?? '')?.size);
    }
    expect(await checkLedger(place)).toEqual([]);
    const rows = await store.sql`select leaf, leaf_index from keywarden.ledger_event order by leaf_index nulls first`;
    expect(rows.map(({ leaf_index: index }) => Number(index))).toEqual(rows.map((_row, index) => index));
    const leaves = rows.map(({ leaf }) => hashLeaf(String(leaf)));
    const heads = (await store.sql`select note from keywarden.ledger_checkpoint order by size`).flatMap(
      ({ note }) => parseCheckpoint(splitNote(String(note))?.text ?? '') ?? [],
    );
    expect(heads.length).toBeGreaterThan(20);
    for (const { size, root } of heads.filter((_head, index) => index % Math.ceil(heads.length / 50) === 0))
      expect(Buffer.from(root).equals(rootOfLeaves(leaves.slice(0, size))), `the checkpoint of ${size}`).toBe(true);
  } finally {
    await store.close();
    rmSync(folder, { recursive: true });
  }
});
