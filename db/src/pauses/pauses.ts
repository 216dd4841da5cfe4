import type { LockOptions, Locks } from '../locks.ts';
import { toInstant } from '../schema/columns.ts';
import type { Sql } from '../sql.ts';
import type { Store } from '../store.ts';

export interface Pause {
  pausedAt: string;
  pausedBy: string;
  reason: string | null;
}

const destructiveCalls = 'destructive calls';

/** The open pause, if there is one. */
export async function readPause(sql: Sql): Promise<Pause | null> {
  const [row] = await sql`
    select paused_at, paused_by, reason from keywarden.pause where resumed_at is null`;
  if (row === undefined) return null;
  const { paused_at: pausedAt, paused_by: pausedBy, reason } = row;
  return {
    pausedAt: toInstant(String(pausedAt)),
    pausedBy: String(pausedBy),
    reason: reason === null ? null : String(reason),
  };
}

/**
 * Stops every replica before its next destructive call (R7). Answers once none is under way: after that nothing is revoked. False when a
 * pause is open already.
 */
export async function openPause(
  { sql, locks }: Pick<Store, 'sql' | 'locks'>,
  { by, reason }: { by: string; reason: string | null },
  lock: LockOptions,
): Promise<boolean> {
  const opened = await sql`
    insert into keywarden.pause (paused_by, reason) values (${by}, ${reason})
    on conflict ((resumed_at is null)) where resumed_at is null do nothing returning number`;
  await locks.hold(destructiveCalls, lock, () => Promise.resolve());
  return opened.length > 0;
}

/** Ends the pause. False when none is open. */
export async function endPause(sql: Sql, by: string): Promise<boolean> {
  const ended = await sql`
    update keywarden.pause set resumed_at = now(), resumed_by = ${by} where resumed_at is null returning number`;
  return ended.length > 0;
}

/** A destructive call with its intent and outcome, which a pause waits for. */
export async function withDestructiveCall<T>(locks: Locks, lock: LockOptions, work: () => Promise<T>): Promise<T> {
  return await locks.hold(destructiveCalls, { ...lock, isShared: true }, work);
}
