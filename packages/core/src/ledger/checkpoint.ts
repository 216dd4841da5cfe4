import { type Hash, hashSize, type TreeHead } from './merkle.ts';

// c2sp.org/tlog-checkpoint: the text of a note that states a log's size and root.

/** A log's tree at one size. `origin` identifies the log. */
export interface Checkpoint extends TreeHead {
  origin: string;
}

/** Returns a checkpoint as the text of a note. */
export function formatCheckpoint({ origin, size, root }: Checkpoint): string {
  return `${origin}\n${size}\n${encodeHash(root)}\n`;
}

/** Reads the text of a note. Returns null for a text that is no checkpoint. Extension lines are left out: nothing of ours has them. */
export function parseCheckpoint(text: string): Checkpoint | null {
  const lines = text.split('\n');
  const [origin, size, root] = lines;
  const hash = decodeHash(root);
  // Each line ends with a newline, and none is empty.
  if (origin === undefined || hash === null || lines.indexOf('') !== lines.length - 1) return null;
  const number = parseSize(size);
  return number === null ? null : { origin, size: number, root: hash };
}

/** Reads a size or an index: digits without a leading zero, below 2^53. */
export function parseSize(text: string | undefined): number | null {
  const number = /^(0|[1-9]\d{0,15})$/.test(text ?? '') ? Number(text) : Number.NaN;
  return Number.isSafeInteger(number) ? number : null;
}

export function encodeHash(hash: Hash): string {
  return Buffer.from(hash).toString('base64');
}

export function decodeHash(text: string | undefined): Hash | null {
  const bytes = decodeBase64(text);
  return bytes?.length === hashSize ? bytes : null;
}

/** Decodes standard base64. Returns null unless the text is the encoding of its bytes. */
export function decodeBase64(text: string | undefined): Buffer | null {
  if (text === undefined) return null;
  const bytes = Buffer.from(text, 'base64');
  return bytes.toString('base64') === text ? bytes : null;
}
