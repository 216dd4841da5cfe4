import { parseDuration } from '@keywarden/core/values';
import * as db from '@keywarden/db/daemon';
import { usageError } from '@keywarden/runtime';
import { makeKeyFinder } from './choose-keys.ts';
import { describeCommand } from './command.ts';
import { requireOneOf, requireOrganization, wholeList } from './common.ts';
import { type Columns, list } from './output.ts';
import { renderTable } from './table.ts';
import { storeOnly, withContext } from './with-context.ts';

const states = ['active', 'missing', 'gone'] as const;

export const keysListCommand = describeCommand({
  name: 'keys list',
  about: 'List the keys that exist, with owner, state and last use',
  options: {
    '--organization <id>': 'only keys of this organization',
    '--owner <name>': 'only keys of this owner',
    '--name <text>': 'only keys whose name contains this',
    '--state <state>': 'only keys in this state: active, missing or gone',
    '--idle-for <duration>': 'only keys that were not used for longer than this: 90d',
  },
  output: 'list',
  examples: ['', '--idle-for 90d --output csv > idle.csv'],
  async run({ organization, owner, name, state, idleFor }) {
    const wanted = state === undefined ? undefined : requireOneOf(state, states, 'state');
    const idleMs = idleFor === undefined ? undefined : parseDuration(idleFor);
    if (idleFor !== undefined && idleMs === undefined)
      throw usageError(`${idleFor} is not a duration of at most 365000d; write it as 90d.`);
    return await withContext(async ({ store }) => {
      if (organization !== undefined) await requireOrganization(store.db, organization);
      const filter: db.KeyFilter = {
        organizationId: organization,
        owner,
        text: name,
        idleMs,
        state: wanted,
        isThere: wanted === undefined,
      };
      const keys = await db.readItems(store.db, db.keyList(filter, { organizations: null }), wholeList);
      const columns: Columns<(typeof keys)[number]> = {
        KEY: ({ id }) => id,
        KIND: ({ kind }) => kind,
        NAME: (key) => key.name,
        ORGANIZATION: (key) => key.organization_id ?? '(personal)',
        OWNER: (key) => key.owner,
        STATE: (key) => key.state,
        'LAST USED': (key) => (key.use === 'used' ? (key.last_used_at ?? '') : key.use),
      };
      return list(keys, columns, { none: 'No key matches.' });
    }, storeOnly);
  },
});

/** The uses of a key that people see. */
const mostUses = 10;

export const keysShowCommand = describeCommand({
  name: 'keys show',
  about: 'Show one key with its uses and changes',
  arguments: [['<key>', 'the id of the key']],
  output: 'result',
  examples: ['1234567'],
  needs: storeOnly,
  async run({ store }, name, { json }) {
    const { number } = makeKeyFinder(await db.listLiveKeys(store.db, { withOthers: true }))(name);
    const [key] = await db.readItems(store.db, db.keyList({ number }, { organizations: null }), 1);
    if (key === undefined) throw usageError(`Key ${name} is not an API key; the report shows other credentials.`);
    const uses = await db.readItems(store.db, db.keyUseList(number), json ? wholeList : mostUses + 1);
    const changes = await db.readItems(store.db, db.keyObservationList(number), wholeList);
    const facts: [string, string | null][] = [
      ['key', `${key.id} "${key.name}"`],
      ['kind', key.kind],
      ['scope', key.scope],
      ['project', key.project_id],
      ['owner', key.owner],
      ['creator', key.creator.name ?? key.creator.id],
      ['state', key.state],
      ['created', key.created_at],
      ['last used', key.use === 'used' ? key.last_used_at : key.use],
      ['from', key.last_used_from],
      ['first seen', key.first_seen_at],
      ['last seen', key.last_seen_at],
      ['gone', key.gone_at],
    ];
    const known = facts.flatMap(([label, value]) => (value === null ? [] : [`${label.padEnd(12)}${value}`]));
    const used = uses.slice(0, mostUses).map(({ hour, address }) => [hour, address ?? '']);
    const more = uses.length > mostUses ? `\nOnly the newest ${mostUses} are shown; --json has all.` : '';
    const changed = changes.map(({ seen_at: at, event }) => [at, event.replaceAll('_', ' ')]);
    const parts = [
      known.join('\n'),
      uses.length === 0 ? 'No use is recorded.' : `${renderTable(['USED IN THE HOUR', 'FROM'], used)}${more}`,
      renderTable(['SEEN', 'WHAT CHANGED'], changed),
    ];
    return { json: { ...key, uses, observations: changes }, text: parts.join('\n\n') };
  },
});

export const ownerListCommand = describeCommand({
  name: 'owner list',
  about: 'List the owners of keys, each with the number of their keys',
  output: 'list',
  examples: [''],
  needs: storeOnly,
  async run({ store }) {
    const owners = await db.listKeyOwners(store.db);
    const columns: Columns<(typeof owners)[number]> = {
      OWNER: (each) => each.owner,
      KEYS: ({ keys }) => String(keys),
      ORGANIZATIONS: ({ organizations }) => organizations.join(' '),
    };
    return list(owners, columns, { none: 'No key is live.' });
  },
});
