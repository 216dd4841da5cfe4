import {
  type Checkpoint,
  formatCheckpoint,
  isSameHash,
  openNote,
  parseCheckpoint,
  type Signer,
  signNote,
  splitNote,
} from '@keywarden/core/ledger';
import {
  continues,
  hasOpenIncident,
  type Inconsistency,
  integrateEvents,
  listLedgerRowFaults,
  openIncident,
  readNewestCheckpoint,
  readRoot,
} from '@keywarden/db/daemon';
import { readDataFile, UserError, writeDataFile } from '@keywarden/runtime';
import type { Context } from '../context.ts';
import { createLedgerKey, readSigningKeys } from './signing-keys.ts';

/** The file with the last checkpoint that this machine has seen. It is outside the database, so that nobody can take back the ledger unseen. */
const fileName = 'ledger-checkpoint';
const eventsAtOnce = 5000;

type Place = Pick<Context, 'store' | 'environment'>;

/** What a pass of the sequencer did. no_key: another machine has the key, and this one only checks. */
export type Grown = { state: 'grown' | 'no_key'; size: number; added: number } | { state: 'inconsistent'; why: string };

/**
 * Adds the waiting events to the ledger and keeps the signed checkpoint outside the database. Only a machine with the ledger's key can sign; every other one
 * checks the newest checkpoint. A ledger that does not continue what this machine has seen opens an incident.
 */
export async function growLedger(place: Place, now: () => number): Promise<Grown> {
  const { store, environment } = place;
  const newest = await readNewestCheckpoint(store.db);
  if (newest === null && readSigningKeys(environment).length === 0) createLedgerKey(environment);
  const signers = readSigningKeys(environment);
  const isOurs = newest === null || openCheckpoint(newest.note, signers) !== null;
  if (signers.length === 0 || !isOurs) return await followLedger(place, signers);
  let added = 0;
  for (;;) {
    const seen = readSeen(environment.KEYWARDEN_DATA);
    const result = await integrateEvents(store.sql, {
      limit: eventsAtOnce,
      seen,
      open: (note) => openCheckpoint(note, signers),
      sign: (head) => signCheckpoint(head, signers, now()),
    });
    if (typeof result === 'string') return await reportInconsistent(place, reasons[result]);
    added += result.added;
    if (result.note !== null && result.size > (seen?.size ?? 0)) writeSeen(environment.KEYWARDEN_DATA, result.note);
    if (result.waiting === 0) return { state: 'grown', size: result.size, added };
  }
}

const reasons: Record<Inconsistency, string> = {
  signature: 'its last checkpoint is not signed with the key of the ledger',
  hashes: 'its hashes are not those of its last checkpoint',
  older: 'it has fewer events than this machine has seen',
  forked: 'it has other events than this machine has seen',
};

/** Checks the newest checkpoint of a machine without the ledger's key, and remembers it. */
async function followLedger(place: Place, signers: Signer[]): Promise<Grown> {
  const { store, environment } = place;
  const seen = readSeen(environment.KEYWARDEN_DATA);
  const newest = await readNewestCheckpoint(store.db);
  const checkpoint = newest === null ? null : readCheckpoint(newest.note);
  if (newest === null || checkpoint === null)
    return seen === null ? { state: 'no_key', size: 0, added: 0 } : await reportInconsistent(place, reasons.older);
  // A machine whose own key signed what it has seen accepts no other signature later.
  if (seen !== null && seen.origin !== checkpoint.origin) return await reportInconsistent(place, reasons.signature);
  if (signers.some(({ verifier }) => verifier.name === checkpoint.origin))
    return await reportInconsistent(place, reasons.signature);
  const root = await readRoot(store.db, checkpoint.size);
  if (root === null || !isSameHash(root, checkpoint.root)) return await reportInconsistent(place, reasons.hashes);
  if (seen !== null && seen.size > checkpoint.size) return await reportInconsistent(place, reasons.older);
  if (seen !== null && !(await continues(store.db, seen))) return await reportInconsistent(place, reasons.forked);
  if (checkpoint.size > (seen?.size ?? 0)) writeSeen(environment.KEYWARDEN_DATA, newest.note);
  return { state: 'no_key', size: checkpoint.size, added: 0 };
}

/**
 * Returns why nothing is enforced automatically; null if the ledger in the store continues the last checkpoint that this machine has seen, and no incident
 * about it is open.
 */
export async function whyLedgerDiffers({ store, environment }: Place): Promise<string | null> {
  const seen = readSeen(environment.KEYWARDEN_DATA);
  if (seen !== null && !(await continues(store.db, seen)))
    await reportInconsistent({ store }, `${reasons.forked}, or fewer`);
  if (!(await hasOpenIncident(store.db, 'ledger_inconsistent'))) return null;
  return 'the ledger in this store is not the one that was signed; keywarden incidents has the reason, and docs/LEDGER.md the steps';
}

/** Compares every governed row with the ledger. A difference opens an incident. Returns how many rows differ. */
export async function checkLedgerRows({ store }: Pick<Context, 'store'>): Promise<number> {
  const faults = await listLedgerRowFaults(store.sql);
  if (faults.length === 0) return 0;
  const named = faults.slice(0, 10).map(({ subject, fault }) => `${subject} was ${fault}`);
  const why = `${faults.length} rows differ from their events (${named.join(', ')}${faults.length > named.length ? ', ...' : ''})`;
  await openIncident(store.db, { kind: 'ledger_inconsistent', scope: '', detail: { why } });
  return faults.length;
}

async function reportInconsistent({ store }: Pick<Context, 'store'>, why: string): Promise<Grown> {
  await openIncident(store.db, { kind: 'ledger_inconsistent', scope: '', detail: { why } });
  return { state: 'inconsistent', why };
}

/** Returns the checkpoint of a note that one of these keys signed, under the name of the log; null for any other note. */
function openCheckpoint(note: string, signers: Signer[]): Checkpoint | null {
  const opened = openNote(
    note,
    signers.map(({ verifier }) => verifier),
  );
  const checkpoint = opened === null ? null : parseCheckpoint(opened.text);
  return checkpoint?.origin === signers[0]?.verifier.name ? checkpoint : null;
}

/** Returns the checkpoint of a note without checking who signed it. */
export function readCheckpoint(note: string): Checkpoint | null {
  return parseCheckpoint(splitNote(note)?.text ?? '');
}

function signCheckpoint(head: Pick<Checkpoint, 'size' | 'root'>, signers: Signer[], nowMs: number): string {
  const origin = signers[0]?.verifier.name ?? '';
  return signNote(formatCheckpoint({ origin, ...head }), signers, Math.floor(nowMs / 1000));
}

/** Returns the last checkpoint that this machine has seen; null before the first. Throws a UserError if the file cannot be read. */
export function readSeen(folder: string): Checkpoint | null {
  const note = readDataFile(folder, fileName);
  if (note === undefined) return null;
  const checkpoint = readCheckpoint(`${note}\n`);
  if (checkpoint === null)
    throw new UserError(
      'store',
      `${folder}/${fileName} has no checkpoint; restore it, or move it away once you know that the ledger is whole (docs/LEDGER.md).`,
    );
  return checkpoint;
}

function writeSeen(folder: string, note: string): void {
  writeDataFile(folder, fileName, note.trimEnd());
}
