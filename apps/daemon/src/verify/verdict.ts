import * as ledger from '@keywarden/core/ledger';
import { countOf } from '@keywarden/core/values';
import { ZodError } from 'zod';

/** What a verification found, each as a sentence without a subject's file. */
export interface Verdict {
  proven: string[];
  /** What nothing in the file proves. */
  unproven: string[];
  /** What contradicts the ledger, or cannot be checked at all. */
  wrong: string[];
}

export const wrong = (...sentences: string[]): Verdict => ({ proven: [], unproven: [], wrong: sentences });

/** The tree that the ledger's key signed, and who cosigned it. */
export type SignedHead = Pick<ledger.ProvenEvent, 'origin' | 'size' | 'root' | 'witnesses'>;

/** The event of a receipt, or why it proves none; and which witnesses of the given keys did not cosign. */
export interface ReceiptResult {
  kind: 'receipt';
  event: ledger.ProvenEvent | string;
  unproven: string[];
}

/** The findings in an archive or a copy of a ledger. */
export interface ArchiveResult {
  kind: 'archive';
  verdict: Verdict;
  /** What no event in the file proves. The receipt of its export proves that the report exported it so. */
  computed?: string[] | undefined;
  /** The tree of its receipts; null if it has none. */
  head: SignedHead | null;
  /** The place in the ledger of the newest seal that it has of each project and day: by the project, a space and the day. */
  seals: Map<string, number>;
  /** The places of the events that it has receipts for, if it should have those of all but seals and exports. */
  events?: Set<number> | undefined;
  sealedDays?: SealedDays | undefined;
  /** The SHA-256 of the leaf of each event that it has a receipt for, by the event's index. */
  leaves?: Map<number, string> | undefined;
}

/** Returns the result of an archive whose receipts prove no tree. */
export const withoutHead = (verdict: Verdict): ArchiveResult => ({
  kind: 'archive',
  verdict,
  head: null,
  seals: new Map(),
});

/** The days, the last one included, whose newest seals an archive should have: all seals of some projects, or those of all projects that have gaps. */
export interface SealedDays {
  from: string;
  to: string;
  projects: Set<string> | 'with gaps';
}

export type Result = ReceiptResult | ArchiveResult;

/** 0: everything is proven. 1: something is not. 2: something is wrong. */
export function rankOf(result: Result): 0 | 1 | 2 {
  if (result.kind === 'receipt') {
    if (typeof result.event === 'string') return 2;
    return result.event.hidden.length > 0 || result.unproven.length > 0 ? 1 : 0;
  }
  return rankOfVerdict(result.verdict);
}

/** The rank of an archive or a copy, as `rankOf` has it. */
export function rankOfVerdict({ wrong: mistakes, unproven, proven }: Verdict): 0 | 1 | 2 {
  return mistakes.length > 0 ? 2 : unproven.length > 0 || proven.length === 0 ? 1 : 0;
}

/** A list has no more sentences: a forged archive could need any number of them. */
const mostSentences = 10_000;

/** Adds a sentence to a list of a verdict. */
export function addSentence(list: string[], sentence: string): void {
  if (list.length < mostSentences) list.push(sentence);
  else if (list.length === mostSentences) list.push('there is more, which is not listed');
}

/** The keys to check with, and the time: nothing can have been recorded later. */
export interface VerifyOptions {
  keys: ledger.Verifier[];
  nowMs: number;
}

/** Clocks of databases may be ahead of this machine's by so much. */
const aheadMs = 3_600_000;

/** Checks a receipt. Returns what it proves, or why it proves nothing. */
export function checkReceipt(receipt: string, { keys, nowMs }: VerifyOptions): ledger.ProvenEvent | string {
  const proven = ledger.verifyReceipt(receipt, keys);
  if (typeof proven === 'string') return proven;
  return isOfFuture(proven, nowMs) ? 'it is of a time in the future' : proven;
}

/** A checkpoint with who cosigned it, and the public keys of the ledger that signed it. */
export type CosignedCheckpoint = ledger.Checkpoint & Pick<SignedHead, 'witnesses'> & Signers;

/** Who signed a checkpoint under the name of its ledger: given keys, as text, and perhaps others. */
export interface Signers {
  signedBy: string[];
  hasOthers: boolean;
}

