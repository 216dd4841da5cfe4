import { randomBytes } from 'node:crypto';
import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { createSigningKey, openNote, parseSigningKey, type Signer, type Verifier } from '@keywarden/core/ledger';
import {
  copyDataFileAside,
  createDataFile,
  type Environment,
  putDataFileAside,
  readDataFile,
  usageError,
  writeDataFile,
} from '@keywarden/runtime';
import { suffixOf } from './seen-checkpoint.ts';

const fileName = 'ledger-key';

/**
 * Returns the keys that sign the ledger's checkpoints on this machine, from LEDGER_KEY or the data folder; the first names the log. While keys are rotated
 * there are two. Returns an empty list if this machine has none. Throws a UserError for a text that is no key.
 */
export function readSigningKeys({ LEDGER_KEY, KEYWARDEN_DATA }: SigningSettings): Signer[] {
  const text = LEDGER_KEY ?? readDataFile(KEYWARDEN_DATA, fileName);
  const lines = text?.split('\n').filter((line) => line.trim() !== '') ?? [];
  const signers = lines.map((line) => {
    const signer = parseSigningKey(line);
    if (signer === null || signer.verifier.kind !== 'log')
      throw usageError(
        `A line of ${LEDGER_KEY === undefined ? `${KEYWARDEN_DATA}/${fileName}` : 'LEDGER_KEY'} is no private key of a ledger; restore the file from its backup.`,
      );
    return signer;
  });
  const other = signers.find(({ verifier }) => verifier.name !== signers[0]?.verifier.name);
  if (other !== undefined)
    throw usageError('The private keys of the ledger have different names; keys of one ledger have the same name.');
  return signers;
}

export type SigningSettings = Pick<Environment, 'LEDGER_KEY' | 'KEYWARDEN_DATA'>;

/** Creates the key of a new ledger in the data folder, under a unique name that identifies the log. Returns false if there is one. */
export function createLedgerKey({ KEYWARDEN_DATA }: SigningSettings, name = createName()): boolean {
  return createDataFile(KEYWARDEN_DATA, fileName, createSigningKey(name, 'log'));
}

const createName = () => `keywarden/${randomBytes(6).toString('hex')}`;

/** Puts the file of the key aside, because a new ledger begins, and creates and remembers the key of that one. Throws a UserError if the key is in LEDGER_KEY. */
export function replaceLedgerKey(settings: SigningSettings): void {
  if (settings.LEDGER_KEY !== undefined)
    throw usageError(
      'LEDGER_KEY has the key of the former ledger; run this without it, and set it to the new file ledger-key afterwards.',
    );
  const name = createName();
  rememberBegun(settings.KEYWARDEN_DATA, name);
  const [former] = readSigningKeys(settings);
  if (former !== undefined) putDataFileAside(settings.KEYWARDEN_DATA, fileName, suffixOf(former.verifier.name));
  createLedgerKey(settings, name);
}

/** The file with the name of a ledger that a person begins anew, from before its key exists until it has all events and the former keys have ended. */
const begunFile = 'ledger-begun-anew';

export const readBegun = (folder: string) => readDataFile(folder, begunFile);
export const rememberBegun = (folder: string, name: string) => writeDataFile(folder, begunFile, name);
export const forgetBegun = (folder: string) => rmSync(join(folder, begunFile), { force: true });

/** Removes the key that this machine has just created, because another machine signed first. A key that has taken its place meanwhile stays. */
export function discardLedgerKey(settings: SigningSettings, created: Signer | undefined): void {
  const [own] = readSigningKeys(settings);
  if (own?.verifier.text === created?.verifier.text) rmSync(join(settings.KEYWARDEN_DATA, fileName), { force: true });
}

/** Adds a key of the same name. Checkpoints are signed with both from then on. Throws a UserError if the keys are in LEDGER_KEY. */
export function addLedgerKey(settings: SigningSettings): void {
  const [first] = requireFile(settings);
  const name = first?.verifier.name ?? '';
  const keys = readDataFile(settings.KEYWARDEN_DATA, fileName) ?? '';
  writeDataFile(settings.KEYWARDEN_DATA, fileName, `${keys}\n${createSigningKey(name, 'log')}`);
}

/**
 * Removes all keys but the newest, and returns the public key of that one. The former file stays beside it, and so do those of earlier rotations. Throws a
 * UserError unless the newest key has signed this checkpoint: the ledger would be lost.
 */
export function endFormerKeys(settings: SigningSettings, newestNote: string | null): Verifier {
  const signers = requireFile(settings);
  const [last] = signers.slice(-1);
  if (last === undefined || newestNote === null || openNote(newestNote, [last.verifier]) === null)
    throw usageError('The newest key has not signed the ledger yet; run keywarden ledger, then try again.');
  const text = readDataFile(settings.KEYWARDEN_DATA, fileName) ?? '';
  // A second run ends nothing more, and keeps the file of the first.
  if (signers.length > 1) copyDataFileAside(settings.KEYWARDEN_DATA, fileName, 'former');
  writeDataFile(settings.KEYWARDEN_DATA, fileName, text.split('\n').at(-1) ?? '');
  return last.verifier;
}

function requireFile(settings: SigningSettings): Signer[] {
  if (settings.LEDGER_KEY !== undefined)
    throw usageError('LEDGER_KEY has the keys of the ledger; change the variable instead.');
  const signers = readSigningKeys(settings);
  if (signers.length === 0)
    throw usageError(`This machine has no key of the ledger in ${settings.KEYWARDEN_DATA}/${fileName}.`);
  return signers;
}
