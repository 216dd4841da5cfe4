import type { Sql } from '../store.ts';

/**
 * Runs work that only one process may do at a time, under a lock of the database's that a killed process gives up.
 * `onWait` is called once if somebody else holds it.
 */
export async function withLock<T>(
  sql: Sql,
  name: string,
  work: () => Promise<T>,
  onWait: () => void = () => undefined,
): Promise<T> {
  const session = await sql.reserve();
  try {
    const [tried] = await session`select pg_try_advisory_lock(hashtextextended(${name}, 0)) as held`;
    if (!tried?.held) {
      onWait();
      await session`select pg_advisory_lock(hashtextextended(${name}, 0))`;
    }
    try {
      return await work();
    } finally {
      // A session that has ended has given the lock up already.
      await session`select pg_advisory_unlock(hashtextextended(${name}, 0))`.catch(() => undefined);
    }
  } finally {
    session.release();
  }
}
