import { isRecordedAtItsTime, readDroppedMonth, readSeal, type Seal } from '@keywarden/core/ledger';
import { z } from 'zod';
import { parseOnce } from './json.ts';
import type { ReceiptChecker } from './verdict.ts';

// The lines of an archive's files of receipts.

/** Returns the seal that a line proves, with its place in the ledger, or why it proves none. */
export function sealOf(
  line: string,
  { check }: ReceiptChecker,
): { seal: Seal; index: number; isLate: boolean } | string {
  const receipt = readLine(line);
  if (receipt === null) return 'a line of its seals is no receipt';
  const proven = check(receipt);
  if (typeof proven === 'string') return `a seal is not proven: ${proven}`;
  const seal = readSeal(proven);
  return seal === null
    ? `a receipt is of ${proven.type} of ${proven.subject}, not of a seal of a day that has ended`
    : { seal, index: proven.index, isLate: !isRecordedAtItsTime(proven) };
}

/**
 * Returns the month, such as `2026-05`, whose drop by retention a line proves, with its place in the ledger and what of it is not proven; null for any other
 * line.
 */
export function dropOf(
  line: string,
  { check }: ReceiptChecker,
): { month: string; index: number; unproven: string[] } | null {
  const receipt = readLine(line);
  const proven = receipt === null ? 'it is no receipt' : check(receipt);
  if (typeof proven === 'string') return null;
  const month = readDroppedMonth(proven);
  if (month === null) return null;
  const unproven = proven.hidden.map((name) => `the ${name} of the drop of ${month}, which its receipt does not show`);
  if (!isRecordedAtItsTime(proven)) unproven.push(`the drop of ${month} was not recorded within an hour of its time`);
  return { month, index: proven.index, unproven };
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
