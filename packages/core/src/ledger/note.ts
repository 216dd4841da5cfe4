import { createHash, createPrivateKey, createPublicKey, type KeyObject, randomBytes, sign, verify } from 'node:crypto';

// Signed notes with Ed25519: c2sp.org/signed-note, and the cosignatures of witnesses, c2sp.org/tlog-cosignature. Keys have the text form of Go's
// golang.org/x/mod/sumdb/note, so that other tools can read them.

/** log: a signature of the note's text. witness: a cosignature, which also states a time. */
export type NoteKeyKind = 'log' | 'witness';
const typeBytes: Record<NoteKeyKind, number> = { log: 1, witness: 4 };

/** A public key that can check signature lines. */
export interface Verifier {
  /** The public key as text: `name+hash+base64`. */
  text: string;
  name: string;
  kind: NoteKeyKind;
  /** The first four bytes of a hash of name, type and key, in hexadecimal digits. */
  id: string;
  publicKey: KeyObject;
}

/** A private key that can write signature lines. */
export interface Signer {
  verifier: Verifier;
  privateKey: KeyObject;
}

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

/** Creates a key, as text: `PRIVATE+KEY+name+hash+base64`. A name has no space and no plus. */
export function createSigningKey(name: string, kind: NoteKeyKind): string {
  const seed = randomBytes(32);
  const { verifier } = signerOf(name, kind, seed);
  return `PRIVATE+KEY+${name}+${verifier.id}+${typedKey(kind, seed).toString('base64')}`;
}

/** Reads a private key. Returns null for a text that is none. */
export function parseSigningKey(text: string): Signer | null {
  const [, name, id, encoded] =
    /^PRIVATE\+KEY\+([^+\p{White_Space}]+)\+([\da-f]{8})\+([\w+/=]+)$/u.exec(text.trim()) ?? [];
  const key = decodeKey(encoded);
  if (name === undefined || key === null) return null;
  const signer = signerOf(name, key.kind, key.bytes);
  return signer.verifier.id === id ? signer : null;
}

/** Reads a public key. Returns null for a text that is none. */
export function parseVerifier(text: string): Verifier | null {
  const [, name, id, encoded] = /^([^+\p{White_Space}]+)\+([\da-f]{8})\+([\w+/=]+)$/u.exec(text.trim()) ?? [];
  const key = decodeKey(encoded);
  if (name === undefined || key === null) return null;
  const verifier = verifierOf(name, key.kind, key.bytes);
  return verifier.id === id ? verifier : null;
}

/** Returns the signature lines of a text. `now` is in seconds since 1970, for witnesses. The text ends with a newline. */
export function signatureLines(text: string, signers: Signer[], now: number): string {
  return signers
    .map(({ verifier, privateKey }) => {
      const time = verifier.kind === 'witness' ? timeBytes(now) : new Uint8Array();
      const signature = sign(null, signedBytes(verifier.kind, text, now), privateKey);
      const line = Buffer.concat([Buffer.from(verifier.id, 'hex'), time, signature]).toString('base64');
      return `— ${verifier.name} ${line}\n`;
    })
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
    const id = bytes.subarray(0, 4).toString('hex');
    const by = verifiers.find((each) => each.name === name && each.id === id);
    if (by === undefined) continue;
    const isWitness = by.kind === 'witness';
    const time = isWitness && bytes.length >= 12 ? Number(bytes.readBigUInt64BE(4)) : null;
    if (bytes.length !== (isWitness ? cosignatureSize : 68) || !Number.isSafeInteger(time ?? 0)) return null;
    if (!verify(null, signedBytes(by.kind, split.text, time ?? 0), by.publicKey, bytes.subarray(-64))) return null;
    if (!signatures.some((each) => each.by.text === by.text)) signatures.push({ by, time });
  }
  return signatures.length === 0 ? null : { text: split.text, signatures };
}

