import { randomUUID } from 'node:crypto';
import { sql as raw } from 'drizzle-orm';
import { highWaterMark } from './schema/processes.ts';
import type { Db } from './sql.ts';

// The daemon moves a mark with whatever it governs, the report with whatever persons say through it.

/** Where a report keeps its last mark, in the data folder: a daemon with the same folder looks there too. */
export const reportMarkFile = 'high-water-mark.report';

/** What the store knows of a mark (R10): not at all, that it is the newest, or that others were made since, the last of them lately. */
export type MarkState = 'missing' | 'newest' | 'followed' | 'followed_long_ago';

/** Of marks that were made since, those of daemons count: a report governs nothing by itself. */
export async function readMark(db: Db, mark: string): Promise<MarkState> {
  const [row] = await db.execute<{ state: string | null }>(raw`
    select (
      select case when last.number <= m.number then 'newest' when last.made_at > now() - interval '3 hours' then 'followed' else 'followed_long_ago' end
      from keywarden.high_water_mark last where last.made_by = 'daemon' order by last.number desc limit 1) as state
    from keywarden.high_water_mark m where m.mark::text = ${mark}`);
  if (row === undefined) return 'missing';
  const { state } = row;
  return state === 'followed' || state === 'followed_long_ago' ? state : 'newest';
}

/** Adds a mark, which the caller writes to the file. Until then the file's own is in the store, too. */
export async function addMark(db: Db, madeBy: 'daemon' | 'report'): Promise<string> {
  const mark = randomUUID();
  await db.insert(highWaterMark).values({ mark, madeBy });
  return mark;
}

/** The report has found that the store lacks its last mark: nothing is enforced until a person has looked. */
export async function reportOlderStore(db: Db): Promise<void> {
  await db.execute(raw`select keywarden.report_older_store()`);
}
