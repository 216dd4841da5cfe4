import { decide, isOver, isOverdue, type Step } from '@keywarden/core/rotation';
import { advanceRotation, readRotation, type StoredRotation } from '@keywarden/db/daemon';
import type { Context } from '../context.ts';
import { controlPlaneNow } from '../control-plane-clock.ts';
import { stoppedByUse } from '../enforce/guarded-revocation.ts';
import { factsOf } from './facts-of.ts';
import { mintAndDeliver } from './mint.ts';
import { retire } from './retire.ts';
import { isStopped, nowMsOf, type Run } from './run.ts';

/** A rotation after a pass: its state, and what it waits for. */
export interface Advanced {
  rotation: StoredRotation;
  waits: string | null;
  /** Set if a step failed unexpectedly. Its state does not show that. */
  hasFailed?: true;
}

/** Advances each rotation, until one shows that nothing more may be done in this run. */
export async function advanceAll(context: Context, rotations: StoredRotation[], run: Run): Promise<Advanced[]> {
  if (rotations.length === 0) return [];
  const part = context.progress.part('rotations', 'rotations');
  const moved: Advanced[] = [];
  for (const [index, rotation] of rotations.entries()) {
    part.update(index, rotations.length);
    if (await isStopped(context, run)) break;
    moved.push(await advanceOne(context, rotation, run));
  }
  part.end(`${moved.length} checked`);
  return moved;
}

/** The most steps of a rotation in one pass: from planned over two orphans to overlapping. */
const mostSteps = 20;

/** Takes the steps of one rotation that are possible now. A rotation that fails keeps its state, and the others continue (R7). */
async function advanceOne(context: Context, first: StoredRotation, run: Run): Promise<Advanced> {
  let rotation = first;
  try {
    for (let steps = 0; steps < mostSteps; steps += 1) {
      if (isOver(rotation.state)) return { rotation, waits: null };
      const facts = await factsOf(context, rotation, { scopes: run.facts.scopes, connections: run.connections });
      const waits = await take(context, { rotation, step: decide(rotation, facts) }, run);
      const now = await readRotation(context.store.db, rotation.number);
      if (now === undefined || waits !== null || now.state === rotation.state)
        return { rotation: now ?? rotation, waits };
      rotation = now;
    }
    return { rotation, waits: 'the next pass continues it' };
  } catch (error) {
    context.signal.throwIfAborted();
    context.log.error(
      { rotation: rotation.id, err: error },
      'a rotation could not be advanced; the next pass retries it',
    );
    // The step may have moved it on before it failed: its successor may exist.
    const now = await readRotation(context.store.db, rotation.number).catch(() => undefined);
    return { rotation: now ?? rotation, waits: 'it failed; the next pass retries it', hasFailed: true };
  }
}

/** Takes one step. Returns what the rotation waits for, or null if it may continue at once. */
async function take(
  context: Context,
  { rotation, step }: { rotation: StoredRotation; step: Step },
  run: Run,
): Promise<string | null> {
  const { sql } = context.store;
  const at = atOf(context, rotation, run);
  switch (step.do) {
    case 'wait':
      return step.why;
    case 'mint': {
      const not = await mintAndDeliver(context, rotation, run);
      if (not?.isFinal)
        await advanceRotation(sql, rotation, { event: 'mint_refused', why: not.why, isFinal: true, at });
      return not === null || not.isFinal ? null : not.why;
    }
    case 'retire': {
      const { outcome, why, usedInFlight, rotation: retiring } = await retire(context, rotation, run);
      if (usedInFlight) run.stopped = stoppedByUse;
      if (outcome === 'skipped' && isOverdue(rotation, nowMsOf(run, rotation.key.scopeKey)))
        await advanceRotation(sql, rotation, { event: 'retirement_overdue', why, at });
      if (outcome !== 'revoked') return why;
      await advanceRotation(sql, retiring, { event: 'retired', at: atOf(context, rotation, run) });
      return null;
    }
    case 'move': {
      const { do: _move, ...move } = step;
      await advanceRotation(sql, rotation, { event: 'decided', move, at });
      return null;
    }
    default:
      return step satisfies never;
  }
}

/** Returns the control plane's current time; if it is unknown, the local time. */
export function atOf({ now }: Context, { key }: StoredRotation, run: Run): string {
  const connection = run.connections.find(({ controlPlane }) => controlPlane === key.controlPlane);
  if (connection !== undefined) return controlPlaneNow(connection);
  return new Date(nowMsOf(run, key.scopeKey) ?? now()).toISOString();
}
