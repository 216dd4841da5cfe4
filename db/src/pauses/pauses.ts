import { isNull, sql } from 'drizzle-orm';
import type { Reader } from '../list.ts';
import type { LockOptions, Locks } from '../locks.ts';
import { pause } from '../schema/processes.ts';
import type { Db } from '../sql.ts';
import type { Store } from '../store.ts';

export type Pause = Pick<typeof pause.$inferSelect, 'pausedAt' | 'pausedBy' | 'reason'>;

const destructiveCalls = 'destructive calls';

/** Returns the open pause, or null. */
export async function readPause(db: Pick<Reader, 'select'>): Promise<Pause | null> {
  const { pausedAt, pausedBy, reason } = pause;
  const [open] = await db.select({ pausedAt, pausedBy, reason }).from(pause).where(isNull(pause.resumedAt));
  return open ?? null;
}

/** Stops every replica before its next destructive call (R7), and waits for running ones. Returns false if a pause is already open. */
export async function openPause(
  { db, locks }: Pick<Store, 'db' | 'locks'>,
  { by, reason }: { by: string; reason: string | null },
  lock: LockOptions,
): Promise<boolean> {
  // A unique index allows only one open pause.
  const opened = await db.insert(pause).values({ pausedBy: by, reason }).onConflictDoNothing();
  await locks.hold(destructiveCalls, lock, () => Promise.resolve());
  return opened.count > 0;
}

/** Ends the pause. Returns false if none is open. */
export async function endPause(db: Db, by: string): Promise<boolean> {
  const ended = await db.update(pause).set({ resumedAt: sql`now()`, resumedBy: by }).where(isNull(pause.resumedAt));
  return ended.count > 0;
}

/** Runs a destructive call with its intent and outcome. A pause waits for it. */
export async function withDestructiveCall<T>(locks: Locks, lock: LockOptions, work: () => Promise<T>): Promise<T> {
  return await locks.hold(destructiveCalls, { ...lock, isShared: true }, work);
}
