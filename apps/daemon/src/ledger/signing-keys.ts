import { randomBytes } from 'node:crypto';
import { createSigningKey, parseSigningKey, type Signer } from '@keywarden/core/ledger';
import { type Environment, readDataFile, usageError, writeDataFile } from '@keywarden/runtime';

const fileName = 'ledger-key';

/**
 * Returns the keys that sign the ledger's checkpoints on this machine, from LEDGER_KEY or the data folder; the first names the log. While keys are rotated
 * there are two. Returns an empty list if this machine has none. Throws a UserError for a text that is no key.
 */
export function readSigningKeys({ LEDGER_KEY, KEYWARDEN_DATA }: SigningPlace): Signer[] {
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

export type SigningPlace = Pick<Environment, 'LEDGER_KEY' | 'KEYWARDEN_DATA'>;

/** Creates the key of a new ledger in the data folder. Its name is unique, because it identifies the log everywhere. */
export function createLedgerKey({ KEYWARDEN_DATA }: SigningPlace): void {
  writeDataFile(KEYWARDEN_DATA, fileName, createSigningKey(`keywarden/${randomBytes(6).toString('hex')}`, 'log'));
}

/** Adds a key of the same name. Checkpoints are signed with both from then on. Throws a UserError if the keys are in LEDGER_KEY. */
export function addLedgerKey(place: SigningPlace): void {
  const [first] = requireFile(place);
  const keys = readDataFile(place.KEYWARDEN_DATA, fileName) ?? '';
  writeDataFile(place.KEYWARDEN_DATA, fileName, `${keys}\n${createSigningKey(first.verifier.name, 'log')}`);
}

/** Removes all keys but the newest. */
export function endFormerKeys(place: SigningPlace): void {
  requireFile(place);
  const lines = (readDataFile(place.KEYWARDEN_DATA, fileName) ?? '').split('\n');
  writeDataFile(place.KEYWARDEN_DATA, fileName, lines.at(-1) ?? '');
}

function requireFile(place: SigningPlace): [Signer, ...Signer[]] {
  if (place.LEDGER_KEY !== undefined)
    throw usageError('LEDGER_KEY has the keys of the ledger; change the variable instead.');
  const [first, ...others] = readSigningKeys(place);
  if (first === undefined)
    throw usageError(`This machine has no key of the ledger in ${place.KEYWARDEN_DATA}/${fileName}.`);
  return [first, ...others];
}
