import { readFileSync, statSync } from 'node:fs';
import {
  hashLeaf,
  isSameHash,
  type ProvenEvent,
  parseVerifier,
  rootOfLeaves,
  type Verifier,
  verifyReceipt,
} from '@keywarden/core/ledger';
import { countWaitingEvents, listEventsOf, listLeaves, makeReceipt, readNewestCheckpoint } from '@keywarden/db/daemon';
import { codeOf, exitCode, print, requireDataFolder, usageError } from '@keywarden/runtime';
import type { Context } from '../context.ts';
import { checkLedgerRows, growLedger, readCheckpoint, readSeen, whyLedgerDiffers } from '../ledger/ledger.ts';
import { addLedgerKey, endFormerKeys, readSigningKeys } from '../ledger/signing-keys.ts';
import type { OutputOptions } from './output.ts';
import { printJson, withContext } from './session.ts';

export interface LedgerOptions extends OutputOptions {
  check?: boolean;
  rotateKey?: boolean;
  endFormerKeys?: boolean;
}

/** Shows the ledger, after adding the events that wait. With `check`, compares everything in the store with it. */
export async function ledgerCommand({
  check = false,
  rotateKey = false,
  endFormerKeys: end = false,
  json,
}: LedgerOptions): Promise<number> {
  return await withContext(
    async (context) => {
      const { store, environment } = context;
      // The key and the last checkpoint are there.
      requireDataFolder(environment.KEYWARDEN_DATA);
      if (rotateKey) addLedgerKey(environment);
      if (end) endFormerKeys(environment);
      const grown = await growLedger(context, context.now);
      const newest = await readNewestCheckpoint(store.db);
      const signers = readSigningKeys(environment);
      const faults = [
        ...(grown.state === 'inconsistent' ? [`the ledger is not the one that was signed: ${grown.why}`] : []),
        ...(check ? await findFaults(context) : []),
      ];
      const state = {
        origin: newest === null ? null : (readCheckpoint(newest.note)?.origin ?? null),
        size: newest?.size ?? 0,
        waiting: await countWaitingEvents(store.db),
        signed_at: newest?.madeAt ?? null,
        seen: readSeen(environment.KEYWARDEN_DATA)?.size ?? 0,
        public_keys: signers.map(({ verifier }) => verifier.text),
        checkpoint: newest?.note ?? null,
        faults,
      };
      if (json) printJson(state);
      else print(inWords(state, check));
      return faults.length === 0 ? exitCode.done : exitCode.needsPerson;
    },
    { needsControlPlane: false },
  );
}

function inWords(
  {
    origin,
    size,
    waiting,
    signed_at: signedAt,
    seen,
    public_keys: keys,
    faults,
  }: {
    origin: string | null;
    size: number;
    waiting: number;
    signed_at: string | null;
    seen: number;
    public_keys: string[];
    faults: string[];
  },
  wasChecked: boolean,
): string {
  return [
    origin === null
      ? 'The ledger has no events yet.'
      : `Ledger ${origin}: ${size} events, signed at ${signedAt}; ${waiting} wait.`,
    `This machine has seen ${seen} of them, in a file outside the database.`,
    ...(keys.length === 0
      ? ['This machine has no key of the ledger; another one signs.']
      : keys.map((key) => `Public key, for auditors: ${key}`)),
    ...faults.map((fault) => `Fault: ${fault}.`),
    ...(wasChecked && faults.length === 0
      ? ['Every governed row, every event and every hash in the store match.']
      : []),
  ].join('\n');
}

/** Compares rows with events, events with hashes, and hashes with what this machine has seen. */
async function findFaults(context: Context): Promise<string[]> {
  const { store } = context;
  const rows = await checkLedgerRows(context);
  const newest = await readNewestCheckpoint(store.db);
  const checkpoint = newest === null ? null : readCheckpoint(newest.note);
  const differs = await whyLedgerDiffers(context);
  const isWhole = checkpoint === null || isSameHash(await rootOfStored(context, checkpoint.size), checkpoint.root);
  return [
    ...(rows > 0 ? [`${rows} rows differ from their events; keywarden incidents names them`] : []),
    ...(isWhole ? [] : ['the events in the store are not those that the last checkpoint signs']),
    ...(differs === null ? [] : [differs]),
  ];
}

const leavesAtOnce = 10_000;

