import { z } from 'zod';
import { canonicalJson, isInstant, sha256, toMs } from '../values/index.ts';
import { encodeHash, parseCheckpoint } from './checkpoint.ts';
import type { Verifier } from './keys.ts';
import { hashLeaf, isIncluded } from './merkle.ts';
import { openNote, whyUnsigned } from './note.ts';
import { formatProof, parseProof, type TlogProof } from './proof.ts';
import { type TimedEvent, toleranceMs } from './recording-times.ts';

const digits = z.string().regex(/^[\da-f]{64}$/);

/**
 * What a receipt of an event shows beside its proof: the leaf, the content whose hash the leaf has, and the personal data whose salted hashes the content
 * has. Without `salt`, the personal data was erased, or is not shown.
 */
const extraSchema = z.strictObject({
  leaf: z.string(),
  content: z.string(),
  // Of a fixed length, so that the name and the value after it cannot move.
  salt: digits.nullable(),
  personal: z.record(z.string(), z.string()),
});
export type ReceiptExtra = z.output<typeof extraSchema>;

const leafSchema = z.strictObject({
  actor: z.string().nullable(),
  at: z.string(),
  content: z.string(),
  recorded: z.string(),
  subject: z.string().min(1),
  type: z.string().min(1),
  v: z.literal('1'),
});

const contentSchema = z.record(
  z.string().regex(/^[a-z][a-z\d_]*$/),
  z.union([z.string(), z.null(), z.strictObject({ sha256: digits }), z.strictObject({ salted: digits })]),
);
export type EventContent = z.output<typeof contentSchema>;

/** An event as the log has it. */
export interface LoggedEvent extends TimedEvent {
  content: EventContent;
}

/** What a receipt proves. */
export interface ProvenEvent extends LoggedEvent {
  /** Personal data whose hash was checked. */
  personal: Record<string, string>;
  /** Names of personal data that the receipt does not show: erased, or left out. */
  hidden: string[];
  index: number;
  /** The SHA-256 of its leaf, in hexadecimal digits. One index of a ledger has one leaf. */
  leaf: string;
  /** The signed tree: its number of events, its root in Base64, and the name of its ledger. */
  size: number;
  root: string;
  origin: string;
  /** Witnesses that cosigned the checkpoint after the event was recorded, each with its time in seconds since 1970. */
  witnesses: { name: string; id: string; time: number }[];
}

/** Returns a receipt of an event: one file that proves offline that the ledger has it (c2sp.org/tlog-proof). */
export function formatReceipt(extra: ReceiptExtra, proof: Omit<TlogProof, 'extra'>): string {
  return formatProof({ ...proof, extra: Buffer.from(canonicalJson(extra)) });
}

/** Checks a receipt with the ledger's public keys. Returns what it proves, or why it proves nothing, as a sentence without a subject. */
export function verifyReceipt(text: string, keys: Verifier[]): ProvenEvent | string {
  const proof = parseProof(text);
  if (proof === null) return 'it is no receipt, or it is cut';
  const shown = proof.extra?.toString() ?? '';
  // One text for each receipt: members that are there twice, or have odd names, would be read differently elsewhere.
  const extra = parseCanonical(extraSchema, shown);
  if (extra === null) return 'it has no event, or one that is not canonical JSON';
  const opened = openNote(proof.checkpoint, keys);
  const signer = opened?.signatures.find(({ by }) => by.kind === 'log')?.by;
  if (opened === null || signer === undefined) return `its checkpoint ${whyUnsigned(proof.checkpoint, keys)}`;
  const checkpoint = parseCheckpoint(opened.text);
  if (checkpoint === null || checkpoint.origin !== signer.name) return 'its checkpoint is not one of that log';
  const { index, hashes } = proof;
  if (!isIncluded(hashLeaf(extra.leaf), { index, size: checkpoint.size, root: checkpoint.root, proof: hashes }))
    return 'its event is not in the log at that place';
  const logged = readLogged(extra);
  if (typeof logged === 'string') return logged;
  const { content } = logged;
  const salted = listSalted(content);
  for (const [name, value] of Object.entries(extra.personal)) {
    const hash = salted.find((each) => each.name === name)?.hash;
    if (extra.salt === null || hash !== sha256(`${extra.salt}:${name}:${value}`))
      return `its ${name} is not the one that was recorded`;
  }
  return {
    ...logged,
    personal: extra.personal,
    hidden: salted.map(({ name }) => name).filter((name) => !Object.hasOwn(extra.personal, name)),
    index,
    leaf: sha256(extra.leaf),
    size: checkpoint.size,
    root: encodeHash(checkpoint.root),
    origin: checkpoint.origin,
    witnesses: opened.signatures.flatMap(({ by, time }) =>
      time === null || time * 1000 < toMs(logged.recorded) - toleranceMs ? [] : [{ name: by.name, id: by.id, time }],
    ),
  };
}

/** Reads an entry of the log with its content. Returns why they are none, or not of each other, as a sentence without a subject. */
export function readLogged(entry: { leaf: string; content: string }): LoggedEvent | string {
  const leaf = readLeaf(entry.leaf);
  const content = parseCanonical(contentSchema, entry.content);
  if (leaf === null || content === null) return 'its event has an unknown form';
  if (leaf.content !== sha256(entry.content)) return 'its content is not the one that was recorded';
  const { type, subject, at, recorded, actor } = leaf;
  if (!isInstant(at) || !isInstant(recorded)) return 'its event has a time that is none';
  // The time is one of the row's columns. A migration has none, and a row that is gone neither.
  if (at !== recorded && !Object.values(content).includes(at)) return 'its time is not one of its row';
  if (actor !== null && !listSalted(content).some(({ hash }) => hash === actor))
    return 'its actor is not one of its row';
  return { type, subject, at, recorded, content };
}

/** Returns the names of personal data, each with its salted hash. */
const listSalted = (content: EventContent): { name: string; hash: string }[] =>
  Object.entries(content).flatMap(([name, value]) =>
    value !== null && typeof value === 'object' && 'salted' in value ? [{ name, hash: value.salted }] : [],
  );

/** Reads an entry of the log; null for a text that is none. */
export const readLeaf = (text: string): z.output<typeof leafSchema> | null => parseCanonical(leafSchema, text);

/** Reads canonical JSON, which all readers understand alike; null for any other text. */
export function parseCanonical<T>(schema: z.ZodType<T>, text: string): T | null {
  try {
    const parsed = schema.safeParse(JSON.parse(text));
    return parsed.success && canonicalJson(parsed.data as object) === text ? parsed.data : null;
  } catch {
    // Not JSON.
    return null;
  }
}

/** The types of events whose receipts archives of evidence leave out: there are many of them, and no table is about them. */
export const leftOutOfEvidence = ['archive.sealed', 'export.completed'];
