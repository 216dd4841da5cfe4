import { ControlPlaneError } from '@keywarden/core/client';
import { UserError } from '@keywarden/core/process';
import { currentMint, successorName } from '@keywarden/core/rotation';
import type { WireCreatedKey } from '@keywarden/core/wire';
import { beginMint, isPlaceTaken, moveRotation, type StoredRotation } from '@keywarden/db/daemon';
import type { Connection } from '../connect.ts';
import type { Context } from '../context.ts';
import { presentOf } from '../sync/organizations.ts';
import { withProcessLock } from '../sync/run.ts';
import { listScope, parseScope, scopeLock } from '../sync/scopes.ts';
import { deliver } from './deliver.ts';
import type { Run } from './run.ts';
import type { OpenSink } from './sinks/sink.ts';
import { sinkOf } from './targets.ts';
import { findMinter } from './who.ts';

/** Why nothing was minted now; `isFinal`: nor will it be. Null if the rotation has moved on. */
type NotMinted = { why: string; isFinal: boolean } | null;

/**
 * Mints a successor and gives its secret to the sink: the scope is listed, the intent committed, the key created, its id committed, its
 * secret delivered. The secret is nowhere else than in this call.
 */
export async function mintAndDeliver(context: Context, rotation: StoredRotation, run: Run): Promise<NotMinted> {
  const minter = await findMinter(context, rotation.key, run.connections);
  if ('whyNot' in minter) return { why: minter.whyNot, isFinal: true };
  if (run.refused.has(minter.name)) return notNow(`the credential of connection ${minter.name} was refused`);
  const sink = await sinkOf(context, rotation, run.connections);
  if ('whyNot' in sink) return notNow(sink.whyNot);
  const unready = run.failedSinks.get(rotation.sink) ?? (await whyNotReady(context, rotation, sink));
  if (unready !== null) return notNow(`sink ${rotation.sink}: ${unready}`);
  const minted = await create(context, rotation, { minter, run });
  if (minted === null || 'why' in minted) return minted;
  const { secret, ...mint } = minted;
  const delivered = await deliver(context, { ...rotation, state: 'minted' }, { sink, minter, mint, secret });
  if (delivered !== null) run.failedSinks.set(rotation.sink, delivered);
  return null;
}

const notNow = (why: string) => ({ why, isFinal: false });

async function whyNotReady(
  { store }: Context,
  { sink: name, line }: StoredRotation,
  sink: OpenSink,
): Promise<string | null> {
  const isTaken = await isPlaceTaken(store.sql, { sink: name, place: sink.place, line });
  if (isTaken) return `another key has been delivered to ${sink.place}; let its place name the key, as {line} does`;
  return await sink.check();
}

/** Under the lock of the scope: no listing comes between the intent and what it makes. */
async function create(
  context: Context,
  rotation: StoredRotation,
  { minter, run }: { minter: Connection; run: Run },
): Promise<NotMinted | { secret: string; keyId: string; attempt: number }> {
  const { store, signal } = context;
  const { key } = rotation;
  const scope = parseScope(key.scope);
  return await withProcessLock(context, scopeLock(key.controlPlane, scope), async () => {
    try {
      const listing = await listScope(store.sql, minter, { scope, run: null, signal });
      if (listing.doubt !== null || listing.number === null) return notNow('its scope could not be listed whole');
      if (!listing.keys.some(({ id }) => id === key.id)) return notNow('the last listing does not show it');
      const attempt = (currentMint(rotation)?.attempt ?? 0) + 1;
      const name = successorName(key.name, { id: rotation.id, attempt });
      const intent = { attempt, name, connection: minter.name, creatorId: minter.accountId, listing: listing.number };
      if (!(await beginMint(store.sql, rotation, { ...intent, at: presentOf(minter) })))
        return notNow('another process moves it on');
      const created = await call(minter, { key, name, signal });
      const mint = { attempt, keyId: created.id };
      await moveRotation(store.sql, { ...rotation, state: 'minting' }, { to: 'minted', at: presentOf(minter), mint });
      return { secret: created.secret, ...mint };
    } catch (error) {
      return await refuse(context, rotation, { minter, run, error });
    }
  });
}

async function call(
  { client }: Connection,
  { key, name, signal }: { key: StoredRotation['key']; name: string; signal: AbortSignal },
): Promise<WireCreatedKey> {
  if (key.organizationId === null) return await client.createPersonalKey(name, { signal });
  const project = key.projectId === null ? {} : { projectId: key.projectId };
  return await client.createOrganizationKey(key.organizationId, { name, ...project, signal });
}

/** What a failure says: whether anything may have been minted, and whether it is worth another try. */
async function refuse(
  { store, signal }: Context,
  rotation: StoredRotation,
  { minter, run, error }: { minter: Connection; run: Run; error: unknown },
): Promise<NotMinted> {
  signal.throwIfAborted();
  if (error instanceof UserError) return notNow(error.message);
  if (!(error instanceof ControlPlaneError)) throw error;
  if (error.code === 'unauthenticated') run.refused.add(minter.name);
  if (error.code === 'outcome_unknown') return null; // listings tell
  const isFinal = ['forbidden', 'not_found', 'rejected'].includes(error.code);
  const to = isFinal ? 'failed' : 'planned';
  const why = `nothing was minted: ${error.message}`;
  // Before the intent there is nothing to take back.
  const hasMoved = await moveRotation(store.sql, { ...rotation, state: 'minting' }, { to, why, at: presentOf(minter) });
  return hasMoved && isFinal ? null : notNow(why);
}
