import { createPrivateKey, createPublicKey, hash, type KeyObject, randomBytes, sign, verify } from 'node:crypto';
import { decodeBase64, formatCheckpoint, parseCheckpoint } from './checkpoint.ts';

// Keys that sign notes, in the text form of Go's golang.org/x/mod/sumdb/note, so that other tools can read them. A log signs the text of a note. A witness
// cosigns a checkpoint with Ed25519 or with ML-DSA-44: c2sp.org/tlog-cosignature.

/** log: a signature of the note's text. witness: a cosignature, which also states a time. */
export type NoteKeyKind = 'log' | 'witness';
export type KeyAlgorithm = 'ed25519' | 'ml-dsa-44';

/** A public key that can check signature lines. */
export interface Verifier {
  /** The public key as text: `name+hash+base64`. */
  text: string;
  name: string;
  kind: NoteKeyKind;
  algorithm: KeyAlgorithm;
  /** The first four bytes of a hash of name, type and key, in hexadecimal digits. */
  id: string;
  publicKey: KeyObject;
}

/** A private key that can write signature lines. */
export interface Signer {
  verifier: Verifier;
  privateKey: KeyObject;
}

/** Sizes in bytes, and what comes before the bytes of a public key and of a seed in DER (RFC 8410, RFC 9881). */
const algorithms: Record<KeyAlgorithm, { publicSize: number; signatureSize: number; spki: Buffer; pkcs8: Buffer }> = {
  ed25519: {
    publicSize: 32,
    signatureSize: 64,
    spki: Buffer.from('302a300506032b6570032100', 'hex'),
    pkcs8: Buffer.from('302e020100300506032b657004220420', 'hex'),
  },
  'ml-dsa-44': {
    publicSize: 1312,
    signatureSize: 2420,
    spki: Buffer.from('30820532300b06096086480165030403110382052100', 'hex'),
    pkcs8: Buffer.from('3034020100300b060960864801650304031104228020', 'hex'),
  },
};
const seedSize = 32;

interface KeyType {
  /** The first byte of an encoded key. */
  byte: number;
  kind: NoteKeyKind;
  algorithm: KeyAlgorithm;
}

const allTypes: KeyType[] = [
  { byte: 1, kind: 'log', algorithm: 'ed25519' },
  { byte: 4, kind: 'witness', algorithm: 'ed25519' },
  { byte: 6, kind: 'witness', algorithm: 'ml-dsa-44' },
];

/** The types that this runtime can use: Deno 2.9 has no ML-DSA-44. */
const types = allTypes.filter(({ algorithm }) => isSupported(algorithm));

/** The algorithms of the keys that a witness may have. */
export const keyAlgorithms: KeyAlgorithm[] = types
  .filter(({ kind }) => kind === 'witness')
  .map(({ algorithm }) => algorithm);

function isSupported(algorithm: KeyAlgorithm): boolean {
  try {
    publicKeyOf(algorithm, Buffer.alloc(algorithms[algorithm].publicSize));
    return true;
  } catch {
    return false; // any bytes of this size are a key
  }
}

/** Creates a key, as text: `PRIVATE+KEY+name+hash+base64`. A name has no space and no plus. */
export function createSigningKey(name: string, kind: NoteKeyKind, algorithm: KeyAlgorithm = 'ed25519'): string {
  const type = types.find((each) => each.kind === kind && each.algorithm === algorithm);
  if (type === undefined) throw new Error(`a ${kind} has no key of ${algorithm}`);
  const seed = randomBytes(seedSize);
  const { verifier } = signerOf(name, type, seed);
  return `PRIVATE+KEY+${name}+${verifier.id}+${typedKey(type, seed).toString('base64')}`;
}

/** Reads a private key. Returns null for a text that is none. */
export function parseSigningKey(text: string): Signer | null {
  const [, name, id, encoded] =
    /^PRIVATE\+KEY\+([^+\p{White_Space}]+)\+([\da-f]{8})\+([\w+/=]+)$/u.exec(text.trim()) ?? [];
  const key = decodeKey(encoded, () => seedSize);
  if (name === undefined || key === null) return null;
  const signer = signerOf(name, key.type, key.bytes);
  return signer.verifier.id === id ? signer : null;
}

/** Reads a public key. Returns null for a text that is none. */
export function parseVerifier(text: string): Verifier | null {
  const [, name, id, encoded] = /^([^+\p{White_Space}]+)\+([\da-f]{8})\+([\w+/=]+)$/u.exec(text.trim()) ?? [];
  const key = decodeKey(encoded, ({ algorithm }) => algorithms[algorithm].publicSize);
  if (name === undefined || key === null) return null;
  const verifier = verifierOf(name, key.type, key.bytes);
  return verifier.id === id ? verifier : null;
}

const keyIdSize = 4;
const timeSize = 8;

