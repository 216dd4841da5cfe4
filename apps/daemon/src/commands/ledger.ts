import { parseVerifier, verifyReceipt } from '@keywarden/core/ledger';
import { countOf } from '@keywarden/core/values';
import * as db from '@keywarden/db/daemon';
import { exitCode, requireDataFolder, UserError, usageError } from '@keywarden/runtime';
import type { Context } from '../context.ts';
import { holdFolder } from '../hold-folder.ts';
import { beginAnew } from '../ledger/begin-anew.ts';
import { checkLedger, whyLedgerDiffers } from '../ledger/checks.ts';
import { growAndWitness, growLedger } from '../ledger/ledger.ts';
import { endOtherKeys, endorsedKeysOf } from '../ledger/public-keys.ts';
import { readCheckpoint, readSeen } from '../ledger/seen-checkpoint.ts';
import { addLedgerKey, endFormerKeys, readSigningKeys } from '../ledger/signing-keys.ts';
import { describeCommand } from './command.ts';
import { userName } from './common.ts';
import { joined } from './output.ts';
import { storeOnly } from './with-context.ts';

export const ledgerCommand = describeCommand({
  name: 'ledger',
  about: 'Show the ledger of governance events and its public key, and check it',
  options: {
    '--check': 'compare every governed row, event, hash and sealed operation in the store',
    '--create-key': 'create the key of a new ledger, as the first daemon does',
    '--rotate-key': 'add a key; checkpoints are signed with both keys from now on',
    '--end-former-keys': 'sign with the newest key only',
    '--begin-anew <reason>': 'begin a new ledger with a new key, after a restore or without the former key',
  },
  output: 'result',
  examples: ['', '--check', '--rotate-key', '--begin-anew "restored the backup of 2 May"'],
  needsPerson: 'the ledger or a row is not what was recorded',
  needs: storeOnly,
  check({ rotateKey = false, endFormerKeys: end = false, beginAnew: reason }) {
    // The second would be refused, because a new key has signed nothing yet, and the first would be done.
    if (Number(rotateKey) + Number(end) + Number(reason !== undefined) > 1)
      throw usageError('--rotate-key, --end-former-keys and --begin-anew exclude each other; use one of them.');
  },
  async run(
    context,
    { check = false, createKey = false, rotateKey = false, endFormerKeys: end = false, beginAnew: reason },
  ) {
    const { environment } = context;
    // The key and the last checkpoint are there.
    requireDataFolder(environment.KEYWARDEN_DATA);
    if (reason !== undefined || rotateKey || end) {
      const release = holdFolder(environment.KEYWARDEN_DATA, busy, 'ledger-key-lock');
      try {
        if (reason !== undefined) await beginAnew(context, { reason, by: userName() });
        if (rotateKey) addLedgerKey(environment);
        if (end) await endFormer(context);
      } finally {
        release();
      }
    }
    const { state, matches } = await readState(context, { check, createKey });
    const text = joined([
      reason !== undefined && 'A new ledger begins.',
      rotateKey && 'Checkpoints are signed with a new key, too, from now on.',
      end && 'Checkpoints are signed with the newest key only from now on.',
      inWords(state, matches),
    ]);
    return { json: state, text, needsPerson: state.faults.length > 0 };
  },
});

/** Two commands that read the same keys would each write theirs. */
const busy = 'Another command changes the keys of this ledger; wait until it has ended.';

/** Ends all keys of the ledger but the newest of this machine, which the former ones endorse while they are there. */
async function endFormer({ store, environment }: Context): Promise<void> {
  await db.noteLedgerKeys(store.db, endorsedKeysOf(readSigningKeys(environment)));
  const kept = endFormerKeys(environment, (await db.readNewestCheckpoint(store.db))?.note ?? null).text;
  await endOtherKeys(store.db, [kept]);
}

