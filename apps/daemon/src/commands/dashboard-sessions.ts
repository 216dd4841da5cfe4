import { readItems, revokeSession, sessionList } from '@keywarden/db/daemon';
import { usageError } from '@keywarden/runtime';
import type { Context } from '../context.ts';
import type { CommandOf } from './command.ts';
import { requireNumber, userName } from './common.ts';
import { type Columns, list } from './output.ts';
import { asAdmin } from './session.ts';

const mostListed = 1000;

export const sessionListCommand: CommandOf = {
  name: 'session list',
  about: 'List the sessions, newest first',
  output: 'list',
  examples: ['', '--json'],
  needs: asAdmin,
  async run({ store }: Context) {
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
    return list(sessions, columns, { none: 'There is no session.' });
  },
};

export const sessionRevokeCommand: CommandOf = {
  name: 'session revoke',
  about: 'End a session; its browser must sign in again',
  arguments: { '<id>': 'the id that session list prints' },
  output: 'result',
  examples: ['12'],
  needs: asAdmin,
  check(id: string) {
    requireNumber(id, { of: "a session's id", list: 'session list' });
  },
  async run({ store }: Context, id: string) {
    if (!(await revokeSession(store.db, { number: id, by: userName() })))
      throw usageError(`There is no live session ${id}; keywarden session list shows them.`);
    return { json: { id, ended: true }, text: `Session ${id} has ended.` };
  },
};
