import { randomUUID } from 'node:crypto';
import { existsSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { toMs } from '@keywarden/core/values';
import * as db from '@keywarden/db/daemon';
import { assertCurrent, readNow } from '@keywarden/db/store';
import { codeOf, createEmptyDataFile, readDataFile, UserError, writeDataFile } from '@keywarden/runtime';
import type { Context } from '../context.ts';

// What a machine may carry out without a person at its command line (R10), by the mark in its file and the state of that mark in the store:
//
// | file          | store                                                  | automatic enforcement | approvals in the report               |
// | ------------- | ------------------------------------------------------ | --------------------- | ------------------------------------- |
// | no mark       | any                                                    | not permitted         | those given from now on               |
// | mark, watch   | has the mark; later ones are younger than three hours  | not permitted         | those since it first saw this store   |
// | mark, enforce | has the mark; later ones are younger than three hours  | yes                   | all                                   |
// | mark          | has the mark; later ones are older                     | none before `arm`     | none before `arm`                     |
// | mark          | lacks the mark, or any machine found that it lacks one | none on any machine   | none on any machine before `arm`      |

const fileName = 'high-water-mark';

/**
 * Withdraws the permission while it exists. It is a file of its own because another process may read the mark's file before the permission is withdrawn, and
 * write it afterwards.
 */
const disarmedFile = 'disarmed';

/**
 * The content of a machine's file: the last mark that it made, whether a person has permitted automatic enforcement from this machine, the time of
 * the first mark that it made in this store, and since when it has made every mark itself (null: not recorded).
 */
interface MachineMark {
  mark: string;
  mayEnforce: boolean;
  since: string | null;
  aloneSince: string | null;
}

type StoreContext = Pick<Context, 'store' | 'environment'>;

/**
 * R10: returns why this store enforces nothing automatically, or null. A mark is kept in the store and in a file beside it, and every
 * governing action moves it. A new store has no mark, and a restored one lacks the file's mark. An older store that one machine detects
 * stops all machines, until `arm`. A machine that did not make the last mark accepts it only while the machine that made it is active.
 */
export async function whyNotEnforcing(context: StoreContext): Promise<string | null> {
  const own = readMachineMark(context.environment.KEYWARDEN_DATA);
  return own?.mayEnforce === true ? await whyOlderStore(context, own) : notPermitted;
}

const notPermitted = 'automatic enforcement is not permitted on this machine; to permit it, run keywarden arm';

/** Returns why this machine enforces nothing automatically, or null. A person can withdraw the permission while a pass runs. */
export function whyNotPermitted({ environment }: Pick<StoreContext, 'environment'>): string | null {
  return readMachineMark(environment.KEYWARDEN_DATA)?.mayEnforce === true ? null : notPermitted;
}

/** What a machine may carry out of the approvals that persons give in the report. */
export interface ApprovalScope {
  /** Why it carries out none; null if it does. */
  why: string | null;
  /** It carries out those after this time only; null for all. */
  since: string | null;
}

/**
 * R10: returns which approvals of the report this machine carries out. An approval is a decision about the store in which it was given. The machine
 * carries out those that were given after it first saw this store, and all of them once a person has permitted automatic enforcement.
 */
export async function approvalScope(context: StoreContext): Promise<ApprovalScope> {
  const own = readMachineMark(context.environment.KEYWARDEN_DATA);
  if (own === null) return { why: null, since: await readNow(context.store.sql) };
  const why = await whyOlderStore(context, own);
  if (own.mayEnforce) return { why, since: null };
  // Without a known time, no approval so far counts.
  return { why, since: (await firstSeen(context, own)) ?? (await readNow(context.store.sql)) };
}

/** Returns since when this machine has had a mark in this store; null if that is not known. The database's clock may have been ahead then. */
async function firstSeen({ store }: Pick<StoreContext, 'store'>, own: MachineMark): Promise<string | null> {
  return await db.readTrustedTime(store.db, own.since ?? (await db.readMarkTime(store.db, own.mark)));
}

/**
 * R10: returns since when the store has lost nothing, as far as this machine and the incidents show; null if that is not known. A person's permission does not
 * make an older store whole. Marks that another machine has made since are not in this machine's file, and may be lost without a trace.
 */
export async function wholeSince({ store, environment }: StoreContext): Promise<string | null> {
  const own = readMachineMark(environment.KEYWARDEN_DATA);
  if (own === null || (await db.readMark(store.db, own.mark)) !== 'newest') return null;
  const older = await db.readLastOlder(store.db);
  const since = own.aloneSince;
  return since === null || older === null || toMs(since) > toMs(older) ? since : older;
}

/** Opens the incident that stops all machines if the store lacks this machine's mark. A daemon does so with each tick, also while other machines do the work. */
export async function checkMark(context: StoreContext): Promise<void> {
  const own = readMachineMark(context.environment.KEYWARDEN_DATA);
  if (own !== null) await whyOlderStore(context, own);
}

/** Returns why this store may be an older copy than the one that this machine worked on; null if it is not. */
async function whyOlderStore({ store, environment }: StoreContext, own: MachineMark): Promise<string | null> {
  await checkReportMark({ store, environment });
  const state = await db.readMark(store.db, own.mark);
  if (state === 'missing') await reportOlder({ store });
  if (state === 'missing' || (await db.hasOpenIncident(store.db, 'high_water_mark')))
    return 'this store is not the one that enforced last, or it is an older copy; check what it lacks, then run keywarden arm';
  if (state === 'followed_long_ago')
    return 'another machine made the last mark hours ago, and this may be an older store; check what it lacks, then run keywarden arm';
  return null;
}

/** Runs governing work between two marks, as `reportBetweenMarks` does. If only the mark after it fails, throws an error that says so: the work is done. */
export async function betweenMarks<T>(context: StoreContext, work: () => Promise<T>): Promise<T> {
  const { result, whyUnmarked } = await reportBetweenMarks(context, async () => ({ result: await work() }));
  if (whyUnmarked !== null) throw new UserError('store', `This was done, and need not be repeated. ${whyUnmarked}`);
  return result;
}

/**
 * Runs governing work between two marks. A store that is restored from before the work lacks the first one. Each call that mints or revokes has a
 * mark of its own (`markCall`): the work may end without the second one, or a standby may take over meanwhile. If only the second mark fails, returns the result
 * all the same, so that it is reported, and a sentence about the mark.
 */
export async function reportBetweenMarks<T extends object>(
  context: StoreContext,
  work: () => Promise<T>,
): Promise<T & { whyUnmarked: string | null }> {
  await moveMark(context);
  let result: T;
  try {
    result = await work();
  } catch (error) {
    await moveMark(context);
    throw error;
  }
  try {
    await moveMark(context);
    return { ...result, whyUnmarked: null };
  } catch (error) {
    const why =
      error instanceof UserError ? `: ${error.message}` : ` (${codeOf(error)}); check the store and KEYWARDEN_DATA.`;
    return { ...result, whyUnmarked: `The store's high-water mark could not be updated${why}` };
  }
}

/**
 * Makes the first mark of this machine, if it has none. From then on it carries out approvals of the report. The daemon does so with its first listing of
 * keys: otherwise an approval between the first plan and the first pass would count as one of an older store.
 */
export async function rememberStore(context: StoreContext): Promise<void> {
  if (readMachineMark(context.environment.KEYWARDEN_DATA) === null) await moveMark(context);
}

/**
 * Records a person's permission for this store, seen from this machine, to enforce automatically. Ends the incident that stops all machines last: until the
 * file has a mark that the store has, this machine would open it again, and without the file nothing was permitted.
 */
export async function armMachine({ store, environment }: StoreContext, by: string): Promise<void> {
  const mark = await db.addMark(store.db, 'daemon');
  const since = await db.readMarkTime(store.db, mark);
  writeMachineMark(environment.KEYWARDEN_DATA, { mark, mayEnforce: true, since, aloneSince: since });
  rmSync(join(environment.KEYWARDEN_DATA, disarmedFile), { force: true });
  await db.closeIncidents(store.db, { kind: 'high_water_mark' }, { by });
}

/**
 * Withdraws the permission of this machine to enforce automatically. Returns whether it had it; a mark that cannot be read may give it. Needs no store, and no
 * space on a full disk: the file is empty.
 */
export function disarmMachine({ environment: { KEYWARDEN_DATA: folder } }: Pick<StoreContext, 'environment'>): boolean {
  try {
    if (readMachineMark(folder)?.mayEnforce !== true) return false;
  } catch (error) {
    if (!(error instanceof UserError)) throw error;
  }
  createEmptyDataFile(folder, disarmedFile);
  return true;
}

/** Returns whether a person has withdrawn the permission of this machine since it was given. */
export const isDisarmed = (folder: string): boolean => existsSync(join(folder, disarmedFile));

/** Adds a mark, also between an intent and its call: a store that lost the intent lacks the mark too. */
export async function moveMark(context: StoreContext): Promise<void> {
  await changeWithMark(context, async (mark) => mark && (await db.addMark(context.store.db, 'daemon', mark)));
}

/**
 * Runs a change with a new mark, which the change adds in its own transaction: no store has one without the other, and another machine that takes over sees
 * that the change is not its own. Writes the mark to the file after that: after a kill in between, the store still has the file's mark. If the store lacks the
 * file's mark, the change gets none, and the file stays. The file also stays if the change returns undefined: nothing was recorded.
 */
export async function changeWithMark<T>(
  { store, environment }: StoreContext,
  change: (mark: string | undefined) => Promise<T | undefined>,
): Promise<T | undefined> {
  const own = readMachineMark(environment.KEYWARDEN_DATA);
  const state = own === null ? null : await db.readMark(store.db, own.mark);
  if (state === 'missing') await reportOlder({ store });
  const mark = state === 'missing' ? undefined : randomUUID();
  const changed = await change(mark);
  if (mark === undefined || changed === undefined) return changed;
  // Null if a failover has just lost the mark. The file gets it all the same: the next pass then finds that the store lacks it.
  const madeAt = await db.readMarkTime(store.db, mark);
  const since = (own === null ? null : await firstSeen({ store }, own)) ?? madeAt;
  const wasAlone = state === 'newest' && own !== null;
  const aloneSince = (wasAlone ? await db.readTrustedTime(store.db, own.aloneSince) : null) ?? madeAt;
  // Another process may have given or withdrawn the permission meanwhile.
  const now = readMachineMark(environment.KEYWARDEN_DATA);
  writeMachineMark(environment.KEYWARDEN_DATA, {
    mark,
    mayEnforce: now?.mayEnforce ?? false,
    since: (now?.since === own?.since ? null : now?.since) ?? since,
    aloneSince,
  });
  return changed;
}

/** Moves the mark right before a call that mints or revokes. Throws a UserError if another version has migrated the store: this one makes no call then. */
export async function markCall(context: StoreContext): Promise<void> {
  await assertCurrent(context.store.sql);
  await moveMark(context);
}

/**
 * Opens the incident if the store lacks the mark that a report sharing the folder has made for a person's decision since the last run. Removes that
 * mark only then: the incident stays open, and without it the mark is the only evidence.
 */
async function checkReportMark({ store, environment: { KEYWARDEN_DATA: folder } }: StoreContext): Promise<void> {
  const mark = readDataFile(folder, db.reportMarkFile);
  if (mark === undefined || (await db.readMark(store.db, mark)) !== 'missing') return;
  await reportOlder({ store });
  rmSync(join(folder, db.reportMarkFile), { force: true });
}

async function reportOlder({ store }: Pick<Context, 'store'>): Promise<void> {
  const detail = { why: 'the store lacks the last mark of a machine' };
  await db.openIncident(store.db, { kind: 'high_water_mark', scope: '', detail });
}

function readMachineMark(folder: string): MachineMark | null {
  const [mark, may, since = null, aloneSince = null] = (readDataFile(folder, fileName) ?? '').split(' ');
  if (mark === undefined || mark === '') return null;
  const mayEnforce = may === 'enforce' && !isDisarmed(folder);
  return { mark, mayEnforce, since, aloneSince };
}

function writeMachineMark(folder: string, { mark, mayEnforce, since, aloneSince }: MachineMark): void {
  const times = since === null ? [] : aloneSince === null ? [since] : [since, aloneSince];
  writeDataFile(folder, fileName, [mark, mayEnforce ? 'enforce' : 'watch', ...times].join(' '));
}
