import { randomBytes } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { readDataFile } from '@keywarden/core/process';
import { ensureToken } from '@keywarden/db/daemon';
import type { Context } from './context.ts';

/**
 * Makes sure of a first report token: REPORT_TOKEN, else the one that the data folder keeps, else a new one that is kept there.
 * On a sandbox it is an operator's, elsewhere a viewer's.
 */
export async function ensureFirstToken(
  { store, environment }: Context,
  { isSandbox }: { isSandbox: boolean },
): Promise<void> {
  const { KEYWARDEN_DATA: folder, REPORT_TOKEN: given } = environment;
  const kept = readDataFile(folder, 'report-token');
  const secret = given ?? kept ?? `kwr_${randomBytes(32).toString('base64url')}`;
  if (secret !== kept) writeFileSync(join(folder, 'report-token'), `${secret}\n`, { mode: 0o600 });
  await ensureToken(
    store.sql,
    { name: 'first', role: isSandbox ? 'operator' : 'viewer', organizationIds: null },
    secret,
  );
}
