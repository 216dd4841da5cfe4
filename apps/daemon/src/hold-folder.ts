import { accessSync, constants } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { codeOf, usageError } from '@keywarden/runtime';

/**
 * Holds a folder for one process. Returns what lets it go; the end of the process does too. Throws a UserError: with this sentence if another process holds the
 * folder, with another one if it cannot be held, such as on a full disk.
 */
export function holdFolder(folder: string, whyNot: string, name = 'lock'): () => void {
  let lock: DatabaseSync | undefined;
  try {
    accessSync(folder, constants.W_OK | constants.X_OK);
    lock = new DatabaseSync(join(folder, name));
    // SQLite also opens a file that it cannot write, and several processes can then hold it. The change is never committed.
    lock.exec('pragma busy_timeout = 0; pragma journal_mode = memory; begin exclusive; pragma user_version = 1');
    return () => lock?.close();
  } catch (error) {
    lock?.close();
    const why = codeOf(error) === 'ERR_SQLITE_ERROR' && error instanceof Error ? error.message : codeOf(error);
    throw usageError(
      why === 'database is locked'
        ? whyNot
        : `${join(folder, name)} cannot be locked (${why}); fix the folder or its disk, or use another folder.`,
    );
  }
}
