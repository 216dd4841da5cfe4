import { randomUUID } from 'node:crypto';
import { renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { readDataFile } from '@keywarden/core/process';
import { addMark, closeIncidentsOf, hasMark, hasOpenIncident, openIncident } from '@keywarden/db/daemon';
import type { Context } from '../context.ts';

const fileName = 'high-water-mark';

type Place = Pick<Context, 'store' | 'environment'>;

/**
 * R10: why this store enforces nothing by itself, or null. A mark stands in the store and in a file beside it, and moves with whatever
 * governs: a new store has none, and one that was restored lacks the file's. What one machine finds stops all, until `resume`.
 */
export async function whyNotEnforcing({ store, environment }: Place): Promise<string | null> {
  const mark = readDataFile(environment.KEYWARDEN_DATA, fileName);
  if (mark === undefined)
    return 'nobody has said on this machine that the store may enforce by itself; keywarden resume says so';
  const isOlder = !(await hasMark(store.sql, mark));
  if (isOlder)
    await openIncident(store.sql, {
      kind: 'high_water_mark',
      scope: '',
      detail: { why: 'the store lacks the last mark of a machine' },
    });
  if (!isOlder && !(await hasOpenIncident(store.sql, 'high_water_mark'))) return null;
  return 'this store is not the one that enforced last, or is older than it was; look at what it lacks, then keywarden resume';
}

/** Moves the mark, in the store first: killed in between, the file's is still in the store. A mark that the store lacks stays. */
export async function moveMark({ store, environment }: Place): Promise<void> {
  const mark = readDataFile(environment.KEYWARDEN_DATA, fileName);
  if (mark !== undefined && (await hasMark(store.sql, mark)))
    writeMark(environment.KEYWARDEN_DATA, await addMark(store.sql));
}

/** A person says that this store, seen from this machine, may enforce by itself. */
export async function resumeEnforcement({ store, environment }: Place, by: string): Promise<void> {
  await closeIncidentsOf(store.sql, { kind: 'high_water_mark', by });
  writeMark(environment.KEYWARDEN_DATA, await addMark(store.sql));
}

function writeMark(folder: string, mark: string): void {
  const partial = join(folder, `${fileName}.${randomUUID()}`);
  writeFileSync(partial, `${mark}\n`, { mode: 0o600 });
  renameSync(partial, join(folder, fileName));
}
