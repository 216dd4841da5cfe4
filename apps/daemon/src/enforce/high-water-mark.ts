import { rmSync } from 'node:fs';
import { join } from 'node:path';
import {
  addMark,
  closeIncidentsOf,
  hasOpenIncident,
  openIncident,
  readMark,
  reportMarkFile,
} from '@keywarden/db/daemon';
import { readDataFile, writeDataFile } from '@keywarden/runtime';
import type { Context } from '../context.ts';

const fileName = 'high-water-mark';

/** What a machine's file says: the last mark that it made, and whether a person has let the store enforce from here. */
interface Held {
  mark: string;
  mayEnforce: boolean;
}

type Place = Pick<Context, 'store' | 'environment'>;

/**
 * R10: why this store enforces nothing by itself, or null. A mark stands in the store and in a file beside it, and moves with whatever
 * governs: a new store has none, and one that was restored lacks the file's. What one machine finds stops all, until `resume`; a
 * machine that did not make the last mark takes it only while the one that did is heard of.
 */
export async function whyNotEnforcing({ store, environment }: Place): Promise<string | null> {
  const held = readHeld(environment.KEYWARDEN_DATA);
  if (held === null || !held.mayEnforce)
    return 'nobody has said on this machine that the store may enforce by itself; keywarden resume says so';
  if (await lacksReportMark({ store, environment })) await reportOlder({ store });
  const state = await readMark(store.db, held.mark);
  if (state === 'missing') await reportOlder({ store });
  if (state === 'missing' || (await hasOpenIncident(store.db, 'high_water_mark')))
    return 'this store is not the one that enforced last, or is older than it was; look at what it lacks, then keywarden resume';
  if (state === 'followed_long_ago')
    return 'another machine governed last, hours ago, and this may be an older store; look at what it lacks, then keywarden resume';
  return null;
}

/** Work that governs, between two marks: a store that is restored from before or within it lacks the one or the other. */
export async function governed<T>(place: Place, work: () => Promise<T>): Promise<T> {
  await moveMark(place);
  try {
    return await work();
  } finally {
    await moveMark(place);
  }
}

/** A person says that this store, seen from this machine, may enforce by itself. */
export async function resumeEnforcement({ store, environment }: Place, by: string): Promise<void> {
  await closeIncidentsOf(store.db, { kind: 'high_water_mark', by });
  writeHeld(environment.KEYWARDEN_DATA, { mark: await addMark(store.db, 'daemon'), mayEnforce: true });
}

/** In the store first: killed in between, the file's is still in the store. A file whose mark the store lacks stays as it is. */
async function moveMark({ store, environment }: Place): Promise<void> {
  const held = readHeld(environment.KEYWARDEN_DATA);
  if (held !== null && (await readMark(store.db, held.mark)) === 'missing') return await reportOlder({ store });
  writeHeld(environment.KEYWARDEN_DATA, {
    mark: await addMark(store.db, 'daemon'),
    mayEnforce: held?.mayEnforce ?? false,
  });
}

/** A report that shares the folder may have marked what a person said since the last run. Its mark is done with then: the incident stands. */
async function lacksReportMark({ store, environment: { KEYWARDEN_DATA: folder } }: Place): Promise<boolean> {
  const mark = readDataFile(folder, reportMarkFile);
  if (mark === undefined || (await readMark(store.db, mark)) !== 'missing') return false;
  rmSync(join(folder, reportMarkFile), { force: true });
  return true;
}

async function reportOlder({ store }: Pick<Context, 'store'>): Promise<void> {
  const detail = { why: 'the store lacks the last mark of a machine' };
  await openIncident(store.db, { kind: 'high_water_mark', scope: '', detail });
}

function readHeld(folder: string): Held | null {
  const [mark, may] = (readDataFile(folder, fileName) ?? '').split(' ');
  return mark === undefined || mark === '' ? null : { mark, mayEnforce: may === 'enforce' };
}

function writeHeld(folder: string, { mark, mayEnforce }: Held): void {
  writeDataFile(folder, fileName, `${mark} ${mayEnforce ? 'enforce' : 'watch'}`);
}
