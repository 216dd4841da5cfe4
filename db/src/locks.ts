import { setTimeout } from 'node:timers/promises';
import { codeOf, succeeds, within } from '@keywarden/runtime';
import type postgres from 'postgres';
import { type PoolOptions, type Sql, sqlState } from './sql.ts';

/** The state of a held lock. */
export interface Lease {
  name: string;
  /** A number that is raised whenever the lock is taken. A write with an older fence is refused. */
  fence: string;
  /** The lease of the lock under which this one was taken. */
  outer?: Lease | undefined;
  /** Aborts when the lock is lost. Work under the lock must then stop. */
  signal: AbortSignal;
}

export interface LockOptions {
  /** Ends the wait. */
  signal: AbortSignal;
  /** Called once if another process holds the lock. */
  onWait?: () => void;
  /** Shares the lock with other holders that share it. An exclusive holder waits for all of them. */
  isShared?: boolean;
}

export interface Locks {
  /** Runs work that only one process may do at a time, under a database lock. A killed process releases the lock. */
  hold<T>(name: string, options: LockOptions, work: (lease: Lease) => Promise<T>): Promise<T>;
}

const pollMs = 200;
/** The interval of the heartbeat that a session sends while it holds locks. The server ends a session that is silent for `silentMs`. */
const aliveMs = 15_000;
const silentMs = 60_000;

interface Held {
  holders: number;
  isShared: boolean;
  fence: string;
  lost: AbortController;
}

/** Thrown when the lock is lost. The work under it must stop. */
class LockLostError extends Error {
  readonly code = 'lock_lost';
  constructor(name: string) {
    super(`the session that held the ${name} has ended`);
    this.name = 'LockLostError';
  }
}

/**
 * Creates the locks of one process, all held by one session. Postgres releases them when the session ends. The process is notified and
 * stops its work under them. If the process hangs, its session stops sending and the server ends it. The fence then refuses later writes of
 * the process.
 */
export function createLocks(connect: (options: PoolOptions) => Sql, { idleMs = silentMs } = {}): Locks {
  const held = new Map<string, Held>();
  let alive: NodeJS.Timeout | undefined;
  let session: Sql | undefined;
  const loseAll = () => {
    clearInterval(alive);
    alive = undefined;
    for (const [name, { lost }] of held) lost.abort(new LockLostError(name));
    held.clear();
  };
  const open = () => {
    if (session !== undefined) return session;
    // A session that was given up may close late. Locks that another session holds by then are not lost with it.
    const onclose = () => void (session === opened && loseAll());
    const opened: Sql = connect({ max: 1, onclose, settings: { idle_session_timeout: idleMs } });
    session = opened;
    return opened;
  };

  /** Sends a heartbeat. A server that does not answer for that long has ended the session on its side, even if the connection still looks open. */
  const sendHeartbeat = async () => {
    const sql = open();
    const isAlive = await within(idleMs, succeeds(sql`select 1`), false);
    if (isAlive || session !== sql) return;
    session = undefined;
    loseAll();
    await sql.end({ timeout: 0 });
  };

  const take = async (name: string, isShared: boolean): Promise<Held | undefined> => {
    const own = held.get(name);
    if (own !== undefined) {
      if (!own.isShared || !isShared || own.fence === '') return undefined;
      own.holders += 1;
      return own;
    }
    // Registered before the lock is requested, because the session would grant itself its own lock twice.
    const taken: Held = { holders: 1, isShared, fence: '', lost: new AbortController() };
    held.set(name, taken);
    try {
      taken.fence = (await takeFromServer(open(), name, isShared)) ?? '';
      taken.lost.signal.throwIfAborted();
    } catch (error) {
      if (held.get(name) !== taken) throw error;
      held.delete(name);
      // The server may have granted the lock although the statement failed.
      await unlock(open(), name, isShared);
      throw error;
    }
    if (taken.fence !== '') return taken;
    held.delete(name);
    return undefined;
  };

  const release = async (name: string, taken: Held): Promise<void> => {
    taken.holders -= 1;
    if (taken.holders > 0 || held.get(name) !== taken) return;
    taken.fence = '';
    await unlock(open(), name, taken.isShared);
    if (held.get(name) === taken) held.delete(name);
    if (held.size > 0) return;
    clearInterval(alive);
    alive = undefined;
  };

  return {
    async hold(name, { signal, onWait, isShared = false }, work) {
      let taken: Held | undefined;
      for (let waited = false; taken === undefined; waited = true) {
        if (waited) await setTimeout(pollMs, undefined, { signal });
        taken = await take(name, isShared);
        if (taken === undefined && !waited) onWait?.();
      }
      alive ??= setInterval(() => void sendHeartbeat(), Math.min(aliveMs, idleMs / 3)).unref();
      try {
        return await work({ name, fence: taken.fence, signal: taken.lost.signal });
      } finally {
        await release(name, taken);
      }
    },
  };
}

/** Releases a lock. A session that has ended has already released it. */
async function unlock(sql: Sql, name: string, isShared: boolean): Promise<void> {
  const ended = isShared
    ? sql`select pg_advisory_unlock_shared(hashtextextended(${name}, 0))`
    : sql`select pg_advisory_unlock(hashtextextended(${name}, 0))`;
  await ended.catch(() => undefined);
}

/** Returns the fence of a lock that was free, or undefined if it was taken. A shared lock raises no fence. */
async function takeFromServer(sql: Sql, name: string, isShared: boolean): Promise<string | undefined> {
  if (isShared) {
    const [tried] = await sql`select pg_try_advisory_lock_shared(hashtextextended(${name}, 0)) as held`;
    return tried?.held ? 'shared' : undefined;
  }
  const [tried] = await sql`
    with tried as materialized (select pg_try_advisory_lock(hashtextextended(${name}, 0)) as held)
    insert into keywarden.work_fence (name, fence) select ${name}, 1 from tried where held
    on conflict (name) do update set fence = work_fence.fence + 1, taken_at = now() returning fence`;
  return tried === undefined ? undefined : String(tried.fence);
}

/**
 * Returns the beginning of a statement that is refused (KW005) once another process has taken this work's lock. The rest of the statement
 * must read `(select count(*) from held)`.
 */
export function withFence(sql: postgres.ISql, lease: Lease | undefined) {
  const leases = allOf(lease);
  return sql`with held as materialized (
    select keywarden.hold_fence(name, fence)
    from unnest(${leases.map(({ name }) => name)}::text[], ${leases.map(({ fence }) => fence)}::bigint[]) as l(name, fence))`;
}

/** Refuses a transaction once another process has taken this work's lock. */
export async function holdFence(tx: postgres.ISql, lease: Lease | undefined): Promise<void> {
  for (const { name, fence } of allOf(lease)) await tx`select keywarden.hold_fence(${name}, ${fence}::bigint)`;
}

/** Makes others that save the same list wait until the transaction ends: their rows may come in another order, and then each could wait for the other. */
export async function holdList(tx: postgres.ISql, name: string): Promise<void> {
  await tx`select pg_advisory_xact_lock(hashtextextended(${name}, 1))`;
}

/** Returns whether no other process has taken this work's lock so far. */
export async function isHeld(sql: postgres.ISql, lease: Lease | undefined): Promise<boolean> {
  try {
    await holdFence(sql, lease);
    return true;
  } catch (error) {
    if (codeOf(error) === sqlState.lockTaken) return false;
    throw error;
  }
}

/** Returns a lease and the leases within which it was taken. */
function allOf(lease: Lease | undefined): Lease[] {
  return lease === undefined ? [] : [lease, ...allOf(lease.outer)];
}
