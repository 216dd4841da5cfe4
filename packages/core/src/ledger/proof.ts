import { decodeBase64, decodeHash, encodeHash, parseSize } from './checkpoint.ts';
import type { Hash } from './merkle.ts';

// c2sp.org/tlog-proof: one file that proves offline that an entry is in a log.

const heading = 'c2sp.org/tlog-proof@v1';

export interface TlogProof {
  /** Anything else that a verifier needs; not proven by the log. */
  extra: Buffer | null;
  index: number;
  /** From the sibling of the leaf up to a child of the root. */
  hashes: Hash[];
  /** The signed checkpoint, with its cosignatures. */
  checkpoint: string;
}

export function formatProof({ extra, index, hashes, checkpoint }: TlogProof): string {
  return [
    heading,
    ...(extra === null ? [] : [`extra ${extra.toString('base64')}`]),
    `index ${index}`,
    ...hashes.map(encodeHash),
    '',
    checkpoint,
  ].join('\n');
}

/** Reads a proof. Returns null for a text that is none. */
export function parseProof(text: string): TlogProof | null {
  const end = text.indexOf('\n\n');
  if (end < 0) return null;
  const [first, ...lines] = text.slice(0, end).split('\n');
  const extra =
    lines[0]?.startsWith('extra ') === true ? decodeBase64(lines.shift()?.slice('extra '.length)) : undefined;
  const [, digits] = /^index (\d+)$/.exec(lines.shift() ?? '') ?? [];
  const index = parseSize(digits);
  const hashes = lines.map(decodeHash);
  if (first !== heading || extra === null || index === null || hashes.length > 63) return null;
  if (!hashes.every((hash) => hash !== null)) return null;
  return { extra: extra ?? null, index, hashes, checkpoint: text.slice(end + 2) };
}
