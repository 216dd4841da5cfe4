import { decide, isOver, type Step } from '@keywarden/core/rotation';
import { listRotations, moveRotation, type StoredRotation } from '@keywarden/db/daemon';
import type { Connection } from '../connect.ts';
import type { Context } from '../context.ts';
import { whyPaused } from '../enforce/guarded-revocation.ts';
import { governed, whyNotEnforcing } from '../enforce/high-water-mark.ts';
import { planKeys } from '../enforce/plan.ts';
import { tellStalled } from '../notices/stalled.ts';
import { presentOf } from '../sync/organizations.ts';
import { withProcessLock } from '../sync/run.ts';
import { recordAnswer } from './deliver.ts';
import { factsOf } from './facts.ts';
import { mintAndDeliver } from './mint.ts';
import { type Opened, open, openByPolicy, openRequested, type Wish } from './open.ts';
import { type HandledOrphan, handleOrphans } from './orphans.ts';
import { retire } from './retire.ts';
import type { Run } from './run.ts';
import { callPerson, endCall, stall } from './stall.ts';
import { sinkOf } from './targets.ts';

/** A rotation after a pass: where it stands, and what it waits for. */
export interface Moved {
  rotation: StoredRotation;
  waits: string | null;
}

export interface Rotated {
  opened: Opened[];
  moved: Moved[];
  orphans: HandledOrphan[];
  /** Why nothing was begun, or the rest was left; null where nothing stood in the way. */
  why: string | null;
}

const most = 100_000;

/**
 * One pass over all rotations, on keys that were just listed: moves on those that are open, begins those that operators and the policy want, and
 * sees to orphans. With `wishes` a person asks: then a store that may be an older one (R10) holds nothing back. One process at a time does it.
 */
export async function rotate(
  context: Context,
  connections: Connection[],
  { wishes = [], isPerson = false }: { wishes?: ((run: Run) => Wish)[]; isPerson?: boolean } = {},
): Promise<Rotated> {
  return await withProcessLock(context, 'rotations', async () => {
    const { facts, judgements } = await planKeys(context, connections);
    const run: Run = { connections, facts, judgements, refused: new Set(), failedSinks: new Map() };
    const why = (isPerson ? null : await whyNotEnforcing(context)) ?? (await whyPaused(context));
    return await governed(context, async () => {
      if (why !== null) return { opened: [], moved: [], orphans: [], why };
      const { sql } = context.store;
      const known = await listRotations(sql, { isOpen: true, limit: most });
      const moved = await moveAll(context, known, run);
      const opened: Opened[] = [];
      for (const wish of wishes) opened.push(await open(context, wish(run), run));
      opened.push(...(await openRequested(context, run)));
      if (!isPerson) opened.push(...(await openByPolicy(context, run)));
      const numbers = opened.flatMap(({ rotation }) => rotation ?? []);
      moved.push(...(await moveAll(context, await listRotations(sql, { isOpen: true, numbers, limit: most }), run)));
      const orphans = await handleOrphans(context, run);
      moved.push(...(await afterOrphans(context, { moved, orphans }, run)));
      await tellStalled(context, { facts, connections });
      return { opened, moved: lastOfEach(moved), orphans, why: null };
    });
  });
}

const lastOfEach = (moved: Moved[]): Moved[] => [
  ...new Map(moved.map((each) => [each.rotation.number, each])).values(),
];

/** Those whose orphan is gone mint another at once; those whose orphan a person must look at are over. */
async function afterOrphans(
  context: Context,
  { moved, orphans }: { moved: Moved[]; orphans: HandledOrphan[] },
  run: Run,
): Promise<Moved[]> {
  const waiting = moved.filter(({ rotation }) => rotation.state === 'orphaned').map(({ rotation }) => rotation);
  const again: StoredRotation[] = [];
  for (const rotation of waiting) {
    const own = orphans.filter((orphan) => orphan.rotation === rotation.id);
    const stays = own.find(({ isIncident }) => isIncident);
    if (stays === undefined) again.push(rotation);
    else
      await moveRotation(context.store.sql, rotation, {
        to: 'failed',
        why: `its orphan stays: ${stays.why}`,
        at: atOf(rotation, run),
      });
  }
  return [
    ...(await moveAll(context, again, run)),
    ...(await reload(
      context,
      waiting.filter((each) => !again.includes(each)),
    )),
  ];
}

