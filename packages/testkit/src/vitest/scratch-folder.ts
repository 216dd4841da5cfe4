import { mkdirSync, readdirSync, rmSync, statfsSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';

const prefix = 'keywarden-tests-';
/** The most space that the databases of one run take, with a margin, in bytes. */
const roomBytes = 4 * 2 ** 30;

/**
 * Makes the folder for all files of one test run, and returns its path. The folder is in memory if the machine has room there: creating a database
 * then takes a seventh of the time. Removes the remains of killed runs.
 */
export function makeScratchFolder(): string {
  const parent = hasRoom('/dev/shm') ? '/dev/shm' : tmpdir();
  for (const name of readdirSync(parent)) {
    const pid = name.startsWith(prefix) ? Number(name.slice(prefix.length)) : Number.NaN;
    if (pid > 0 && !isAlive(pid)) rmSync(join(parent, name), { recursive: true, force: true });
  }
  const folder = join(parent, `${prefix}${process.pid}`);
  mkdirSync(folder, { recursive: true, mode: 0o755 });
  return folder;
}

function hasRoom(folder: string): boolean {
  try {
    const { bavail, bsize } = statfsSync(folder);
    return bavail * bsize > roomBytes;
  } catch {
    return false; // not on this system
  }
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
}

/** Removes a folder of `makeScratchFolder`, and refuses any other. */
export function removeScratchFolder(folder: string): void {
  if (!basename(folder).startsWith(prefix)) throw new Error(`${folder} is not the folder of a test run`);
  rmSync(folder, { recursive: true, force: true });
}
