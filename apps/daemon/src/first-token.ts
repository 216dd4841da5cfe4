import { randomBytes } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { ensureToken } from '@keywarden/db/daemon';
import { readDataFile, usageError } from '@keywarden/runtime';
import type { Context } from './context.ts';

/**
 * Ensures a first report token: REPORT_TOKEN, else the one in the data folder, else a new one that is kept there. A revoked one is
 * replaced. On a sandbox it is an operator's, elsewhere a viewer's.
 */
export async function ensureFirstToken(
  { store, environment }: Context,
  { isSandbox }: { isSandbox: boolean },
): Promise<void> {
  const { KEYWARDEN_DATA: folder, REPORT_TOKEN: given } = environment;
  const kept = readDataFile(folder, 'report-token');
  const role = isSandbox ? 'operator' : 'viewer';
  const isLive = async (secret: string) =>
    await ensureToken(store.db, { name: 'first', role, organizationIds: null }, secret);
  let secret = given ?? kept ?? newSecret();
  if (!(await isLive(secret))) {
    if (given !== undefined)
      throw usageError('REPORT_TOKEN is a token that was revoked; set another one, or unset it.');
    secret = newSecret();
    await isLive(secret);
  }
  if (secret !== kept) writeFileSync(join(folder, 'report-token'), `${secret}\n`, { mode: 0o600 });
}

function newSecret(): string {
  return `kwr_${randomBytes(32).toString('base64url')}`;
}
