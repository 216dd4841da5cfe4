import {
  closeIncidentsOfKey,
  type MintChange,
  moveRotation,
  openIncidentOfKey,
  type StoredRotation,
} from '@keywarden/db/daemon';
import type { Context } from '../context.ts';

/** A rotation that does not go on by itself: an incident and a notice, and both keys stay. */
export async function stall(
  context: Context,
  rotation: StoredRotation,
  { why, at, mint }: { why: string; at: string; mint?: MintChange },
): Promise<void> {
  await moveRotation(context.store.sql, rotation, { to: 'stalled', why, at, ...(mint === undefined ? {} : { mint }) });
  await callPerson(context, rotation, why);
}

/** An incident of the old key, until the rotation goes on. */
export async function callPerson({ store }: Context, { id, key }: StoredRotation, why: string): Promise<void> {
  const detail = { rotation: id, why };
  await openIncidentOfKey(store.sql, { kind: 'rotation_stalled', key: key.number, scope: key.factScope, detail });
}

/** It has gone on by itself. */
export async function endCall({ store }: Context, { key }: StoredRotation): Promise<void> {
  const note = 'the rotation went on';
  await closeIncidentsOfKey(store.sql, { kind: 'rotation_stalled', key: key.number, note });
}
