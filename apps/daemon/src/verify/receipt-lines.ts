import { readDroppedMonth, readSeal, type Seal } from '@keywarden/core/ledger';
import { z } from 'zod';
import { parseOnce } from './json.ts';
import type { ReceiptJudge } from './verdict.ts';

// The lines of an archive's files of receipts.

/** Returns the seal that a line proves, with its place in the ledger, or why it proves none. */
export function sealOf(line: string, { judge }: ReceiptJudge): { seal: Seal; index: number } | string {
  const receipt = readLine(line);
  if (receipt === null) return 'a line of its seals is no receipt';
  const proven = judge(receipt);
  if (typeof proven === 'string') return `a seal is not proven: ${proven}`;
  const seal = readSeal(proven);
  return seal === null
    ? `a receipt is of ${proven.type} of ${proven.subject}, not of a seal of a day that has ended`
    : { seal, index: proven.index };
}

/** Returns the month, such as `2026-05`, whose drop by retention a line proves; null for any other line. */
export function droppedMonthOf(line: string, { judge }: ReceiptJudge): string | null {
  const receipt = readLine(line);
  const proven = receipt === null ? 'it is no receipt' : judge(receipt);
  return typeof proven === 'string' ? null : readDroppedMonth(proven);
}

const lineSchema = z.strictObject({ receipt: z.string() });

/** Returns the receipt of a line as an archive has it; null for any other line. */
export function readLine(line: string): string | null {
  try {
    return lineSchema.parse(parseOnce(line)).receipt;
  } catch {
    return null;
  }
}
