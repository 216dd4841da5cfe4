import { randomUUID } from 'node:crypto';
import type { Sql } from '../store.ts';

/** What the store knows of a mark (R10): not at all, that it is the newest, or that others were made since, the last of them lately. */
export type MarkState = 'missing' | 'newest' | 'followed' | 'followed_long_ago';

export async function readMark(sql: Sql, mark: string): Promise<MarkState> {
  const [row] = await sql`
    select mark::text as mark, made_at > now() - interval '3 hours' as is_late,
      exists (select from keywarden.high_water_mark where mark::text = ${mark}) as is_known
    from keywarden.high_water_mark order by number desc limit 1`;
  if (row === undefined || !row.is_known) return 'missing';
  if (row.mark === mark) return 'newest';
  return row.is_late ? 'followed' : 'followed_long_ago';
}

/** Adds a mark, which the caller writes to the file. Until then the file's own is in the store, too. */
export async function addMark(sql: Sql): Promise<string> {
  const mark = randomUUID();
  await sql`insert into keywarden.high_water_mark (mark) values (${mark})`;
  return mark;
}
