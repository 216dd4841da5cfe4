import { isNull, sql } from 'drizzle-orm';
import type { LockOptions, Locks } from '../locks.ts';
import { pause } from '../schema/processes.ts';
import type { Db } from '../sql.ts';
import type { Store } from '../store.ts';

export interface Pause {
  pausedAt: string;
  pausedBy: string;
  reason: string | null;
}

const destructiveCalls = 'destructive calls';

/** The open pause, if there is one. */
export async function readPause(db: Db): Promise<Pause | null> {
  const { pausedAt, pausedBy, reason } = pause;
  const [open] = await db.select({ pausedAt, pausedBy, reason }).from(pause).where(isNull(pause.resumedAt));
  return open ?? null;
}

/**
 * Stops every replica before its next destructive call (R7). Answers once none is under way: after that nothing is revoked. False when a
 * pause is open already.
 */
export async function openPause(
  { db, locks }: Pick<Store, 'db' | 'locks'>,
  { by, reason }: { by: string; reason: string | null },
  lock: LockOptions,
): Promise<boolean> {
  // One pause at a time is open: a unique index says so.
  const opened = await db
    .insert(pause)
    .values({ pausedBy: by, reason })
    .onConflictDoNothing()
    .returning({ number: pause.number });
  await locks.hold(destructiveCalls, lock, () => Promise.resolve());
  return opened.length > 0;
}

/** Ends the pause. False when none is open. */
export async function endPause(db: Db, by: string): Promise<boolean> {
  const ended = await db
    .update(pause)
    .set({ resumedAt: sql`now()`, resumedBy: by })
    .where(isNull(pause.resumedAt))
    .returning({ number: pause.number });
  return ended.length > 0;
}

/** A destructive call with its intent and outcome, which a pause waits for. */
export async function withDestructiveCall<T>(locks: Locks, lock: LockOptions, work: () => Promise<T>): Promise<T> {
  return await locks.hold(destructiveCalls, { ...lock, isShared: true }, work);
}
