import { type Checkpoint, parseCheckpoint, splitNote } from '@keywarden/core/ledger';
import { putDataFileAside, readDataFile, UserError, writeDataFile, writeDataFileIf } from '@keywarden/runtime';

/** The file with the last checkpoint that this machine has seen. It is outside the database, so that this machine detects a ledger that is older or other. */
const fileName = 'ledger-checkpoint';

/** Returns the checkpoint of a note without checking who signed it. */
export function readCheckpoint(note: string): Checkpoint | null {
  return parseCheckpoint(splitNote(note)?.text ?? '');
}

/** Returns the last checkpoint that this machine has seen; null before the first. Throws a UserError if the file cannot be read. */
export function readSeen(folder: string): (Checkpoint & { note: string }) | null {
  const text = readDataFile(folder, fileName);
  if (text === undefined) return null;
  const note = `${text}\n`;
  const checkpoint = readCheckpoint(note);
  if (checkpoint === null)
    throw new UserError(
      'store',
      `${folder}/${fileName} has no checkpoint; restore it, or move it away once you know that the ledger is whole (docs/LEDGER.md).`,
    );
  return { ...checkpoint, note };
}

/** The file with a time, RFC 3339. This machine has placed all events that were recorded before it. */
const latestFile = 'ledger-recorded';
/** The file is written at most this often, because the sequencer runs every few seconds. */
const rewrittenAfterMs = 300_000;

/** Returns the time, in ms, before which this machine has placed all recorded events; null if it is not known. */
export function readLatestRecorded(folder: string): number | null {
  const ms = Date.parse(readDataFile(folder, latestFile) ?? '');
  return Number.isNaN(ms) ? null : ms;
}

/** Stores the time, in ms, before which this machine has placed all recorded events. Skips a change of less than five minutes. */
export function rememberLatest(folder: string, ms: number | null): void {
  if (ms === null || Math.abs(ms - (readLatestRecorded(folder) ?? 0)) < rewrittenAfterMs) return;
  writeDataFile(folder, latestFile, new Date(ms).toISOString());
}

/** Puts the file with the last checkpoint aside, because a new ledger begins. */
export function putSeenAside(folder: string, { origin }: Checkpoint): void {
  putDataFileAside(folder, fileName, suffixOf(origin));
}

/** Returns the end of a file's name for a former ledger. A store that was restored again has another one than the files of this machine. */
export const suffixOf = (origin: string) => `of-${origin.replaceAll(/[^\w.-]/g, '_')}`;

/** Remembers a checkpoint, unless another process of this machine has seen a later one. */
export function writeSeen(folder: string, note: string): void {
  const size = readCheckpoint(note)?.size ?? 0;
  const isLater = () => size > (readSeen(folder)?.size ?? 0);
  if (isLater()) writeDataFileIf(folder, fileName, note.trimEnd(), isLater);
}
