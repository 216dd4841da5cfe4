import { setTimeout } from 'node:timers/promises';
import type { Sql } from '../store.ts';

const pollMs = 200;

export interface LockOptions {
  /** Ends the wait. */
  signal: AbortSignal;
  /** Called once if somebody else holds the lock. */
  onWait?: () => void;
  /** Beside others that share it; who does not waits for all of them. */
  isShared?: boolean;
}

/** Runs work that only one process may do at a time, under a lock of the database's that a killed process gives up. */
export async function withLock<T>(
  sql: Sql,
  name: string,
  { signal, onWait, isShared = false }: LockOptions,
  work: () => Promise<T>,
): Promise<T> {
  const session = await sql.reserve();
  try {
    for (let waited = false; ; waited = true) {
      const [tried] = isShared
        ? await session`select pg_try_advisory_lock_shared(hashtextextended(${name}, 0)) as held`
        : await session`select pg_try_advisory_lock(hashtextextended(${name}, 0)) as held`;
      if (tried?.held) break;
      if (!waited) onWait?.();
      await setTimeout(pollMs, undefined, { signal });
    }
    try {
      return await work();
    } finally {
      // A session that has ended has given the lock up already.
      const ended = isShared
        ? session`select pg_advisory_unlock_shared(hashtextextended(${name}, 0))`
        : session`select pg_advisory_unlock(hashtextextended(${name}, 0))`;
      await ended.catch(() => undefined);
    }
  } finally {
    session.release();
  }
}
