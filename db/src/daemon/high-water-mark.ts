import { randomUUID } from 'node:crypto';
import type { Sql } from '../store.ts';

/** What a file outside the store holds (R10): whose it is, and the last mark that was moved with it. */
export interface HighWaterMark {
  holder: string;
  mark: string;
}

/** Whether the store is as young as the file's mark: a restored one has another, and a new one none. */
export async function isMarkCurrent(sql: Sql, { holder, mark }: HighWaterMark): Promise<boolean> {
  const [row] = await sql`
    select 1 from keywarden.high_water_mark where holder::text = ${holder} and ${mark} in (mark::text, previous::text)`;
  return row !== undefined;
}

/** Moves the mark in the store; the caller writes the answer to the file. Until then the file's own is still taken. */
export async function moveMark(sql: Sql, { holder, mark }: HighWaterMark): Promise<HighWaterMark> {
  const next = randomUUID();
  await sql`
    update keywarden.high_water_mark set mark = ${next}, previous = ${mark}::uuid, moved_at = now() where holder::text = ${holder}`;
  return { holder, mark: next };
}

/** A person says that this store may enforce by itself; the caller writes the answer to the file. */
export async function makeMark(sql: Sql): Promise<HighWaterMark> {
  const made = { holder: randomUUID(), mark: randomUUID() };
  await sql`insert into keywarden.high_water_mark (holder, mark) values (${made.holder}, ${made.mark})`;
  return made;
}
