import * as ledger from '@keywarden/core/ledger';
import * as db from '@keywarden/db/daemon';
import type { LedgerContext } from '../context.ts';
import { endorsedKeysOf, isAccepted } from './public-keys.ts';
import { readCheckpoint, readLatestRecorded, readSeen, rememberLatest, writeSeen } from './seen-checkpoint.ts';
import { createLedgerKey, discardLedgerKey, readBegun, readSigningKeys } from './signing-keys.ts';
import { askWitnesses, confirmCheckpoint } from './witnesses.ts';

/** The most events that are added in one transaction. */
export const eventsAtOnce = 5000;

/**
 * What a pass of the sequencer did.
 * - no_key: another machine has the key, and this one only checks.
 * - unconfirmed: this machine remembers no checkpoint, and signs nothing before a witness has confirmed the newest one.
 */
export type Grown =
  | { state: 'grown' | 'no_key'; size: number; added: number }
  | { state: 'inconsistent' | 'unconfirmed'; why: string };

/**
 * Adds the waiting events to the ledger and keeps the signed checkpoint outside the database. Only a machine with the ledger's key can sign; every other one
 * checks the newest checkpoint. A ledger that does not continue what this machine has seen opens an incident. Only a daemon creates the key of a new ledger.
 */
export async function growLedger(context: LedgerContext, { createsKey = false } = {}): Promise<Grown> {
  for (;;) {
    const before = nameLedger(context.environment);
    const grown = await growOnce(context, createsKey);
    if (grown.state !== 'inconsistent') return grown;
    // Another process of this machine may have begun the ledger anew meanwhile: this pass compared the one with the files of the other.
    if (nameLedger(context.environment) === before) {
      await db.openLedgerIncident(context.store.db, grown.why);
      return grown;
    }
  }
}

/** Grows the ledger, and asks its witnesses for cosignatures. Returns why they did not cosign, as sentences, too. */
export async function growAndWitness(
  context: LedgerContext,
  options?: { createsKey: boolean },
): Promise<{ grown: Grown; failures: string[] }> {
  const grown = await growLedger(context, options);
  if (grown.state === 'grown') return { grown, failures: await askWitnesses(context) };
  return { grown, failures: grown.state === 'unconfirmed' ? [grown.why] : [] };
}

/** Returns the names of the ledgers that this machine signs and has seen. */
function nameLedger(environment: LedgerContext['environment']): string {
  const [signer] = readSigningKeys(environment);
  return [signer?.verifier.name, readSeen(environment.KEYWARDEN_DATA)?.origin].join(' ');
}

async function growOnce(context: LedgerContext, createsKey: boolean): Promise<Grown> {
  const { store, environment } = context;
  const newest = await db.readNewestCheckpoint(store.db);
  // A store without checkpoints has no new ledger if this machine has seen one: the store lost them.
  const last = newest?.note ?? readSeen(environment.KEYWARDEN_DATA)?.note ?? null;
  const mayCreate = last === null && createsKey && readSigningKeys(environment).length === 0;
  const hasCreated = mayCreate && createLedgerKey(environment);
  const signers = readSigningKeys(environment);
  const isOurs = last === null || openCheckpoint(last, signers) !== null;
  if (signers.length === 0 || !isOurs) return await followLedger(context, signers);
  if (!hasCreated && readSeen(environment.KEYWARDEN_DATA) === null) {
    const refusal = await confirmNewest(context, newest, signers);
    if (refusal !== null) return refusal;
  }
  await db.noteLedgerKeys(store.db, endorsedKeysOf(signers));
  let added = 0;
  for (;;) {
    const seen = readSeen(environment.KEYWARDEN_DATA);
    const latestMs = readLatestRecorded(environment.KEYWARDEN_DATA);
    const result = await db.integrateEvents(store.sql, {
      limit: eventsAtOnce,
      seen,
      latestMs,
      // Keys may have been rotated meanwhile.
      open: (note) => openCheckpoint(note, readSigningKeys(environment)),
      sign: (head) => signAndRemember(context, head, readSigningKeys(environment)),
    });
    if (result === 'signature') {
      // Another machine has signed first.
      if (hasCreated) discardLedgerKey(environment, signers[0]);
      return await followLedger(context, signers);
    }
    if (typeof result === 'string') return differs(result);
    added += result.added;
    rememberLatest(environment.KEYWARDEN_DATA, result.latestMs);
    if (result.note !== null) writeSeen(environment.KEYWARDEN_DATA, result.note);
    if (!result.hasMore) return { state: 'grown', size: result.size, added };
  }
}

