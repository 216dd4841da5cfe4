import { readItems, revokeSession, sessionList } from '@keywarden/db/daemon';
import { exitCode, print, usageError } from '@keywarden/runtime';
import { userName } from './common.ts';
import { type OutputOptions, renderList } from './output.ts';
import { printJson, withContext } from './session.ts';

const asAdmin = { needsControlPlane: false, role: 'keywarden_admin' } as const;
const mostListed = 1000;

export async function sessionListCommand({ output }: OutputOptions): Promise<number> {
  return await withContext(async ({ store }) => {
    const sessions = await readItems(store.db, sessionList({}), mostListed);
    const rows = sessions.map(({ id, token, state, created_at, last_seen_at, expires_at, address }) => [
      id,
      `${token.name} (${token.id})`,
      state,
      created_at,
      last_seen_at,
      expires_at,
      address,
    ]);
    const headers = ['ID', 'TOKEN', 'STATE', 'SIGNED IN', 'LAST SEEN', 'UNTIL', 'ADDRESS'];
    print(renderList(headers, rows, { form: output, json: sessions, none: 'There is no session.' }));
    return exitCode.done;
  }, asAdmin);
}

export async function sessionRevokeCommand(id: string, { json }: OutputOptions): Promise<number> {
  if (!/^\d{1,18}$/.test(id)) throw usageError(`${id} is not a session's id; keywarden session list shows them.`);
  return await withContext(async ({ store }) => {
    if (!(await revokeSession(store.db, { number: id, by: userName() })))
      throw usageError(`There is no live session ${id}; keywarden session list shows them.`);
    if (json) printJson({ id, ended: true });
    else print(`Session ${id} has ended.`);
    return exitCode.done;
  }, asAdmin);
}
