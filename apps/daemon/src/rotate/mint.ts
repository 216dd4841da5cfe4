import { ControlPlaneError, hasCode } from '@keywarden/core/client';
import { unwantedRotationHold } from '@keywarden/core/policy';
import { successorName } from '@keywarden/core/rotation';
import type { WireCreatedKey } from '@keywarden/core/wire';
import {
  advanceRotation,
  countUnclear,
  isMinted,
  isSinkPathTaken,
  listObservers,
  readRotation,
  type StoredRotation,
} from '@keywarden/db/daemon';
import { UserError } from '@keywarden/runtime';
import type { Connection } from '../connect.ts';
import type { Context } from '../context.ts';
import { withProcessLock } from '../context.ts';
import { controlPlaneNow } from '../control-plane-clock.ts';
import { whyPaused } from '../enforce/guarded-revocation.ts';
import { changeWithMark, markCall, moveMark } from '../enforce/high-water-mark.ts';
import { notNow, type Skip } from '../enforce/revocation-task.ts';
import { listScope, parseScope, scopeLock } from '../sync/scopes.ts';
import { deliver } from './deliver.ts';
import { findMinter } from './find-minter.ts';
import { whyLostSuccessor } from './orphans.ts';
import { type Run, whyStop } from './run.ts';
import { ownConnectionOf } from './settings.ts';
import { sinkOf } from './sink-of.ts';
import { realPathOf } from './sinks/file.ts';
import type { OpenSink } from './sinks/sink.ts';

/** Why nothing was minted now. `isFinal`: a later try cannot succeed either. Null if the rotation has moved on. */
type NotMinted = Skip | null;

/** Mints a successor: lists the scope, commits the intent, creates the key, commits its id, and delivers the secret, which exists only here. */
export async function mintAndDeliver(context: Context, rotation: StoredRotation, run: Run): Promise<NotMinted> {
  const unwanted = unwantedRotationHold(context.config.policy, run.facts, rotation);
  if (unwanted !== null) return notNow(unwanted);
  const minter = await findMinter(context, rotation.key, run.connections);
  // A connection that was not usable in this pass may be the one that can mint.
  const isWhole = run.connections.length === context.config.connections.length;
  if ('whyNot' in minter) return { why: minter.whyNot, isFinal: isWhole };
  if (run.refused.has(minter.name)) return notNow(`the credential of connection ${minter.name} was refused`);
  const sink = await sinkOf(context, rotation, run.connections);
  if ('whyNot' in sink) return notNow(sink.whyNot);
  const unready = run.failedSinks.get(rotation.sink) ?? (await whySinkWaits(context, rotation, sink))?.why;
  if (unready !== undefined) return notNow(`sink ${rotation.sink}: ${unready}`);
  const unprepared = (await sink.prepare?.()) ?? null;
  if (unprepared !== null) return notNow(`sink ${rotation.sink}: ${unprepared}`);
  const path = sink.file === null ? {} : { sinkPath: await realPathOf(sink.file) };
  const minted = await create(context, rotation, { minter, run, path });
  if (minted === null || 'why' in minted) return minted;
  const { secret, keyId } = minted;
  const delivered = await deliver(context, minted.rotation, { sink, minter, keyId, secret });
  if (delivered !== null) run.failedSinks.set(rotation.sink, delivered);
  return null;
}

/** The most secrets that a sink gets while it is unclear whether it has the earlier ones. */
const mostUnclear = 3;

/** Returns why a sink cannot take a secret now, as far as that can be checked without one. `isFinal`: nor later, unless a person fixes it. */
export async function whySinkWaits(
  { store, config }: Context,
  { sink: name, lineage }: Pick<StoredRotation, 'sink' | 'lineage'>,
  sink: OpenSink,
): Promise<Skip | null> {
  if ((await countUnclear(store.db, name)) >= mostUnclear)
    return notNow(`it is unknown whether it has ${mostUnclear} earlier secrets; run keywarden rotations`);
  if (sink.file !== null && ownConnectionOf(name) === null) {
    const file = await realPathOf(sink.file);
    for (const { keyFile, name: connection } of config.connections)
      if (keyFile !== null && (await realPathOf(keyFile)) === file)
        return { why: `${sink.file} has the key of connection ${connection} itself`, isFinal: true };
    if (await isSinkPathTaken(store.db, { sinkPath: file, lineage })) {
      const isOne = new Set(config.connections.map(({ identity }) => identity)).size === 1;
      const remedy = isOne ? 'let its path name the key, as {lineage} does' : 'use one sink for each control plane';
      return { why: `another key has been delivered to ${sink.file}; ${remedy}`, isFinal: true };
    }
  }
  const why = await sink.check();
  return why === null ? null : notNow(why);
}

