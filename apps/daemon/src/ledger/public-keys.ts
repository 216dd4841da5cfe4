import { openNote, parseVerifier, type Signer, signNote, type Verifier } from '@keywarden/core/ledger';
import { endLedgerKeys, listLedgerKeys } from '@keywarden/db/daemon';
import type { Db } from '@keywarden/db/store';
import { type Environment, putDataFileAside, readDataFile, usageError, writeDataFile } from '@keywarden/runtime';
import { readSeen, suffixOf } from './seen-checkpoint.ts';

const fileName = 'ledger-public-keys';

type PublicKeySettings = Pick<Environment, 'LEDGER_PUBLIC_KEY' | 'KEYWARDEN_DATA'>;

/**
 * Returns the public keys of the ledger that this machine accepts, from LEDGER_PUBLIC_KEY or the data folder. A machine without a private key needs them:
 * what the database says about its own key proves nothing. Throws a UserError for a text that is no key.
 */
function readPublicKeys({ LEDGER_PUBLIC_KEY, KEYWARDEN_DATA }: PublicKeySettings): Verifier[] {
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

/** Puts the file with the public keys of another ledger than this one aside. */
export function putOtherPublicKeysAside(folder: string, name: string): void {
  const other = parseVerifier(readDataFile(folder, fileName)?.split('\n')[0] ?? '')?.name;
  if (other !== undefined && other !== name) putDataFileAside(folder, fileName, suffixOf(other));
}

/** The text that an earlier key signs to name another key of its ledger. It is no checkpoint: its second line is no number. */
const endorsementOf = ({ name, text }: Verifier) => `${name}\nanother key of this ledger\n${text}\n`;

/** Returns the public keys of these signers, each with its endorsement by those before it. A former key cannot endorse a key through which it is accepted again. */
export function endorsedKeysOf(signers: Signer[]): { publicKey: string; endorsement: string | null }[] {
  return signers.map(({ verifier }, index) => {
    const former = signers.slice(0, index);
    const endorsement = former.length === 0 ? null : signNote(endorsementOf(verifier), former, 0);
    return { publicKey: verifier.text, endorsement };
  });
}

/** Ends all keys of the ledger but these. An earlier run may have ended between the file and the store. */
export async function endOtherKeys(db: Db, kept: string[]): Promise<void> {
  const others = (await listLedgerKeys(db)).filter(
    ({ publicKey, endedAt }) => endedAt === null && !kept.includes(publicKey),
  );
  await endLedgerKeys(
    db,
    others.map(({ publicKey }) => publicKey),
  );
}

/**
 * Returns whether a key that this machine accepts signed a checkpoint. Keys that an accepted key endorsed are accepted too, from then on: so keys are rotated.
 * `candidates` are in the order in which they were added: a key comes after those that endorsed it.
 * A signature beside that of an accepted key endorses nothing, because anybody can add a line to a note. A machine without public keys accepts those that
 * signed the checkpoint that it remembers; without one, those that it meets first. Until a key is ended, it signs together with those that were added after it.
 * So a key whose signature an accepted checkpoint lacks, although it has that of a later key, was ended, and is accepted no more.
 */
export function isAccepted(
  settings: PublicKeySettings,
  note: string,
  candidates: { publicKey: string; endorsement: string | null }[],
): boolean {
  const given = readPublicKeys(settings);
  const keys = candidates.flatMap(({ publicKey, endorsement }) => {
    const verifier = parseVerifier(publicKey);
    return verifier?.kind === 'log' ? [{ verifier, endorsement }] : [];
  });
  const accepted =
    given.length > 0
      ? [...given]
      : (
          openNote(
            readSeen(settings.KEYWARDEN_DATA)?.note ?? note,
            keys.map(({ verifier }) => verifier),
          )?.signatures ?? []
        ).map(({ by }) => by);
  const isKnown = ({ text }: Verifier) => accepted.some((each) => each.text === text);
  for (const { verifier, endorsement } of keys)
    if (!isKnown(verifier) && openNote(endorsement ?? '', accepted)?.text === endorsementOf(verifier))
      accepted.push(verifier);
  const signed = openNote(note, accepted)?.signatures.map(({ by }) => by.text);
  if (signed === undefined) return false;
  // The database is not asked which keys have ended: its owner may hold one. A new key that did not sign is not kept: its endorsement brings it when it signs.
  const newest = accepted.findLastIndex(({ text }) => signed.includes(text));
  const hasEnded = ({ text }: Verifier, index: number) =>
    !signed.includes(text) && (index < newest || index >= given.length);
  const kept = accepted.filter((each, index) => !hasEnded(each, index)).map(({ text }) => text);
  const isChanged = kept.join('\n') !== given.map(({ text }) => text).join('\n');
  if (settings.LEDGER_PUBLIC_KEY === undefined && isChanged)
    writeDataFile(settings.KEYWARDEN_DATA, fileName, kept.join('\n'));
  return true;
}
