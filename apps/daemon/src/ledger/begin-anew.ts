import type { Checkpoint, Signer } from '@keywarden/core/ledger';
import * as db from '@keywarden/db/daemon';
import { usageError } from '@keywarden/runtime';
import type { LedgerContext } from '../context.ts';
import { eventsAtOnce, reasons, signAndRemember } from './ledger.ts';
import { endOtherKeys, endorsedKeysOf, putOtherPublicKeysAside } from './public-keys.ts';
import { putSeenAside, readCheckpoint, readSeen, rememberLatest } from './seen-checkpoint.ts';
import { forgetBegun, readBegun, readSigningKeys, rememberBegun, replaceLedgerKey } from './signing-keys.ts';

/**
 * Begins a new ledger with a new name and key, because a restored store can never continue what machines and witnesses have seen, or because the key is lost.
 * The new ledger has all events of the store, and then one with the last checkpoints of the former ledger. The former files stay beside the new ones. A run
 * after one that was killed finishes the ledger that it began. Throws a UserError if there is no ledger, or if the tree in the store is not the one of its own
 * last checkpoint.
 */
export async function beginAnew(context: LedgerContext, { reason, by }: { reason: string; by: string }): Promise<void> {
  const { store, environment } = context;
  const folder = environment.KEYWARDEN_DATA;
  const [newest, seen] = [await db.readNewestCheckpoint(store.db), readSeen(folder)];
  const former = newest === null ? seen : readCheckpoint(newest.note);
  const own = readSigningKeys(environment)[0]?.verifier.name;
  const wasBegun = await isBegun(context, own, seen);
  if (former === null && !wasBegun)
    throw usageError('There is no ledger that could begin anew; the daemon begins the first one.');
  if (newest !== null && (former === null || !(await db.continues(store.db, former))))
    throw usageError(
      'The hashes in this store are not those of its own last checkpoint: it was changed, not restored. Restore a backup first.',
    );
  const isGiven = environment.LEDGER_KEY !== undefined && own !== former?.origin && own !== seen?.origin;
  if (isGiven && own !== undefined) rememberBegun(folder, own);
  else if (!wasBegun) replaceLedgerKey(environment);
  const signers = readSigningKeys(environment);
  const keys = signers.map(({ verifier }) => verifier.text);
  const name = signers[0]?.verifier.name ?? '';
  const checkpoints = { formerCheckpoint: newest?.note ?? null, seenCheckpoint: seen?.note ?? null };
  // The new ledger has the event before its first checkpoint.
  if (former?.origin !== name) await db.recordBeginning(store.db, { ...checkpoints, reason, begunBy: by });
  await db.noteLedgerKeys(store.db, endorsedKeysOf(signers));
  if (seen !== null && seen.origin !== name) putSeenAside(folder, seen);
  await signAll(context, signers);
  // The daemon of this machine may have followed the former ledger until now.
  putOtherPublicKeysAside(folder, name);
  await endOtherKeys(store.db, keys);
  forgetBegun(folder);
}

/** Returns whether an earlier run began this key's ledger and did not finish it. A store restored since gets another ledger. */
async function isBegun(
  { store, environment }: LedgerContext,
  own: string | undefined,
  seen: Checkpoint | null,
): Promise<boolean> {
  if (own === undefined || own !== readBegun(environment.KEYWARDEN_DATA)) return false;
  return seen?.origin !== own || (await db.continues(store.db, seen));
}

/** Signs all events of the store as the new ledger. Throws a UserError if another machine continues the former one meanwhile. */
async function signAll(context: LedgerContext, signers: Signer[]): Promise<void> {
  const { name } = signers[0]?.verifier ?? {};
  let latestMs: number | null = null;
  for (let hasMore = true; hasMore; ) {
    const result = await db.integrateEvents(context.store.sql, {
      limit: eventsAtOnce,
      seen: null,
      latestMs,
      open: readCheckpoint,
      sign: (head) => signAndRemember(context, head, signers),
    });
    if (typeof result === 'string') throw usageError(`The new ledger cannot begin: ${reasons[result]}.`);
    ({ hasMore, latestMs } = result);
    if (!hasMore && readCheckpoint(result.note ?? '')?.origin !== name)
      throw usageError(
        'Another machine added to the former ledger meanwhile. Stop the daemons on the other machines, then run this again.',
      );
  }
  rememberLatest(context.environment.KEYWARDEN_DATA, latestMs);
}
