import { existsSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { reportMarkFile } from '@keywarden/db/daemon';
import { isLoopback } from '@keywarden/runtime';

/**
 * Lists, in words, what in this deployment others could read or change: a connection to the database in clear text, and a data folder that other
 * users can enter or that the report shares. Nothing of that matters while Keywarden runs its own database.
 */
export function listExposures(
  dataFolder: string,
  database: { url: string | undefined; isEncrypted: boolean },
): string[] {
  const exposures: string[] = [];
  if ((statSync(dataFolder).mode & 0o077) !== 0)
    exposures.push(`other users of this machine can enter the data folder ${dataFolder}; run chmod 700 on it`);
  if (database.url === undefined) return exposures;
  const { hostname } = new URL(database.url);
  if (!database.isEncrypted && !isLoopback(hostname))
    exposures.push(
      `the connection to the database at ${hostname} is not encrypted; add sslmode=verify-full to DATABASE_URL`,
    );
  if (existsSync(join(dataFolder, reportMarkFile)))
    exposures.push(
      `the report uses the data folder ${dataFolder} too, so it can change the daemon's high-water mark; give it a folder and a user of its own`,
    );
  return exposures;
}