/**
 * Asks the witnesses about the newest checkpoint of the store, or about the tree without an event if it has none, and remembers it. Returns why the machine may not
 * sign. A witness that does not know the ledger has seen nothing of it, which is enough before the first event.
 */
async function confirmNewest(
  context: LedgerContext,
  newest: { size: number; note: string } | null,
  signers: ledger.Signer[],
): Promise<Grown | null> {
  const { size, note } = newest ?? { size: 0, note: signAndRemember(context, ledger.emptyTree, signers) ?? '' };
  const said = await confirmCheckpoint(context, { size, note });
  if (said.state === 'differs') return { state: 'inconsistent', why: said.why };
  if (said.state !== 'cosigned' && !(size === 0 && said.state === 'unknown'))
    return {
      state: 'unconfirmed',
      why: `this machine remembers no checkpoint, and signs once a witness has confirmed the newest one; ${said.why}`,
    };
  // What the store shows from now on must continue it.
  writeSeen(context.environment.KEYWARDEN_DATA, note);
  return null;
}

export const reasons: Record<db.Inconsistency, string> = {
  signature: 'its last checkpoint is not signed with the key of the ledger',
  hashes: 'its hashes are not those of its last checkpoint',
  older: 'it has fewer events than this machine has seen',
  forked: 'it has other events than this machine has seen',
  places: 'an event has a place outside its tree',
  lost: 'it lacks the last event of its tree',
};

const differs = (reason: db.Inconsistency): Grown => ({ state: 'inconsistent', why: reasons[reason] });

/** Checks the newest checkpoint of a machine without the ledger's key, and remembers it. */
async function followLedger(context: LedgerContext, signers: ledger.Signer[]): Promise<Grown> {
  const { store, environment } = context;
  const seen = readSeen(environment.KEYWARDEN_DATA);
  const newest = await db.readNewestCheckpoint(store.db);
  if (newest === null) return seen === null ? { state: 'no_key', size: 0, added: 0 } : differs('older');
  const checkpoint = readCheckpoint(newest.note);
  // The store has no checkpoint yet of a ledger that this machine has begun anew, and whose first tree it has signed.
  const isUnfinished =
    seen !== null && seen.origin === readBegun(environment.KEYWARDEN_DATA) && seen.origin !== checkpoint?.origin;
  if (isUnfinished && (await db.continues(store.db, seen))) return { state: 'no_key', size: newest.size, added: 0 };
  if (checkpoint === null || (seen !== null && seen.origin !== checkpoint.origin)) return differs('signature');
  // A machine whose own key has this name accepts no other key of it.
  if (signers.some(({ verifier }) => verifier.name === checkpoint.origin)) return differs('signature');
  if (!isAccepted(environment, newest.note, await db.listLedgerKeys(store.db))) return differs('signature');
  if (!(await db.continues(store.db, checkpoint))) return differs('hashes');
  // A machine that signs remembers a tree before the store has its checkpoint, but not before the store has its events.
  if (seen !== null && !(await db.continues(store.db, seen)))
    return differs(seen.size > checkpoint.size ? 'older' : 'forked');
  writeSeen(environment.KEYWARDEN_DATA, newest.note);
  return { state: 'no_key', size: checkpoint.size, added: 0 };
}

/** Returns the checkpoint of a note that one of these keys signed, under the name of the log; null for any other note. */
function openCheckpoint(note: string, signers: ledger.Signer[]): ledger.Checkpoint | null {
  const opened = ledger.openNote(
    note,
    signers.map(({ verifier }) => verifier),
  );
  const checkpoint = opened === null ? null : ledger.parseCheckpoint(opened.text);
  return checkpoint?.origin === signers[0]?.verifier.name ? checkpoint : null;
}

/**
 * Returns a signed checkpoint, and remembers it first: a machine signs one tree of each size, even if the store says otherwise afterwards. Returns null if another
 * process of this machine has signed or seen a later tree, or another one of this size.
 */
export function signAndRemember(
  { environment, now }: LedgerContext,
  head: ledger.TreeHead,
  signers: ledger.Signer[],
): string | null {
  const origin = signers[0]?.verifier.name ?? '';
  const seen = readSeen(environment.KEYWARDEN_DATA);
  const isPassed =
    seen !== null && (seen.size > head.size || (seen.size === head.size && !ledger.isSameHash(seen.root, head.root)));
  if (isPassed) return null;
  const note = ledger.signNote(ledger.formatCheckpoint({ origin, ...head }), signers, Math.floor(now() / 1000));
  writeSeen(environment.KEYWARDEN_DATA, note);
  return note;
}