/** Why a checkpoint of an earlier or later key proves nothing, as a sentence without a subject. */
export const otherKey = 'is signed with a key that was not given: name that key of the ledger, too';

/** Returns why a note that no given key of a ledger has signed proves nothing: all signatures under the name of a given ledger may have ids of other keys. */
export function whyUnsigned(note: string, keys: Verifier[]): string {
  const logs = keys.filter(({ kind }) => kind === 'log');
  const own = splitNote(note)?.lines.filter(({ name }) => logs.some((each) => each.name === name)) ?? [];
  const isOfGivenKey = ({ bytes }: (typeof own)[number]) =>
    logs.some(({ id }) => id === bytes.subarray(0, 4).toString('hex'));
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

/** Bytes of a cosignature: a key id, a time and a signature. */
const cosignatureSize = 76;

/**
 * Returns a note with those of some lines that are of the form of cosignatures, as many as a note can have. Lines under a name that has signed the note are left
 * out: a wrong signature of a known key makes a note worthless.
 */
export function addSignatures(note: string, lines: string): string {
  const signed = new Set(splitNote(note)?.lines.map(({ name }) => name));
  let whole = note;
  for (const line of lines.split('\n', 10 * mostSignatures)) {
    const signature = parseSignature(line);
    if (signature?.bytes.length !== cosignatureSize || signed.has(signature.name)) continue;
    const longer = `${whole}${line}\n`;
    if (splitNote(longer) !== null) whole = longer;
  }
  return whole;
}

/** Decodes standard base64. Returns null unless the text is the encoding of its bytes. */
export function decodeBase64(text: string | undefined): Buffer | null {
  if (text === undefined) return null;
  const bytes = Buffer.from(text, 'base64');
  return bytes.toString('base64') === text ? bytes : null;
}

function signedBytes(kind: NoteKeyKind, text: string, time: number): Buffer {
  return Buffer.from(kind === 'log' ? text : `cosignature/v1\ntime ${time}\n${text}`);
}

function timeBytes(seconds: number): Buffer {
  const bytes = Buffer.alloc(8);
  bytes.writeBigUInt64BE(BigInt(seconds));
  return bytes;
}

function signerOf(name: string, kind: NoteKeyKind, seed: Buffer): Signer {
  const privateKey = createPrivateKey({ key: Buffer.concat([pkcs8Prefix, seed]), format: 'der', type: 'pkcs8' });
  const spki = createPublicKey(privateKey).export({ format: 'der', type: 'spki' });
  return { verifier: verifierOf(name, kind, spki.subarray(spkiPrefix.length)), privateKey };
}

function verifierOf(name: string, kind: NoteKeyKind, bytes: Buffer): Verifier {
  const publicKey = createPublicKey({ key: Buffer.concat([spkiPrefix, bytes]), format: 'der', type: 'spki' });
  const typed = typedKey(kind, bytes);
  const id = createHash('sha256').update(`${name}\n`).update(typed).digest('hex').slice(0, 8);
  return { text: `${name}+${id}+${typed.toString('base64')}`, name, kind, id, publicKey };
}

/** What comes before the 32 bytes of an Ed25519 key in DER (RFC 8410). */
const pkcs8Prefix = Buffer.from('302e020100300506032b657004220420', 'hex');
const spkiPrefix = Buffer.from('302a300506032b6570032100', 'hex');

const typedKey = (kind: NoteKeyKind, bytes: Buffer) => Buffer.concat([Uint8Array.of(typeBytes[kind]), bytes]);

function decodeKey(text: string | undefined): { kind: NoteKeyKind; bytes: Buffer } | null {
  const bytes = decodeBase64(text);
  if (bytes?.length !== 33) return null;
  const kind = (['log', 'witness'] as const).find((each) => typeBytes[each] === bytes[0]);
  return kind === undefined ? null : { kind, bytes: bytes.subarray(1) };
}
