import { randomUUID } from 'node:crypto';
import { eq, sql as raw } from 'drizzle-orm';
import { incident } from './schema/incidents.ts';
import { highWaterMark } from './schema/processes.ts';
import { anyOf, type Db, isTrue } from './sql.ts';

// The daemon adds a mark with every change that it governs. The report adds one with every decision that a person makes through it.

/** The file in the data folder where a report keeps its last mark. A daemon with the same folder checks it too. */
export const reportMarkFile = 'high-water-mark.report';

/** What the store records of a mark (R10): it lacks the mark, the mark is the newest, or later marks exist. Of later marks, the age matters. */
export type MarkState = 'missing' | 'newest' | 'followed' | 'followed_long_ago';

/** Returns the state of a mark. Only later marks of daemons count, because a report governs nothing automatically. */
export async function readMark(db: Db, mark: string): Promise<MarkState> {
  const [row] = await db.execute<{ state: string | null }>(raw`
    select (
      select case when last.number <= m.number then 'newest'
        when last.made_at > now() - interval '3 hours' and not keywarden.clock_was_ahead(last.made_at) then 'followed'
        else 'followed_long_ago' end
      from keywarden.high_water_mark last where last.made_by = 'daemon' order by last.number desc limit 1) as state
    from keywarden.high_water_mark m where m.mark::text = ${mark}`);
  if (row === undefined) return 'missing';
  const { state } = row;
  return state === 'followed' || state === 'followed_long_ago' ? state : 'newest';
}

/** Returns when a mark was added, RFC 3339 by the database's clock; null if the store lacks it. */
export async function readMarkTime(db: Db, mark: string): Promise<string | null> {
  const [row] = await db.select({ at: highWaterMark.madeAt }).from(highWaterMark).where(eq(highWaterMark.mark, mark));
  return row?.at ?? null;
}

/** Returns a time of a mark, or null if it is in the future: the database's clock was ahead when it gave that time. */
export async function readTrustedTime(db: Db, time: string | null): Promise<string | null> {
  if (time === null) return null;
  return (await isTrue(db.execute(raw`select keywarden.clock_was_ahead(${time}::timestamptz)`))) ? null : time;
}

/** The incidents that say that the store may be an older one, or not the one that was signed. Nothing is automatic while one is open. */
export const doubtOfStore = ['high_water_mark', 'ledger_inconsistent'] as const;

/** Returns when an incident last showed that the store may be an older one, RFC 3339 by the database's clock; null if none did. */
export async function readLastOlder(db: Db): Promise<string | null> {
  // What is found while an incident is open opens no other one.
  const [row] = await db
    .select({ at: raw`max(coalesce(${incident.closedAt}, ${incident.openedAt}))`.mapWith(incident.openedAt) })
    .from(incident)
    .where(anyOf(incident.kind, doubtOfStore));
  return row?.at ?? null;
}

/** Adds a mark (by default a new one), which the caller writes to the file. Until then the mark in the file is in the store too. */
export async function addMark(db: Db, madeBy: 'daemon' | 'report', mark: string = randomUUID()): Promise<string> {
  if (madeBy === 'report') await db.execute(raw`select keywarden.add_report_mark(${mark}::uuid)`);
  else await db.insert(highWaterMark).values({ mark, madeBy });
  return mark;
}

/** Records that the store lacks the report's last mark. Nothing is enforced until a person has checked. */
export async function reportOlderStore(db: Db): Promise<void> {
  await db.execute(raw`select keywarden.report_older_store()`);
}
