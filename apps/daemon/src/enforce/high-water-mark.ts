import { randomUUID } from 'node:crypto';
import { renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type Environment, readDataFile } from '@keywarden/core/process';
import { type HighWaterMark, isMarkCurrent, makeMark, moveMark } from '@keywarden/db/daemon';
import { z } from 'zod';
import type { Context } from '../context.ts';

const fileName = 'high-water-mark';

const fileSchema = z.object({ holder: z.uuid(), mark: z.uuid() });

/**
 * R10: why this store enforces nothing by itself, or null. A mark stands in the store and in a file beside it, and moves with each
 * unattended run: a new store has none, and one that was restored has an older one.
 */
export async function whyNotEnforcing(context: Pick<Context, 'store' | 'environment'>): Promise<string | null> {
  const held = readMark(context.environment);
  if (held === null) return 'nobody has said yet that this store may enforce by itself; keywarden resume says so';
  if (await isMarkCurrent(context.store.sql, held)) return null;
  return 'this store is not the one that enforced last, or is older than it was; look at what it lacks, then keywarden resume';
}

/** Moves the mark; the caller has seen that it is current. In the store first: killed in between, the file's is still taken. */
export async function advanceMark({ store, environment }: Pick<Context, 'store' | 'environment'>): Promise<void> {
  const held = readMark(environment);
  if (held !== null) writeMark(environment, await moveMark(store.sql, held));
}

/** A person says that this store, seen from this data folder, may enforce by itself. */
export async function resumeEnforcement({ store, environment }: Pick<Context, 'store' | 'environment'>): Promise<void> {
  writeMark(environment, await makeMark(store.sql));
}

function readMark({ KEYWARDEN_DATA: folder }: Environment): HighWaterMark | null {
  try {
    return fileSchema.parse(JSON.parse(readDataFile(folder, fileName) ?? 'null'));
  } catch {
    return null; // a file that cannot be read proves nothing
  }
}

function writeMark({ KEYWARDEN_DATA: folder }: Environment, mark: HighWaterMark): void {
  const partial = join(folder, `${fileName}.${randomUUID()}`);
  writeFileSync(partial, `${JSON.stringify(mark)}\n`, { mode: 0o600 });
  renameSync(partial, join(folder, fileName));
}
