import { formatReceipt } from '@keywarden/core/ledger';
import { sha256 } from '@keywarden/core/values';
import { sql } from 'drizzle-orm';
import type { Reader } from '../list.ts';
import type { LedgerEvent } from './events.ts';
import { readInclusion } from './tree.ts';

/**
 * Returns the receipt of an event in the tree of a checkpoint. It shows personal data only if the event's salt is there and the row still has the data that
 * was recorded.
 */
export async function makeReceipt(
  db: Reader,
  event: LedgerEvent & { leafIndex: number },
  checkpoint: { size: number; note: string },
): Promise<string> {
  const hashes = await readInclusion(db, { index: event.leafIndex, size: checkpoint.size });
  const personal = event.salt === null ? {} : await readPersonalData(db, event, event.salt);
  const extra = { leaf: event.leaf, content: event.content, salt: event.salt, personal };
  return formatReceipt(extra, { index: event.leafIndex, hashes, checkpoint: checkpoint.note });
}

async function readPersonalData(db: Reader, event: LedgerEvent, salt: string): Promise<Record<string, string>> {
  const [row] = await db.execute(sql`select keywarden.personal_data_of(${event.number}::bigint)::text as data`);
  const data = JSON.parse(String(row?.data)) as Record<string, string>;
  const content = JSON.parse(event.content) as Record<string, { salted?: string } | string | null>;
  const isRecorded = ([name, value]: [string, string]) => {
    const held = content[name];
    return typeof held === 'object' && held?.salted === sha256(`${salt}:${name}:${value}`);
  };
  return Object.fromEntries(Object.entries(data).filter(isRecorded));
}