/** Bytes of a signature line of a key, with the key's id and a witness's time. */
const lineSizeOf = ({ kind, algorithm }: Pick<Verifier, 'kind' | 'algorithm'>) =>
  keyIdSize + (kind === 'witness' ? timeSize : 0) + algorithms[algorithm].signatureSize;

/** Returns whether the bytes of a signature line have the form of a cosignature. */
export const isCosignature = (bytes: Buffer): boolean =>
  allTypes.some((type) => type.kind === 'witness' && lineSizeOf(type) === bytes.length);

/** Returns whether a key can sign a text: a witness with ML-DSA-44 cosigns no extension lines, and no origin of more than 255 bytes. */
export const canSign = (key: Verifier, text: string): boolean => signedBytes(key, text, 0) !== null;

/** Returns the bytes of a signature line. `now` is in seconds since 1970. Throws an error for a text that the key cannot sign. */
export function signText({ verifier, privateKey }: Signer, text: string, now: number): Buffer {
  const message = signedBytes(verifier, text, now);
  if (message === null) throw new Error(`the key of ${verifier.name} cannot sign this text`);
  const time = verifier.kind === 'witness' ? uint64(now) : new Uint8Array();
  return Buffer.concat([Buffer.from(verifier.id, 'hex'), time, sign(null, message, privateKey)]);
}

/** Checks the bytes of a signature line of this key. Returns null if they do not sign the text. */
export function checkSignature(key: Verifier, text: string, bytes: Buffer): { time: number | null } | null {
  if (bytes.length !== lineSizeOf(key)) return null;
  const time = key.kind === 'witness' ? Number(bytes.readBigUInt64BE(keyIdSize)) : null;
  if (!Number.isSafeInteger(time ?? 0)) return null;
  const message = signedBytes(key, text, time ?? 0);
  const signature = bytes.subarray(-algorithms[key.algorithm].signatureSize);
  return message !== null && verify(null, message, key.publicKey, signature) ? { time } : null;
}

/** Returns what a key signs of a text; null if it cannot sign that. */
function signedBytes({ kind, algorithm, name }: Verifier, text: string, time: number): Buffer | null {
  if (kind === 'log') return Buffer.from(text);
  if (algorithm === 'ed25519') return Buffer.from(`cosignature/v1\ntime ${time}\n${text}`);
  const checkpoint = parseCheckpoint(text);
  // Extension lines would not be signed.
  if (checkpoint === null || formatCheckpoint(checkpoint) !== text) return null;
  const names = [Buffer.from(name), Buffer.from(checkpoint.origin)];
  if (names.some(({ length }) => length > 255)) return null;
  const [witness = Buffer.of(), origin = Buffer.of()] = names.map((each) =>
    Buffer.concat([Buffer.of(each.length), each]),
  );
  const label = Buffer.from('subtree/v1\n\0');
  return Buffer.concat([label, witness, uint64(time), origin, uint64(0), uint64(checkpoint.size), checkpoint.root]);
}

function uint64(value: number): Buffer {
  const bytes = Buffer.alloc(8);
  bytes.writeBigUInt64BE(BigInt(value));
  return bytes;
}

function signerOf(name: string, type: KeyType, seed: Buffer): Signer {
  const { pkcs8, spki } = algorithms[type.algorithm];
  const privateKey = createPrivateKey({ key: Buffer.concat([pkcs8, seed]), format: 'der', type: 'pkcs8' });
  const encoded = createPublicKey(privateKey).export({ format: 'der', type: 'spki' });
  return { verifier: verifierOf(name, type, encoded.subarray(spki.length)), privateKey };
}

function verifierOf(name: string, type: KeyType, bytes: Buffer): Verifier {
  const publicKey = publicKeyOf(type.algorithm, bytes);
  const typed = typedKey(type, bytes);
  const id = hash('sha256', Buffer.concat([Buffer.from(`${name}\n`), typed])).slice(0, 2 * keyIdSize);
  const { kind, algorithm } = type;
  return { text: `${name}+${id}+${typed.toString('base64')}`, name, kind, algorithm, id, publicKey };
}

function publicKeyOf(algorithm: KeyAlgorithm, bytes: Buffer): KeyObject {
  return createPublicKey({ key: Buffer.concat([algorithms[algorithm].spki, bytes]), format: 'der', type: 'spki' });
}

const typedKey = ({ byte }: KeyType, bytes: Buffer) => Buffer.concat([Uint8Array.of(byte), bytes]);

function decodeKey(
  text: string | undefined,
  sizeOf: (type: KeyType) => number,
): { type: KeyType; bytes: Buffer } | null {
  const bytes = decodeBase64(text);
  const type = types.find(({ byte }) => byte === bytes?.[0]);
  return bytes === null || type === undefined || bytes.length !== 1 + sizeOf(type)
    ? null
    : { type, bytes: bytes.subarray(1) };
}
