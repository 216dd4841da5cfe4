import { readItems, revokeSession, sessionList } from '@keywarden/db/daemon';
import { usageError } from '@keywarden/runtime';
import { describeCommand } from './command.ts';
import { requireNumber, userName, wholeList } from './common.ts';
import { type Columns, list } from './output.ts';
import { asAdmin } from './with-context.ts';

export const sessionListCommand = describeCommand({
  name: 'session list',
  about: 'List the sessions, newest first',
  output: 'list',
  examples: ['', '--json'],
  needs: asAdmin,
  async run({ store }) {
    const sessions = await readItems(store.db, sessionList({}), wholeList);
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
});

export const sessionRevokeCommand = describeCommand({
  name: 'session revoke',
  about: 'End a session; its browser must sign in again',
  arguments: [['<id>', 'the id that session list prints']],
  output: 'result',
  examples: ['12'],
  needs: asAdmin,
  check(id) {
    requireNumber(id, { of: "a session's id", list: 'session list' });
  },
  async run({ store }, id) {
    if (!(await revokeSession(store.db, { number: id, by: userName() })))
      throw usageError(`There is no live session ${id}; keywarden session list shows them.`);
    return { json: { id, ended: true }, text: `Session ${id} has ended.` };
  },
});
