import { randomUUID } from 'node:crypto';
import {
  accessSync,
  closeSync,
  constants,
  existsSync,
  fsyncSync,
  linkSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  unlinkSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join } from 'node:path';
import { codeOf, UserError, usageError } from './errors.ts';

/** Creates the data folder if needed. Throws one sentence that explains why it cannot be used. */
export function ensureDataFolder(folder: string): void {
  try {
    makeFolder(folder);
    // With the slash, a file is refused, too.
    accessSync(`${folder}/`, constants.W_OK | constants.X_OK);
  } catch (error) {
    const message = `The data folder ${folder} cannot be written (${codeOf(error)}); set KEYWARDEN_DATA to a writable folder.`;
    throw new UserError('usage', message, { cause: error });
  }
}

/** Creates a folder, parents first, one by one: below /proc, Node's recursive mkdir does not end. */
export function makeFolder(folder: string): void {
  if (existsSync(folder)) return;
  makeFolder(dirname(folder));
  try {
    mkdirSync(folder, { mode: 0o700 });
  } catch (error) {
    if (codeOf(error) !== 'EEXIST') throw error; // another process created it first
  }
}

/** Throws a UserError if the data folder does not exist: a forgotten KEYWARDEN_DATA must not begin another store. */
export function requireDataFolder(folder: string): void {
  if (existsSync(folder)) return;
  throw usageError(
    `There is no data folder ${folder}. Set KEYWARDEN_DATA to the folder of the daemon, or run keywarden sync to begin a store there.`,
  );
}

/**
 * Writes a small file of the data folder atomically: a reader finds the old text or the new one, also after the machine has lost its power. Creates the
 * folder if needed.
 */
export function writeDataFile(folder: string, name: string, text: string): void {
  const partial = writePartial(folder, name, text);
  try {
    renameSync(partial, join(folder, name));
  } catch (error) {
    unlinkSync(partial);
    throw error;
  }
  syncPath(folder);
}

/**
 * Writes a small file of the data folder as `writeDataFile`, if `isWanted` says so on what the file has then. A process that is paused after it was asked writes
 * nothing over what another one writes meanwhile: each one removes the unfinished files of the others before it asks.
 */
export function writeDataFileIf(folder: string, name: string, text: string, isWanted: () => boolean): void {
  for (;;) {
    const partial = writePartial(folder, name, text);
    try {
      for (const other of readdirSync(folder).filter((each) => isPartialOf(each, name)))
        if (join(folder, other) !== partial) rmSync(join(folder, other), { force: true });
      if (!isWanted()) return;
      renameSync(partial, join(folder, name));
      syncPath(folder);
      return;
    } catch (error) {
      // Another process has removed the unfinished file, and may have written a later text.
      if (codeOf(error) !== 'ENOENT') throw error;
    } finally {
      rmSync(partial, { force: true });
    }
  }
}

/** Returns whether a file is an unfinished one of this name, and of no longer name that begins with it. */
const isPartialOf = (file: string, name: string) =>
  file.startsWith(`${name}.`) && /^[\da-f]{8}(-[\da-f]{4}){3}-[\da-f]{12}$/.test(file.slice(name.length + 1));

/** Writes a small file of the data folder as `writeDataFile`, unless it exists. Returns whether it did. */
export function createDataFile(folder: string, name: string, text: string): boolean {
  const partial = writePartial(folder, name, text);
  try {
    linkSync(partial, join(folder, name));
    syncPath(folder);
    return true;
  } catch (error) {
    if (codeOf(error) === 'EEXIST') return false;
    throw error;
  } finally {
    unlinkSync(partial);
  }
}

/** Creates an empty file of the data folder, unless it exists. It needs no space on a full disk. */
export function createEmptyDataFile(folder: string, name: string): void {
  closeSync(openSync(join(folder, name), 'a', 0o600));
  syncPath(folder);
}

/**
 * Moves a small file of the data folder to NAME.SUFFIX, or to NAME.SUFFIX.2 and so on where that has another text: nothing that was put aside is lost.
 * Does nothing if the file does not exist.
 */
export function putDataFileAside(folder: string, name: string, suffix: string): void {
  if (copyDataFileAside(folder, name, suffix)) rmSync(join(folder, name));
}

/** Copies a small file as `putDataFileAside` moves it. Returns whether it exists. */
export function copyDataFileAside(folder: string, name: string, suffix: string): boolean {
  const text = readDataFile(folder, name);
  if (text === undefined) return false;
  let [aside, count] = [`${name}.${suffix}`, 1];
  while (!createDataFile(folder, aside, text) && readDataFile(folder, aside) !== text) {
    count += 1;
    aside = `${name}.${suffix}.${count}`;
  }
  return true;
}

function writePartial(folder: string, name: string, text: string): string {
  ensureDataFolder(folder);
  const partial = join(folder, `${name}.${randomUUID()}`);
  try {
    writeFileSync(partial, `${text}\n`, { mode: 0o600, flush: true });
  } catch (error) {
    // A full disk: nothing of a secret stays in a file that nobody reads.
    rmSync(partial, { force: true });
    throw error;
  }
  return partial;
}

/** Waits until the disk has a folder's entries. */
function syncPath(path: string): void {
  const file = openSync(path, 'r');
  try {
    fsyncSync(file);
  } finally {
    closeSync(file);
  }
}

/** Returns the trimmed text of a small file of the data folder, or undefined if it does not exist. Throws a UserError for an empty file. */
export function readDataFile(folder: string, name: string): string | undefined {
  try {
    const text = readFileSync(join(folder, name), 'utf8').trim();
    if (text === '')
      throw usageError(`${join(folder, name)} is empty; restore it from a backup, or remove it if it is not needed.`);
    return text;
  } catch (error) {
    if (error instanceof UserError) throw error;
    if (codeOf(error) === 'ENOENT') return undefined;
    throw new UserError('usage', `${join(folder, name)} cannot be read (${codeOf(error)}); fix its permissions.`, {
      cause: error,
    });
  }
}
