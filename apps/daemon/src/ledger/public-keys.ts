import { openNote, parseVerifier, type Verifier } from '@keywarden/core/ledger';
import { type Environment, readDataFile, usageError, writeDataFile } from '@keywarden/runtime';

const fileName = 'ledger-public-keys';

type Place = Pick<Environment, 'LEDGER_PUBLIC_KEY' | 'KEYWARDEN_DATA'>;

/**
 * Returns the public keys of the ledger that this machine accepts, from LEDGER_PUBLIC_KEY or the data folder. A machine without a private key needs them:
 * what the database says about its own key proves nothing. Throws a UserError for a text that is no key.
 */
function readPublicKeys({ LEDGER_PUBLIC_KEY, KEYWARDEN_DATA }: Place): Verifier[] {
  const text = LEDGER_PUBLIC_KEY ?? readDataFile(KEYWARDEN_DATA, fileName) ?? '';
  return text
    .split('\n')
    .filter((line) => line.trim() !== '')
    .map((line) => {
      const key = parseVerifier(line);
      if (key?.kind === 'log') return key;
      throw usageError(
        `A line of ${LEDGER_PUBLIC_KEY === undefined ? `${KEYWARDEN_DATA}/${fileName}` : 'LEDGER_PUBLIC_KEY'} is no public key of a ledger; keywarden ledger on the machine that signs prints the key.`,
      );
    });
}

/**
 * Returns the keys that this machine accepts from now on, given a checkpoint that one of them signed. A key that signed together with it is accepted too:
 * so keys are rotated. The first machine without a key accepts those that it meets first. Returns null if no accepted key signed.
 */
export function acceptKeys(place: Place, note: string, candidates: Verifier[]): Verifier[] | null {
  const accepted = readPublicKeys(place);
  if (accepted.length > 0 && openNote(note, accepted) === null) return null;
  const signing = (openNote(note, candidates)?.signatures ?? [])
    .map(({ by }) => by)
    .filter(({ kind }) => kind === 'log');
  const fresh = signing.filter(({ text }) => !accepted.some((each) => each.text === text));
  const all = [...accepted, ...fresh];
  if (place.LEDGER_PUBLIC_KEY !== undefined || fresh.length === 0) return all.length === 0 ? null : accepted;
  writeDataFile(place.KEYWARDEN_DATA, fileName, all.map(({ text }) => text).join('\n'));
  return all;
}