/** Creates the key under the lock of the scope, so that no listing falls between the intent and the new key. */
async function create(
  context: Context,
  rotation: StoredRotation,
  { minter, run, path }: { minter: Connection; run: Run; path: { sinkPath?: string } },
): Promise<NotMinted | { rotation: StoredRotation; secret: string; keyId: string }> {
  const { key } = rotation;
  const scope = parseScope(key.scope);
  return await withProcessLock(context, scopeLock(key.controlPlane, scope), async (context) => {
    const { store, lease, signal } = context;
    let begun: StoredRotation | undefined;
    let caller = minter;
    try {
      caller = await findLister(context, rotation, { minter, run });
      const listing = await listScope(context, caller, { scope, run: null });
      if (listing.whySuspect !== null || listing.number === null)
        return notNow('its scope could not be listed completely');
      if (!listing.keys.some(({ id }) => id === key.id)) return notNow('the last listing does not show it');
      const lost = await whyLostSuccessor(context, key.number);
      if (lost !== null) return notNow(lost);
      const paused = await whyPaused(context);
      if (paused !== null) return notNow(paused);
      const { number, listedAt } = listing;
      const mint = nextMint(rotation, { minter, listing: number, listedAt });
      const intent = { event: 'mint_begun', mint, at: controlPlaneNow(minter), lease } as const;
      begun = await changeWithMark(context, (mark) => advanceRotation(store.sql, rotation, { ...intent, mark }));
      if (begun === undefined) return notNow('another process is advancing it');
      await markCall(context);
      // T2: after a failover the intent may be lost before the call.
      const stored = await readRotation(store.db, begun.number);
      if (stored?.mints.at(-1)?.name !== mint.name) return notNow('the store has lost the intent of its mint');
      const stopped = await whyStop(context, run);
      if (stopped !== null) return notNow(stopped);
      caller = minter;
      const created = await call(minter, { key, name: mint.name, signal });
      const { id: keyId, secret } = created;
      // The use of another key would retire the old one (T1), and the secret of another rotation must not be delivered. The listings decide.
      const isOther =
        listing.keys.some(({ id }) => id === keyId) ||
        created.projectId !== key.projectId ||
        (await isMinted(store.db, begun, keyId));
      if (isOther) return null;
      const minted = { event: 'minted', keyId, ...path, at: controlPlaneNow(minter) } as const;
      const moved = await advanceRotation(store.sql, begun, minted);
      // A store that lost the id lacks this mark too: without the id, no sink has the secret.
      await moveMark(context);
      // Another process has moved the rotation on and treats this key as lost, so its secret must not be delivered.
      return moved === undefined ? null : { rotation: moved, secret, keyId };
    } catch (error) {
      return await recordMintFailure(context, begun, { minter, caller, run, error });
    }
  });
}

function nextMint(
  { id, key, mints }: StoredRotation,
  { minter, ...listed }: { minter: Connection; listing: string; listedAt: string },
): StoredRotation['mints'][number] {
  const attempt = (mints.at(-1)?.attempt ?? 0) + 1;
  const name = successorName(key.name, { id, attempt });
  const unsettled = { keyId: null, outcome: null, deliveredAt: null, sinkPath: null };
  return { attempt, name, connection: minter.name, creatorId: minter.accountId, ...listed, ...unsettled };
}

/** Returns a connection that can list the scope. A member can mint project-scoped keys, and only administrators see them. */
async function findLister(
  { store }: Context,
  { key }: StoredRotation,
  { minter, run }: { minter: Connection; run: Run },
): Promise<Connection> {
  const observers = await listObservers(store.db, { controlPlane: key.controlPlane, scope: key.scope });
  const usable = run.connections.filter(({ name }) => observers.includes(name) && !run.refused.has(name));
  return usable.includes(minter) ? minter : (usable.find((each) => each.controlPlane === key.controlPlane) ?? minter);
}

async function call(
  { client }: Connection,
  { key, name, signal }: { key: StoredRotation['key']; name: string; signal: AbortSignal },
): Promise<WireCreatedKey> {
  if (key.organizationId === null) return await client.createPersonalKey(name, { signal });
  const project = key.projectId === null ? {} : { projectId: key.projectId };
  return await client.createOrganizationKey(key.organizationId, { name, ...project, signal });
}

/** Records a failure: whether a key may have been minted, and whether another try makes sense. `caller` sent the last request. */
async function recordMintFailure(
  { store }: Context,
  begun: StoredRotation | undefined,
  { minter, caller, run, error }: { minter: Connection; caller: Connection; run: Run; error: unknown },
): Promise<NotMinted> {
  if (error instanceof UserError) return notNow(error.message);
  if (!(error instanceof ControlPlaneError)) throw error;
  if (error.code === 'unauthenticated') run.refused.add(caller.name);
  if (error.code === 'outcome_unknown') return null; // listings decide
  const isFinal = hasCode(error, 'forbidden', 'not_found', 'rejected');
  const why = `nothing was minted: ${error.message}`;
  // Before the intent there is nothing to undo.
  if (begun === undefined) return notNow(why);
  await advanceRotation(store.sql, begun, { event: 'mint_refused', why, isFinal, at: controlPlaneNow(minter) });
  return isFinal ? null : notNow(why);
}
