import { exitCode, usageError } from '@keywarden/core/process';
import { isOver, mayFollow } from '@keywarden/core/rotation';
import { listRotations, moveRotation, type StoredRotation } from '@keywarden/db/daemon';
import type { Context } from '../context.ts';
import { governed } from '../enforce/high-water-mark.ts';
import { endCall } from '../rotate/stall.ts';
import { withProcessLock } from '../sync/run.ts';
import { printJson, withContext } from './session.ts';
import { renderTable } from './table.ts';
import { userName } from './user.ts';

export interface RotationsOptions {
  all?: boolean;
  giveUp?: string;
  json?: boolean;
}

const shown = 1000;

/** Shows where rotations stand, or gives one up. Exits with 3 while one stalls. */
export async function rotationsCommand({ all = false, giveUp, json = false }: RotationsOptions): Promise<number> {
  return await withContext(
    async (context) => {
      const { store } = context;
      if (giveUp !== undefined) await endRotation(context, giveUp);
      const rotations = await listRotations(store.sql, { isOpen: !all, limit: shown });
      if (json) printJson({ rotations: rotations.map(rotationToJson) });
      else console.log(render(rotations, { all }));
      return rotations.some(({ state }) => state === 'stalled') ? exitCode.needsPerson : exitCode.done;
    },
    { needsControlPlane: false },
  );
}

/** A person gives a rotation up: its keys stay as they are, and are the policy's again. */
async function endRotation(context: Context, id: string): Promise<void> {
  const { store } = context;
  await withProcessLock(context, 'rotations', async () => {
    const open = await listRotations(store.sql, { isOpen: true, limit: 100_000 });
    const rotation = open.find((each) => each.id === id);
    if (rotation === undefined) throw usageError(`There is no open rotation ${id}; keywarden rotations shows them.`);
    if (!mayFollow(rotation.state, 'failed') || isOver(rotation.state))
      throw usageError(`Rotation ${id} is revoking its old key; wait for the next keywarden rotate.`);
    const why = `given up by ${userName()}`;
    await governed(context, async () => {
      const now = new Date().toISOString();
      const at = rotation.since > now ? rotation.since : now; // a sandbox's time is moved
      await moveRotation(store.sql, rotation, { to: 'failed', why, at });
      await endCall(context, rotation);
    });
  });
}

function render(rotations: StoredRotation[], { all }: { all: boolean }): string {
  if (rotations.length === 0) return all ? 'There never was a rotation.' : 'No rotation is open.';
  const rows = rotations.map((each) => [
    each.id,
    each.key.id,
    each.mints.at(-1)?.keyId ?? '-',
    each.key.name,
    each.sink,
    each.state,
    each.since,
    each.why ?? '',
  ]);
  return renderTable(['ROTATION', 'KEY', 'SUCCESSOR', 'NAME', 'SINK', 'STATE', 'SINCE', 'WHY'], rows);
}

/** A rotation for machines. */
export function rotationToJson({
  id,
  key,
  rule,
  sink,
  via,
  requestedBy,
  openedAt,
  state,
  since,
  why,
  mints,
}: StoredRotation) {
  return {
    id,
    key: { id: key.id, name: key.name, kind: key.kind, scope: key.factScope },
    rule,
    sink,
    via,
    requested_by: requestedBy,
    opened_at: openedAt,
    state,
    since,
    why,
    successors: mints.map(({ attempt, name, keyId, fate, deliveredAt }) => ({
      attempt,
      name,
      key_id: keyId,
      fate,
      delivered_at: deliveredAt,
    })),
  };
}
