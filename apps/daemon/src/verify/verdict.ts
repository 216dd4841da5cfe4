import { type ProvenEvent, type Verifier, verifyReceipt } from '@keywarden/core/ledger';

/** What a verification found, each as a sentence without a subject's file. */
export interface Verdict {
  proven: string[];
  /** What nothing in the file proves. */
  unproven: string[];
  /** What contradicts the ledger, or cannot be checked at all. */
  wrong: string[];
}

export const wrong = (...sentences: string[]): Verdict => ({ proven: [], unproven: [], wrong: sentences });

/** The keys to check with, and the time: nothing can have been recorded later. */
export interface Judge {
  keys: Verifier[];
  nowMs: number;
}

/** Clocks of databases may be ahead of this machine's by so much. */
const aheadMs = 3_600_000;

/** Checks a receipt. Returns what it proves, or why it proves nothing. */
export function judgeReceipt(receipt: string, { keys, nowMs }: Judge): ProvenEvent | string {
  const proven = verifyReceipt(receipt, keys);
  if (typeof proven === 'string') return proven;
  const times = [proven.recorded, ...proven.witnesses.map(({ time }) => new Date(time * 1000).toISOString())];
  return times.some((at) => !(Date.parse(at) <= nowMs + aheadMs)) ? 'it is of a time in the future' : proven;
}
