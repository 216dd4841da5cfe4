import * as db from '@keywarden/db/daemon';
import type { Connection } from '../connect.ts';
import type { Context } from '../context.ts';
import { withProcessLock } from '../context.ts';
import { whyPaused } from '../enforce/guarded-revocation.ts';
import { reportBetweenMarks, wholeSince } from '../enforce/high-water-mark.ts';
import { planKeys } from '../enforce/plan.ts';
import { readPermissions } from '../enforce/standing.ts';
import { notifyStalled } from '../notices/stalled.ts';
import { type Advanced, advanceAll, atOf } from './advance.ts';
import { type Opened, open, openRequested, refusal, ruleOf } from './open.ts';
import { openByPolicy } from './open-by-policy.ts';
import { type HandledOrphan, handleOrphans } from './orphans.ts';
import type { Run } from './run.ts';

export interface Rotated {
  opened: Opened[];
  moved: Advanced[];
  orphans: HandledOrphan[];
  /** Why nothing was done, or why the rest was skipped; null if neither applies. */
  why: string | null;
  /** Why the mark after the pass could not be made, as a sentence; null if it was. */
  whyUnmarked: string | null;
}

/** The keys that a person requests. */
export interface RotateRequest {
  keys: db.NamedKey[];
  /** The sink to use instead of that of the rule. */
  sink: string | undefined;
  by: string;
}

/**
 * Runs one pass over all rotations, on keys that were just listed. It advances the open ones, opens those that operators and the policy
 * request, and handles orphans. If a person has requested keys, the pass covers only those, and a possibly older store (R10) does not hold
 * it back. One process at a time does it.
 */
export async function rotate(context: Context, connections: Connection[], request?: RotateRequest): Promise<Rotated> {
  return await withProcessLock(context, 'rotations', async (context) => {
    const { facts, judgements } = await planKeys(context, connections);
    const { whyNotAutomatic } = await readPermissions(context);
    const why = request === undefined ? whyNotAutomatic : await whyPaused(context);
    const run: Run = {
      connections,
      facts,
      judgements,
      refused: new Set(),
      membersListedMs: new Map(),
      failedSinks: new Map(),
      isRequested: request !== undefined,
      wholeSince: whyNotAutomatic === null ? await wholeSince(context) : null,
      stopped: null,
    };
    return await reportBetweenMarks(context, async () => {
      if (why !== null) return { opened: [], moved: [], orphans: [], why };
      const { opened, moved, lineages } =
        request === undefined ? await rotateAll(context, run) : await rotateRequested(context, request, run);
      const orphans = await handleOrphans(context, run, lineages);
      moved.push(...(await afterOrphans(context, { moved, orphans }, run)));
      // A pass that was cut short must not look done.
      context.signal.throwIfAborted();
      await notifyStalled(context, { facts, connections });
      const last = new Map(moved.map((each) => [each.rotation.number, each]));
      return { opened, moved: [...last.values()], orphans, why: run.stopped };
    });
  });
}

/** The rotations of a pass. `lineages` are those whose orphans it handles; all of them by default. */
type Moved = Pick<Rotated, 'opened' | 'moved'> & { lineages?: Set<string> };

/** Advances the open rotations, and opens those that operators and the policy request. */
async function rotateAll(context: Context, run: Run): Promise<Moved> {
  const moved = await advanceAll(context, await db.listOpenRotations(context.store.db), run);
  const opened =
    run.stopped === null ? [...(await openRequested(context, run)), ...(await openByPolicy(context, run))] : [];
  moved.push(...(await advanceAll(context, await readAll(context, opened), run)));
  return { opened, moved };
}

/** Opens the requested rotations. If a key is already in rotation, advances that one. */
async function rotateRequested(context: Context, { keys, sink, by }: RotateRequest, run: Run): Promise<Moved> {
  const openBefore = await db.listOpenRotations(context.store.db);
  const opened: Opened[] = [];
  const rotations: db.StoredRotation[] = [];
  for (const key of keys) {
    const rule = ruleOf(context.config.policy, run, key.number);
    const known = openBefore.find((each) => each.key.number === key.number);
    if (known !== undefined) {
      if (sink === undefined || sink === known.sink) rotations.push(known);
      else opened.push(refusal({ key, rule }, { whyNot: whyOtherSink(known), isTransient: false }));
      continue;
    }
    opened.push(await open(context, { key, rule, sink, via: 'command line', by }, run));
  }
  rotations.push(...(await readAll(context, opened)));
  const moved = await advanceAll(context, rotations, run);
  return { opened, moved, lineages: new Set(rotations.map(({ lineage }) => lineage)) };
}

const whyOtherSink = ({ id, sink }: db.StoredRotation) =>
  `its open rotation ${id} has the sink ${sink}; continue it without --sink, or end it with keywarden rotations --give-up ${id}`;

async function readAll({ store }: Context, opened: Opened[]): Promise<db.StoredRotation[]> {
  const rotations: db.StoredRotation[] = [];
  for (const { rotation: number } of opened) {
    const rotation = number === null ? undefined : await db.readRotation(store.db, number);
    if (rotation !== undefined) rotations.push(rotation);
  }
  return rotations;
}

/** Mints another successor at once for rotations whose orphan is gone. Ends the rotations whose orphan a person must review. */
async function afterOrphans(
  context: Context,
  { moved, orphans }: { moved: Advanced[]; orphans: HandledOrphan[] },
  run: Run,
): Promise<Advanced[]> {
  const waiting = moved.filter(({ rotation }) => rotation.state === 'orphaned').map(({ rotation }) => rotation);
  const again: db.StoredRotation[] = [];
  const over: Advanced[] = [];
  for (const rotation of waiting) {
    const stays = orphans.find((orphan) => orphan.rotation === rotation.id && orphan.stays);
    if (stays === undefined) {
      again.push(rotation);
      continue;
    }
    const kept = { event: 'orphan_kept', why: stays.why, at: atOf(context, rotation, run) } as const;
    over.push({ rotation: (await db.advanceRotation(context.store.sql, rotation, kept)) ?? rotation, waits: null });
  }
  return [...(await advanceAll(context, again, run)), ...over];
}
