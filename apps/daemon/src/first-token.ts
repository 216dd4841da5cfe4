import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { ensureToken, makeTokenSecret, type Role } from '@keywarden/db/daemon';
import { builderOver, type Db } from '@keywarden/db/store';
import { codeOf, type Environment, readDataFile, usageError } from '@keywarden/runtime';
import type { Context } from './context.ts';

/**
 * Ensures a first report token: REPORT_TOKEN, else the one in the data folder, else a new one that is kept there. A revoked one is
 * replaced. On a sandbox it is an operator's, elsewhere a viewer's. Without permission to create tokens there is none.
 */
export async function ensureFirstToken(
  { store, environment, log }: Context,
  { isSandbox }: { isSandbox: boolean },
): Promise<void> {
  // The daemon's role creates no tokens.
  const sql = store.connect({ max: 1, role: 'keywarden_admin' });
  try {
    await sql`select 1`;
    await keepToken(builderOver(sql), environment, isSandbox ? 'operator' : 'viewer');
  } catch (error) {
    if (!['42501', '22023'].includes(codeOf(error))) throw error;
    log.info(
      'this database user may not create tokens; run keywarden token create as a user who may act as keywarden_admin',
    );
  } finally {
    await sql.end();
  }
}

async function keepToken(
  db: Db,
  { KEYWARDEN_DATA: folder, REPORT_TOKEN: given }: Environment,
  role: Role,
): Promise<void> {
  const kept = readDataFile(folder, 'report-token');
  const ensure = async (secret: string) =>
    await ensureToken(db, { name: 'first', role, organizationIds: null, createdBy: null }, secret);
  let secret = given ?? kept ?? makeTokenSecret();
  if (!(await ensure(secret))) {
    if (given !== undefined)
      throw usageError('REPORT_TOKEN is a token that was revoked; set another one, or unset it.');
    secret = makeTokenSecret();
    await ensure(secret);
  }
  if (secret !== kept) writeFileSync(join(folder, 'report-token'), `${secret}\n`, { mode: 0o600 });
}
