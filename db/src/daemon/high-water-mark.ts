import { randomUUID } from 'node:crypto';
import type { Sql } from '../store.ts';

/** Whether the store has a mark: one that was restored from before lacks it, and a new one has none (R10). */
export async function hasMark(sql: Sql, mark: string): Promise<boolean> {
  const [row] = await sql`select 1 from keywarden.high_water_mark where mark::text = ${mark}`;
  return row !== undefined;
}

/** Adds a mark, which the caller writes to the file. Until then the file's own is in the store, too. */
export async function addMark(sql: Sql): Promise<string> {
  const mark = randomUUID();
  await sql`insert into keywarden.high_water_mark (mark) values (${mark})`;
  return mark;
}
