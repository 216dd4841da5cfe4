import { currentMint, mayFollow } from '@keywarden/core/rotation';
import { advanceRotation, listOpenRotations, listRotations, type StoredRotation } from '@keywarden/db/daemon';
import { print, UserError, usageError } from '@keywarden/runtime';
import { type Context, withProcessLock } from '../context.ts';
import { betweenMarks } from '../enforce/high-water-mark.ts';
import { describeCommand } from './command.ts';
import { userName, wholeList } from './common.ts';
import { type Columns, list } from './output.ts';
import { storeOnly } from './with-context.ts';

export const rotationsCommand = describeCommand({
  name: 'rotations',
  about: 'List the open rotations with their states, or end one',
  options: { '--all': 'list ended rotations, too', '--give-up <id>': 'end this rotation, and keep both of its keys' },
  output: 'list',
  examples: ['', '--give-up k3v9x2ab'],
  needsPerson: 'a rotation is stalled',
  needs: storeOnly,
  async run(context, { all = false, giveUp, output }) {
    const { store } = context;
    const ended = giveUp === undefined ? null : await endRotation(context, giveUp);
    const rotations = all ? await listRotations(store.db, wholeList) : await listOpenRotations(store.db);
    if (ended !== null && output !== 'json' && output !== 'csv') print(`${givenUpInWords(ended)}\n`);
    const columns: Columns<StoredRotation> = {
      ROTATION: ({ id }) => id,
      KEY: ({ key }) => key.id,
      SUCCESSOR: (each) => currentMint(each)?.keyId ?? '-',
      NAME: ({ key }) => key.name,
      SINK: ({ sink }) => sink,
      STATE: ({ state }) => state,
      SINCE: ({ since }) => since,
      WHY: ({ why }) => why ?? '',
    };
    const found = list(rotations, columns, {
      json: { rotations: rotations.map(rotationToJson) },
      none: all ? 'No rotation was ever recorded.' : 'No rotation is open.',
    });
    return { ...found, needsPerson: rotations.some(({ state }) => state === 'stalled') };
  },
});

/** Gives a rotation up on a person's request. Its keys stay as they are, and the policy applies to them again. */
async function endRotation(context: Context, id: string): Promise<StoredRotation> {
  const { store } = context;
  return await withProcessLock(context, 'rotations', async () => {
    const rotation = (await listOpenRotations(store.db)).find((each) => each.id === id);
    if (rotation === undefined) throw usageError(`There is no open rotation ${id}; keywarden rotations shows them.`);
    const by = userName();
    const now = new Date(context.now()).toISOString();
    const at = rotation.since > now ? rotation.since : now; // a sandbox's time can be moved
    if (!mayFollow(rotation.state, 'failed'))
      throw notPossible(`Rotation ${id} is revoking its old key; run keywarden rotate, then check again.`);
    const ended = await betweenMarks(context, () =>
      advanceRotation(store.sql, rotation, { event: 'given_up', by, at }),
    );
    if (ended !== undefined) return ended;
    throw notPossible(`Rotation ${id} has changed in the meantime. Run keywarden rotations to see its state.`);
  });
}

const notPossible = (message: string) => new UserError('not_possible', message);

function givenUpInWords({ id, key, mints }: StoredRotation): string {
  const successor = currentMint({ mints })?.keyId ?? null;
  const both = successor === null ? 'stays' : `and its successor ${successor} stay`;
  return `Rotation ${id} was given up: key ${key.id} ${both}, and the policy applies again; run keywarden rotate ${key.id} to start another.`;
}

/** Returns a rotation for machines. */
export function rotationToJson(rotation: StoredRotation) {
  const { key } = rotation;
  return {
    id: rotation.id,
    key: { id: key.id, name: key.name, kind: key.kind, scope: key.scopeKey },
    rule: rotation.rule,
    sink: rotation.sink,
    via: rotation.via,
    requested_by: rotation.requestedBy,
    opened_at: rotation.openedAt,
    state: rotation.state,
    since: rotation.since,
    why: rotation.why,
    successors: rotation.mints.map(({ attempt, name, keyId, outcome, deliveredAt }) => ({
      attempt,
      name,
      key_id: keyId,
      outcome,
      // The former name, kept for one more version.
      fate: outcome,
      delivered_at: deliveredAt,
    })),
  };
}