async function rootOfStored({ store, signal }: Context, size: number): Promise<Uint8Array> {
  const hashes: Uint8Array[] = [];
  while (hashes.length < size) {
    signal.throwIfAborted();
    const leaves = await listLeaves(store.db, {
      from: hashes.length,
      limit: Math.min(leavesAtOnce, size - hashes.length),
    });
    if (leaves.length === 0) break;
    hashes.push(...leaves.map(hashLeaf));
  }
  return rootOfLeaves(hashes);
}

/** Prints the receipt of the newest event about a row, or of its newest event of one type. */
export async function receiptCommand(
  subject: string,
  { type, json }: OutputOptions & { type?: string },
): Promise<number> {
  return await withContext(
    async (context) => {
      const { store } = context;
      requireDataFolder(context.environment.KEYWARDEN_DATA);
      await growLedger(context, context.now);
      const events = await listEventsOf(store.db, subject);
      const event = events.findLast((each) => type === undefined || each.type === type);
      if (event === undefined)
        throw usageError(
          events.length === 0
            ? `The ledger has no event about ${subject}; name a table and a number, as in plan_approval/17.`
            : `The ledger has no event ${type} about ${subject}; it has ${[...new Set(events.map((each) => each.type))].join(', ')}.`,
        );
      const newest = await readNewestCheckpoint(store.db);
      const { leafIndex } = event;
      if (newest === null || leafIndex === null)
        throw usageError(
          'The event is not in the signed ledger yet; the machine with its key adds it within a minute.',
        );
      const receipt = await makeReceipt(store.db, { ...event, leafIndex }, newest);
      if (json) printJson({ subject, type: event.type, receipt });
      else process.stdout.write(receipt);
      return exitCode.done;
    },
    { needsControlPlane: false },
  );
}

/** No receipt is as long; a longer file is not read. */
const longestFile = 1_000_000;

/** Checks receipts with the public key of the ledger, without a store. Exits with 1 if one is not proven, and with 3 if one hides personal data. */
export function verifyCommand(files: string[], { key, json }: OutputOptions & { key: string[] }): number {
  const keys = key.map(readVerifier);
  const results = files.map((file) => ({ file, result: verifyReceipt(readReceipt(file), keys) }));
  if (json)
    printJson(
      results.map(({ file, result }) =>
        typeof result === 'string' ? { file, proven: false, why: result } : { file, proven: true, ...result },
      ),
    );
  else print(results.map(({ file, result }) => verdictInWords(file, result)).join('\n\n'));
  if (results.some(({ result }) => typeof result === 'string')) return exitCode.failed;
  return results.some(({ result }) => typeof result !== 'string' && result.hidden.length > 0)
    ? exitCode.needsPerson
    : exitCode.done;
}

function readVerifier(text: string): Verifier {
  const verifier = parseVerifier(text);
  if (verifier === null)
    throw usageError(`"${text}" is no public key of a ledger or witness; keywarden ledger prints the key.`);
  return verifier;
}

function readReceipt(file: string): string {
  try {
    if (statSync(file).size > longestFile) throw usageError(`${file} is larger than a receipt can be; name a receipt.`);
    return readFileSync(file, 'utf8');
  } catch (error) {
    if (codeOf(error) === 'usage') throw error;
    throw usageError(`${file} cannot be read (${codeOf(error)}); name a receipt.`);
  }
}

function verdictInWords(file: string, result: ProvenEvent | string): string {
  if (typeof result === 'string') return `${file}: NOT PROVEN: ${result}.`;
  const { type, subject, at, recorded, content, personal, hidden, index, size, origin, witnesses } = result;
  const values = Object.entries(content).flatMap(([name, value]) =>
    value === null || typeof value === 'string' ? [`  ${name}: ${value ?? 'none'}`] : [],
  );
  return [
    `${file}: proven.`,
    `  ${type} of ${subject} is event ${index} of ${size} in the ledger ${origin}.`,
    `  It happened at ${at}, and the database recorded it at ${recorded}, by its own clock.`,
    ...values,
    ...Object.entries(personal).map(([name, value]) => `  ${name}: ${value}`),
    ...hidden.map((name) => `  ${name}: not shown; only its salted hash is proven`),
    witnesses.length === 0
      ? '  No witness has cosigned: the ledger’s own key is the only proof of the time.'
      : witnesses
          .map(({ name, time }) => `  Cosigned by ${name} at ${new Date(time * 1000).toISOString()}.`)
          .join('\n'),
  ].join('\n');
}