async function reload({ store }: Context, rotations: StoredRotation[]): Promise<Moved[]> {
  const numbers = rotations.map(({ number }) => number);
  return (await listRotations(store.sql, { isOpen: false, numbers, limit: most })).map((rotation) => ({
    rotation,
    waits: null,
  }));
}

async function moveAll(context: Context, rotations: StoredRotation[], run: Run): Promise<Moved[]> {
  const part = context.progress.part('rotations', 'rotations');
  const moved: Moved[] = [];
  for (const [index, rotation] of rotations.entries()) {
    part.update(index, rotations.length);
    if (context.signal.aborted) break;
    moved.push(await moveOn(context, rotation, run));
  }
  part.end(`${moved.length} looked at`);
  return moved;
}

/** No rotation takes more steps in one pass: from planned over two orphans to overlapping. */
const mostSteps = 20;

/** Takes the steps of one rotation that can be taken now. One that fails stays where it is, and the others go on (R7). */
async function moveOn(context: Context, first: StoredRotation, run: Run): Promise<Moved> {
  let rotation = first;
  try {
    for (let steps = 0; steps < mostSteps; steps += 1) {
      if (isOver(rotation.state)) return { rotation, waits: null };
      const facts = await factsOf(context, rotation, run.facts.scopes);
      const waits = await take(context, { rotation, step: decide(rotation, facts) }, run);
      const [now] = await listRotations(context.store.sql, { isOpen: false, numbers: [rotation.number], limit: 1 });
      if (now === undefined || waits !== null || now.state === rotation.state)
        return { rotation: now ?? rotation, waits };
      rotation = now;
    }
    return { rotation, waits: 'the next pass goes on' };
  } catch (error) {
    context.signal.throwIfAborted();
    context.log.error({ rotation: rotation.id, err: error }, 'a rotation could not be moved on, and is tried again');
    return { rotation, waits: 'it failed, and is tried again' };
  }
}

/** Takes one step; answers with what the rotation waits for, null if it may go on at once. */
async function take(
  context: Context,
  { rotation, step }: { rotation: StoredRotation; step: Step },
  run: Run,
): Promise<string | null> {
  switch (step.do) {
    case 'wait':
      return step.why;
    case 'mint': {
      const not = await mintAndDeliver(context, rotation, run);
      if (not?.isFinal) await move(context, rotation, { to: 'failed', why: not.why, isIncident: false }, run);
      return not === null || not.isFinal ? null : not.why;
    }
    case 'ask_sink':
      return await askSink(context, rotation, run);
    case 'retire': {
      const { outcome, why } = await retire(context, rotation, run);
      if (outcome !== 'revoked') return why;
      await move(context, { ...rotation, state: 'retiring' }, { to: 'retired', why: null, isIncident: false }, run);
      return null;
    }
    case 'move':
      await move(context, rotation, step, run);
      return null;
    default:
      return step satisfies never;
  }
}

async function move(
  context: Context,
  rotation: StoredRotation,
  { to, why, isIncident }: Pick<Extract<Step, { do: 'move' }>, 'to' | 'why' | 'isIncident'>,
  run: Run,
): Promise<void> {
  const at = atOf(rotation, run);
  const mint = rotation.mints.at(-1);
  if (to === 'stalled') return await stall(context, rotation, { why: why ?? '', at });
  const lost =
    to === 'orphaned' && mint !== undefined ? { mint: { attempt: mint.attempt, fate: 'lost' as const } } : {};
  await moveRotation(context.store.sql, rotation, { to, why, at, ...lost });
  if (isIncident) await callPerson(context, rotation, why ?? '');
  else if (to === 'adopted' || to === 'retired') await endCall(context, rotation);
}

/** A process ended between the minting and what its sink said. */
async function askSink(context: Context, rotation: StoredRotation, run: Run): Promise<string | null> {
  const mint = rotation.mints.at(-1);
  if (mint?.keyId == null) return 'its successor is not known';
  const sink = await sinkOf(context, rotation, run.connections);
  if ('whyNot' in sink) return sink.whyNot;
  const answer = await sink.ask(mint.keyId, context.signal);
  const at = atOf(rotation, run);
  await recordAnswer(context, rotation, { answer, at, attempt: mint.attempt, place: sink.place, why: null });
  return null;
}

/** The control plane's present; where no connection tells, ours. */
function atOf({ key }: StoredRotation, { connections }: Run): string {
  const connection = connections.find(({ controlPlane }) => controlPlane === key.controlPlane);
  return connection === undefined ? new Date().toISOString() : presentOf(connection);
}
