import { mkdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import {
  createSigningKey,
  formatCheckpoint,
  formatReceipt,
  hashLeaf,
  packContents,
  packEntries,
  parseSigningKey,
  rootOfLeaves,
  type Signer,
  signNote,
  tilePath,
  tileWidth,
} from '@keywarden/core/ledger';
import { canonicalJson, sha256 } from '@keywarden/core/values';
import { amend, type Files, linesOf } from './packs.ts';

// A ledger without a store: what the holder of its key can sign, whether it is true or not.

/** An event as a test writes it. */
export interface OwnEvent {
  type: string;
  subject: string;
  recorded?: string;
  content: Record<string, string | null | { salted: string }>;
  /** What its receipt shows of personal data; nothing by default. */
  salt?: string;
  personal?: Record<string, string>;
  /** Change the texts that canonical JSON has for the leaf and for the content. */
  editLeaf?: (text: string) => string;
  editContent?: (text: string) => string;
}

export const ledgerName = 'keywarden/own';

/** Creates a key of the ledger, or of a witness. */
export function createKey(
  kind: 'log' | 'witness' = 'log',
  name = kind === 'log' ? ledgerName : 'witness.example',
): Signer {
  const signer = parseSigningKey(createSigningKey(name, kind));
  if (signer === null) throw new Error('the key that was just created is none');
  return signer;
}

const recordedAt = '2026-05-10T00:00:00Z';

function entryOf({ type, subject, recorded = recordedAt, content: members, ...edits }: OwnEvent) {
  const { editLeaf = same, editContent = same, salt = null, personal = {} } = edits;
  const content = editContent(canonicalJson(members));
  const leaf = canonicalJson({ actor: null, at: recorded, content: sha256(content), recorded, subject, type, v: '1' });
  return { leaf: editLeaf(leaf), content, salt, personal };
}

const same = (text: string) => text;

/** Signs a tree of events. `cosignedAt` is in seconds since 1970. */
export function signEvents(
  events: OwnEvent[],
  signers: Signer[],
  cosignedAt = Date.parse(recordedAt) / 1000,
  origin = ledgerName,
) {
  const entries = events.map(entryOf);
  const hashes = entries.map(({ leaf }) => hashLeaf(leaf));
  const root = rootOfLeaves(hashes);
  const checkpoint = signNote(formatCheckpoint({ origin, size: events.length, root }), signers, cosignedAt);
  return {
    receipt(index: number): string {
      const { leaf = '', content = '', salt = null, personal = {} } = entries[index] ?? {};
      return formatReceipt({ leaf, content, salt, personal }, { index, hashes: pathOf(index, hashes), checkpoint });
    },
    /** Writes a copy of the whole ledger. */
    writeCopy(folder: string): void {
      const write = (path: string, bytes: Uint8Array | string) => {
        mkdirSync(dirname(join(folder, path)), { recursive: true });
        writeFileSync(join(folder, path), bytes);
      };
      write('checkpoint', checkpoint);
      for (let at = 0; at < entries.length; at += tileWidth) {
        const some = entries.slice(at, at + tileWidth);
        const place = { index: at / tileWidth, width: some.length };
        write(tilePath({ level: 'entries', ...place }), packEntries(some.map(({ leaf }) => Buffer.from(leaf))));
        write(tilePath({ level: 'contents', ...place }), packContents(some.map(({ content }) => content)));
      }
    },
  };
}

/** Returns the hashes beside the way from a leaf to the root, as RFC 6962 has them. */
function pathOf(index: number, hashes: Uint8Array[]): Uint8Array[] {
  if (hashes.length <= 1) return [];
  const half = 2 ** (Math.ceil(Math.log2(hashes.length)) - 1);
  const [left, right] = [hashes.slice(0, half), hashes.slice(half)];
  return index < half
    ? [...pathOf(index, left), rootOfLeaves(right)]
    : [...pathOf(index - half, right), rootOfLeaves(left)];
}

export const project = 'https://plane.example quiet-river';

/** Returns a seal of a day without gaps. */
export function sealOf(
  number: number,
  seal: { day: string; operations: number; root?: string; replaces?: string | null },
): OwnEvent {
  const { day, operations, root = sha256(''), replaces = null } = seal;
  const end = new Date(Date.parse(day) + 86_400_000).toISOString().replace('.000', '');
  const covered = [{ from: `${day}T00:00:00Z`, to: end, from_included: true, to_included: false }];
  return {
    type: 'archive.sealed',
    subject: `operation_seal/${number}`,
    content: {
      number: String(number),
      project,
      day,
      operations: String(operations),
      root,
      covered: canonicalJson(covered),
      gaps: '[]',
      replaces,
      sealed_at: recordedAt,
    },
  };
}

/** Returns the files of an archive of one day without operations, with these receipts of its seals. */
export function archiveOf(day: string, seals: string[]): Files {
  const part = (file: string) => ({ file, records: 0, sha256: '' });
  const to = new Date(Date.parse(day) + 86_400_000).toISOString().slice(0, 10);
  const manifest = {
    kind: 'sealed-operations',
    from: day,
    to,
    retention: part('retention.ndjson'),
    projects: [{ project, seals: part('seals/00001.ndjson'), operations: part('operations/00001.ndjson') }],
  };
  return amend({
    'manifest.json': JSON.stringify(manifest),
    'retention.ndjson': '',
    'seals/00001.ndjson': seals.map((receipt) => `${JSON.stringify({ receipt })}\n`).join(''),
    'operations/00001.ndjson': '',
  });
}

export const linesOfRows = (rows: object[]) => rows.map((each) => `${JSON.stringify(each)}\n`).join('');

/** Returns an archive of evidence that somebody wrote: of May, with these files and receipts. */
export function evidenceOf(files: Files, receipts: string[], manifest: object = {}): Files {
  const texts: Files = {
    'ledger/receipts.ndjson': linesOfRows(receipts.map((receipt) => ({ receipt }))),
    'ledger/seals-with-gaps.ndjson': '',
    ...files,
  };
  const attachments = Object.entries(texts).map(([file, text]) => ({
    file,
    records: linesOf(text).length,
    sha256: sha256(text),
  }));
  const period = { from: '2026-05-01T00:00:00Z', to: '2026-06-01T00:00:00Z' };
  return { 'manifest.json': JSON.stringify({ ...period, files: [], attachments, ...manifest }), ...texts };
}
