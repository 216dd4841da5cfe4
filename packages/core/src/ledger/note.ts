import { decodeBase64 } from './checkpoint.ts';
import { checkSignature, isCosignature, type Signer, signText, type Verifier } from './keys.ts';

// Signed notes: c2sp.org/signed-note. A checkpoint is the text of one, and its lines are the signatures of the log and of witnesses.

/** A signature of a known key. */
interface Signature {
  by: Verifier;
  /** When a witness signed, in seconds since 1970; null for a log. */
  time: number | null;
}

/** A note whose signatures of known keys are all valid, and at least one of them is there. */
export interface OpenedNote {
  /** The signed text, with its last newline. */
  text: string;
  signatures: Signature[];
}

/** Returns the signature lines of a text. `now` is in seconds since 1970, for witnesses. The text ends with a newline. */
export function signatureLines(text: string, signers: Signer[], now: number): string {
  return signers
    .map((signer) => `— ${signer.verifier.name} ${signText(signer, text, now).toString('base64')}\n`)
    .join('');
}

/** Returns a note: a text and its signature lines. */
export function signNote(text: string, signers: Signer[], now: number): string {
  return `${text}\n${signatureLines(text, signers, now)}`;
}

/** More than any note of ours has. A longer note is refused before it is read. */
const mostBytes = 100_000;
const mostSignatures = 100;

/** Checks a note with known keys. Returns null if it is malformed, if a known key's signature is wrong, or if no known key signed. */
export function openNote(note: string, verifiers: Verifier[]): OpenedNote | null {
  const split = splitNote(note);
  if (split === null) return null;
  const signatures: Signature[] = [];
  for (const { name, bytes } of split.lines) {
    const by = verifiers.find((each) => each.name === name && each.id === idOf(bytes));
    if (by === undefined) continue;
    const signed = checkSignature(by, split.text, bytes);
    if (signed === null) return null;
    if (!signatures.some((each) => each.by.text === by.text)) signatures.push({ by, ...signed });
  }
  return signatures.length === 0 ? null : { text: split.text, signatures };
}

/** Why a checkpoint of an earlier or later key proves nothing, as a sentence without a subject. */
export const otherKey = 'is signed with a key that was not given: name that key of the ledger, too';

/** Returns why a note that no given key of a ledger has signed proves nothing: all signatures under the name of a given ledger may have ids of other keys. */
export function whyUnsigned(note: string, keys: Verifier[]): string {
  const logs = keys.filter(({ kind }) => kind === 'log');
  const own = splitNote(note)?.lines.filter(({ name }) => logs.some((each) => each.name === name)) ?? [];
  const isOfGivenKey = ({ bytes }: (typeof own)[number]) => logs.some(({ id }) => id === idOf(bytes));
  return own.length > 0 && !own.some(isOfGivenKey) ? otherKey : 'is not signed with one of the given keys';
}

/** A control character below U+0020 but the newline, or what stands for bytes that are no UTF-8. */
const forbidden = /(?![\n\x7f-\x9f])\p{Cc}|\ufffd/u;

/** Splits a note into its text and its signature lines, unchecked. Returns null if it is malformed. */
export function splitNote(note: string): { text: string; lines: { name: string; bytes: Buffer }[] } | null {
  if (note.length > mostBytes || forbidden.test(note)) return null;
  const at = note.lastIndexOf('\n\n');
  if (at < 0 || !note.endsWith('\n')) return null;
  const lines: { name: string; bytes: Buffer }[] = [];
  for (const line of note.slice(at + 2, -1).split('\n')) {
    const signature = parseSignature(line);
    if (signature === null) return null;
    lines.push(signature);
  }
  return lines.length > mostSignatures ? null : { text: note.slice(0, at + 1), lines };
}

function parseSignature(line: string): { name: string; bytes: Buffer } | null {
  const [, name, encoded] = /^— ([^+\p{White_Space}]+) ([\w+/]+={0,2})$/u.exec(line) ?? [];
  const bytes = decodeBase64(encoded);
  return name === undefined || bytes === null || bytes.length < 5 ? null : { name, bytes };
}

/** The id of the key of a signature line, in hexadecimal digits. */
const idOf = (bytes: Buffer | undefined) => bytes?.subarray(0, 4).toString('hex');

/**
 * Returns a note with those of some lines that are of the form of cosignatures, as many as a note can have. Lines under a name that has signed the note are left
 * out: a wrong signature of a known key makes a note worthless.
 */
export function addSignatures(note: string, lines: string): string {
  const signed = new Set(splitNote(note)?.lines.map(({ name }) => name));
  let whole = note;
  for (const line of lines.split('\n', 10 * mostSignatures)) {
    const signature = parseSignature(line);
    if (signature === null || !isCosignature(signature.bytes) || signed.has(signature.name)) continue;
    const longer = `${whole}${line}\n`;
    if (splitNote(longer) !== null) whole = longer;
  }
  return whole;
}

/**
 * Returns the cosignatures of one witness with a new one, which takes the place of the former one of its key: a witness may have a key of each algorithm. Lines
 * that are no cosignatures are left out.
 */
export function replaceSignature(lines: string, line: string): string {
  const id = idOf(parseSignature(line)?.bytes);
  const others = lines.split('\n').filter((other) => {
    const signature = parseSignature(other);
    return signature !== null && isCosignature(signature.bytes) && idOf(signature.bytes) !== id;
  });
  return [...others, line, ''].join('\n');
}
