import { readItems, revokeSession, sessionList } from '@keywarden/db/daemon';
import { exitCode, print, usageError } from '@keywarden/runtime';
import type { CommandOf } from './command.ts';
import { requireNumber, userName } from './common.ts';
import { type Columns, type OutputOptions, renderList } from './output.ts';
import { asAdmin, printJson, withContext } from './session.ts';

const mostListed = 1000;

export const sessionListCommand: CommandOf = {
  name: 'session list',
  about: 'List the sessions, newest first',
  output: 'list',
  examples: ['', '--json'],
  run: runSessionList,
};

async function runSessionList({ output }: OutputOptions): Promise<number> {
  return await withContext(async ({ store }) => {
    const sessions = await readItems(store.db, sessionList({}), mostListed);
    const columns: Columns<(typeof sessions)[number]> = {
      ID: ({ id }) => id,
      TOKEN: ({ token }) => `${token.name} (${token.id})`,
      STATE: ({ state }) => state,
      'SIGNED IN': (session) => session.created_at,
      'LAST SEEN': (session) => session.last_seen_at,
      UNTIL: (session) => session.expires_at,
      ADDRESS: ({ address }) => address,
    };
    print(renderList(sessions, columns, { form: output, none: 'There is no session.' }));
    return exitCode.done;
  }, asAdmin);
}

export const sessionRevokeCommand: CommandOf = {
  name: 'session revoke',
  about: 'End a session; its browser must sign in again',
  arguments: { '<id>': 'the id that session list prints' },
  output: 'result',
  examples: ['12'],
  run: runSessionRevoke,
};

async function runSessionRevoke(id: string, { json }: OutputOptions): Promise<number> {
  requireNumber(id, { of: "a session's id", list: 'session list' });
  return await withContext(async ({ store }) => {
    if (!(await revokeSession(store.db, { number: id, by: userName() })))
      throw usageError(`There is no live session ${id}; keywarden session list shows them.`);
    if (json) printJson({ id, ended: true });
    else print(`Session ${id} has ended.`);
    return exitCode.done;
  }, asAdmin);
}
