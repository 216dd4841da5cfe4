import type { Signer } from '@keywarden/core/ledger';
import * as db from '@keywarden/db/daemon';
import { usageError } from '@keywarden/runtime';
import { eventsAtOnce, type LedgerContext, reasons, signAndRemember } from './ledger.ts';
import { endOtherKeys, endorsedKeysOf } from './public-keys.ts';
import { putSeenAside, readCheckpoint, readSeen, rememberLatest } from './seen-checkpoint.ts';
import { readSigningKeys, replaceLedgerKey } from './signing-keys.ts';

/**
 * Begins a new ledger with a new name and key, because a restored store can never continue what machines and witnesses have seen, or because the key is lost.
 * The new ledger has all events of the store, and then one with the last checkpoints of the former ledger. The former files stay beside the new ones. A run
 * that was interrupted can be repeated. Throws a UserError if there is no ledger, or if the tree in the store is not the one of its own last checkpoint.
 */
export async function beginAnew(context: LedgerContext, { reason, by }: { reason: string; by: string }): Promise<void> {
  const { store, environment } = context;
  const folder = environment.KEYWARDEN_DATA;
  const [newest, seen] = [await db.readNewestCheckpoint(store.db), readSeen(folder)];
  const former = newest === null ? seen : readCheckpoint(newest.note);
  if (former === null) throw usageError('There is no ledger that could begin anew; the daemon begins the first one.');
  if (newest !== null && !(await db.continues(store.db, { size: newest.size, root: former.root })))
    throw usageError(
      'The hashes in this store are not those of its own last checkpoint: it was changed, not restored. Restore a backup first.',
    );
  const own = readSigningKeys(environment)[0]?.verifier.name;
  // An interrupted run has created the key already.
  if (own === undefined || own === former.origin || own === seen?.origin)
    replaceLedgerKey(environment, suffixOf(own ?? former.origin));
  const signers = readSigningKeys(environment);
  const keys = signers.map(({ verifier }) => verifier.text);
  const checkpoints = { formerCheckpoint: newest?.note ?? null, seenCheckpoint: seen?.note ?? null };
  await db.recordBeginning(store.db, { ...checkpoints, reason, begunBy: by });
  await db.noteLedgerKeys(store.db, endorsedKeysOf(signers));
  if (seen !== null) putSeenAside(folder, suffixOf(seen.origin));
  await signAll(context, signers);
  await endOtherKeys(store.db, keys);
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

/** Returns the end of a file's name for a former ledger. A store that was restored again has another one than the files of this machine. */
const suffixOf = (origin: string) => `of-${origin.replaceAll(/[^\w.-]/g, '_')}`;