/** Returns a checkpoint with its cosignatures, or why it is none. */
export function openSigned(note: string, { keys, nowMs }: VerifyOptions): CosignedCheckpoint | string {
  const opened = ledger.openNote(note, keys);
  const checkpoint = opened === null ? null : ledger.parseCheckpoint(opened.text);
  const isSigned = opened?.signatures.some(({ by }) => by.kind === 'log' && by.name === checkpoint?.origin) === true;
  if (opened === null || checkpoint === null || !isSigned) return ledger.whyUnsigned(note, keys);
  const witnesses = opened.signatures.flatMap(({ by, time }) =>
    time === null ? [] : [{ name: by.name, id: by.id, time }],
  );
  const signedBy = opened.signatures.flatMap(({ by }) => (by.kind === 'log' ? [by.text] : []));
  const lines = ledger.splitNote(note)?.lines.filter(({ name }) => name === checkpoint.origin) ?? [];
  const signers = { signedBy, hasOthers: lines.length > signedBy.length };
  return isOfFuture({ witnesses }, nowMs) ? 'is of a time in the future' : { ...checkpoint, witnesses, ...signers };
}

/** Returns whether something was recorded or cosigned after the present, or at no time at all. */
function isOfFuture({ recorded, witnesses }: Partial<ledger.ProvenEvent>, nowMs: number): boolean {
  const times = [
    ...(recorded === undefined ? [] : [Date.parse(recorded)]),
    ...(witnesses ?? []).map(({ time }) => time * 1000),
  ];
  return times.some((at) => !(at <= nowMs + aheadMs));
}

export type ReceiptChecker = ReturnType<typeof createReceiptChecker>;

/** Returns a checker for the receipts of one archive. Receipts of another tree than the first prove nothing: they may be of another history. */
export function createReceiptChecker(options: VerifyOptions) {
  let head: SignedHead | null = null;
  const leaves = new Map<number, string>();
  return {
    /** The SHA-256 of each leaf, by its index. */
    leaves,
    check: (receipt: string): ledger.ProvenEvent | string => {
      const proven = checkReceipt(receipt, options);
      if (typeof proven === 'string') return proven;
      const { origin, size, root, witnesses } = proven;
      head ??= { origin, size, root, witnesses };
      const isSame = origin === head.origin && size === head.size && root === head.root;
      if (!isSame) return 'it is of another tree than the receipts before it';
      leaves.set(proven.index, proven.leaf);
      // A witness that cosigned before one of these events cosigned another tree.
      head.witnesses = head.witnesses.filter(({ id }) => witnesses.some((each) => each.id === id));
      return proven;
    },
    /** Returns the tree of the receipts; null before the first. */
    head: () => head,
  };
}

/** Says before all else which tree was checked, who cosigned it, and which witness of the given keys did not. */
export function addHead(
  { origin, size, witnesses }: Omit<SignedHead, 'root'>,
  { keys }: VerifyOptions,
  verdict: Verdict,
): void {
  verdict.proven.unshift(
    `the tree of ${countOf(size, 'event')} of ${origin} is signed with its key`,
    ...witnesses.map(({ name, time }) => `the witness ${name} cosigned this tree at ${instantOf(time)}`),
  );
  verdict.unproven.unshift(...missingWitnesses(witnesses, keys));
}

/** Returns a sentence for each witness of the given keys that did not cosign. */
export const missingWitnesses = (witnesses: SignedHead['witnesses'], keys: ledger.Verifier[]): string[] =>
  keys
    .filter(
      ({ kind, name, id }) => kind === 'witness' && !witnesses.some((each) => each.name === name && each.id === id),
    )
    .map(({ name, id }) => `the witness ${name} has not cosigned it with the key ${id}`);

/** Returns the instant of seconds since 1970. */
export const instantOf = (seconds: number) => new Date(seconds * 1000).toISOString();

/** What a file that is verified has in the place of what it should have. The message is a sentence without a subject's file. */
export class DamagedFile extends Error {
  constructor(why: string) {
    super(why);
    this.name = 'DamagedFile';
  }
}

/** Returns what is wrong with a file, in words, for an error of a reader of its parts. */
export function damageInWords(error: unknown): string {
  if (error instanceof ZodError) return 'a record in it has an unknown form';
  if (error instanceof SyntaxError) return 'a record in it is no JSON';
  if (error instanceof RangeError && error.message.includes('call stack'))
    return 'a record in it has more objects and lists within each other than any file of ours';
  return error instanceof Error ? error.message : String(error);
}
