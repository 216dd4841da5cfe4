import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { usageError } from '@keywarden/runtime';

/** Holds a folder for one process. Returns what lets it go; the end of the process does too. Throws a UserError with this sentence if another process holds it. */
export function holdFolder(folder: string, whyNot: string, name = 'lock'): () => void {
  const lock = new DatabaseSync(join(folder, name));
  try {
    lock.exec('pragma busy_timeout = 0; begin exclusive');
  } catch {
    lock.close();
    throw usageError(whyNot);
  }
  return () => lock.close();
}