async function readState(context: Context, { check, createKey }: { check: boolean; createKey: boolean }) {
  const { store, environment } = context;
  const { grown, failures } = await growAndWitness(context, { createsKey: createKey });
  const newest = await db.readNewestCheckpoint(store.db);
  const waiting = await db.readOldestWaiting(store.db);
  const cosigned = await db.listCosigned(store.db);
  const differs = check ? await whyLedgerDiffers(context) : null;
  const found = check ? await checkLedger(context) : [];
  if (grown.state === 'inconsistent') found.unshift(`the ledger is not the one that was signed: ${grown.why}`);
  const state = {
    origin: newest === null ? null : (readCheckpoint(newest.note)?.origin ?? null),
    size: newest?.size ?? 0,
    waiting: waiting?.events ?? 0,
    waiting_since: waiting?.since ?? null,
    signed_at: newest?.madeAt ?? null,
    seen: readSeen(environment.KEYWARDEN_DATA)?.size ?? 0,
    public_keys: readSigningKeys(environment).map(({ verifier }) => verifier.text),
    checkpoint: newest?.note ?? null,
    witnesses: [...cosigned].map(([name, size]) => ({ name, cosigned: size })),
    witness_failures: failures,
    faults: [...found, ...(differs === null ? [] : [differs])],
  };
  // Also while an incident is open: its cause may be repaired.
  return { state, matches: check && found.length === 0 };
}

function inWords(state: Awaited<ReturnType<typeof readState>>['state'], matches: boolean): string {
  const { origin, size, waiting, seen, public_keys: keys, witnesses, faults } = state;
  return joined([
    origin === null
      ? 'The ledger has no events yet.'
      : `Ledger ${origin}: ${countOf(size, 'event')}, signed at ${state.signed_at}.`,
    waiting > 0 &&
      `Waiting for a signed checkpoint: ${countOf(waiting, 'event')}, the oldest since ${state.waiting_since}.`,
    `This machine has seen ${seen} of them, in a file outside the database.`,
    ...keys.map((key) => `Public key, for auditors: ${key}`),
    keys.length === 0 &&
      (origin === null
        ? 'No machine has a key yet: the daemon creates it, or keywarden ledger --create-key.'
        : 'This machine has no key of the ledger; events wait until a machine signs that has it.'),
    origin !== null && witnesses.length === 0 && 'No witness has cosigned it.',
    ...witnesses.map(({ name, cosigned }) => `Witness ${name} has cosigned ${cosigned} of them.`),
    ...state.witness_failures.map((failure) => `No cosignature now: ${failure}.`),
    ...faults.map((fault) => `Fault: ${fault}.`),
    matches && 'Every governed row, event, hash and sealed operation in the store matches.',
  ]);
}

/** A row has a few events. */
const mostEvents = 10_000;

export const receiptCommand = describeCommand({
  name: 'receipt',
  about: 'Print a file that proves offline that the ledger has an event',
  arguments: [['<subject>', 'the row that the event is about: plan_approval/17']],
  options: { '--type <type>': 'the event, if the row has several: incident.closed' },
  output: 'result',
  examples: ['plan_approval/17 > approval.tlog-proof', 'incident/3 --type incident.closed'],
  needs: storeOnly,
  async run(context, subject, { type, json }) {
    const { store } = context;
    requireDataFolder(context.environment.KEYWARDEN_DATA);
    const grown = await growLedger(context);
    if (grown.state === 'inconsistent')
      throw new UserError('store', `The ledger is not the one that was signed: ${grown.why}.`);
    // The newest are first.
    const events = await db.readItems(store.db, db.ledgerEventList({ subject }), mostEvents);
    const event = events.find((each) => type === undefined || each.type === type);
    if (event === undefined)
      throw usageError(
        events.length === 0
          ? `The ledger has no event about ${subject}; name a table and a number, as in plan_approval/17.`
          : `The ledger has no event ${type} about ${subject}; it has ${[...new Set(events.toReversed().map((each) => each.type))].join(', ')}.`,
      );
    const receipt = await db.readReceipt(store.db, event.number);
    if (receipt === null)
      throw usageError('The event is not in the signed ledger yet; the machine with its key adds it within a minute.');
    const keys = (await db.listLedgerKeys(store.db)).flatMap(({ publicKey }) => parseVerifier(publicKey) ?? []);
    const proven = verifyReceipt(receipt, keys);
    if (typeof proven === 'string')
      throw new UserError('store', `The store cannot prove this event: ${proven}; keywarden ledger --check says more.`);
    if (!json) process.stdout.write(receipt);
    return json ? { json: { subject, type: event.type, receipt }, text: receipt } : exitCode.done;
  },
});
