import { existsSync, readFileSync } from 'node:fs';
import { join as joinPath } from 'node:path';
import { setTimeout } from 'node:timers/promises';
import { codeOf, ensureDataFolder, UserError } from '@keywarden/runtime';
import postgres from 'postgres';
import {
  ensureCluster,
  isAlive,
  lastLine,
  readPassword,
  readPostmaster,
  startPostmaster,
  stopPostmaster,
  superuser,
} from './cluster.ts';
import { type Launch, planLaunch } from './launch.ts';

/** The lock that each process of a checkout holds shared while it uses the cluster. Only its exclusive holder may stop the cluster. */
const presenceLock = 7_317_001;
const startTimeoutMs = 60_000;

export interface EmbeddedPostgres {
  url: string;
  /** Leaves the cluster. The last process to leave stops Postgres. */
  close(): Promise<void>;
}

/** Joins the embedded Postgres of a data folder. Starts it if it does not run, and again if it dies while this process is a member. */
export async function openEmbedded(
  dataFolder: string,
  launch: Launch = planLaunch(dataFolder),
): Promise<EmbeddedPostgres> {
  ensureDataFolder(dataFolder);
  ensureCluster(dataFolder, launch);
  let isClosing = false;
  const join = () =>
    enter(dataFolder, launch, () => {
      if (isClosing) return;
      presence = join();
      presence.catch(() => undefined); // queries fail until a member starts Postgres, and each reports its own error
    });
  let presence = join();
  const { url } = await presence;
  return {
    url,
    async close() {
      isClosing = true;
      const current = await presence.catch(() => undefined);
      if (current) await leave(current.sql, launch);
    },
  };
}

interface Presence {
  sql: postgres.Sql;
  url: string;
}

async function enter(dataFolder: string, launch: Launch, onLost: () => void): Promise<Presence> {
  const deadline = performance.now() + startTimeoutMs;
  let last: unknown;
  while (performance.now() < deadline) {
    const postmaster = readPostmaster(launch);
    if (postmaster !== undefined) {
      try {
        return await takePresence(dataFolder, postmaster.port, onLost);
      } catch (error) {
        last = error; // dead, starting, stopping, or another cluster on its port
      }
    }
    // Its port refuses the connection, or another cluster has the port now. Our cluster is not running.
    if (postmaster === undefined || !isAlive(postmaster.pid) || ['ECONNREFUSED', '28P01'].includes(codeOf(last))) {
      await startPostmaster(dataFolder, launch);
    }
    await setTimeout(100);
  }
  const log = joinPath(dataFolder, 'postgres.log');
  // Without a log, another process was starting it all the time.
  const word = existsSync(log) ? lastLine(readFileSync(log, 'utf8')) : 'another process is starting it';
  throw new UserError(
    'store',
    `The embedded Postgres did not start (${codeOf(last)}: ${word}); see ${log}, or set DATABASE_URL.`,
  );
}

async function takePresence(dataFolder: string, port: number, onLost: () => void): Promise<Presence> {
  const url = `postgres://${superuser}:${readPassword(dataFolder)}@127.0.0.1:${port}/postgres`;
  let isHeld = false;
  const sql = postgres(url, {
    max: 1,
    connect_timeout: 5,
    idle_timeout: 0,
    max_lifetime: null,
    // The driver would send this query when it connects. If the server dies meanwhile, its rejection is not caught.
    fetch_types: false,
    onnotice: () => undefined,
    connection: { application_name: 'keywarden presence' },
    onclose: () => {
      if (!isHeld) return;
      isHeld = false;
      void sql.end({ timeout: 0 }).finally(onLost);
    },
  });
  try {
    await sql`select pg_advisory_lock_shared(${presenceLock})`;
    isHeld = true;
    return { sql, url };
  } catch (error) {
    await sql.end({ timeout: 0 });
    throw error;
  }
}

async function leave(sql: postgres.Sql, launch: Launch): Promise<void> {
  try {
    await sql`select pg_advisory_unlock_shared(${presenceLock})`;
    const [row] = await sql<{ alone: boolean }[]>`select pg_try_advisory_lock(${presenceLock}) as alone`;
    // The exclusive lock is held until Postgres is gone. A process that comes meanwhile waits for the lock, is refused, and starts Postgres
    // again.
    if (row?.alone) await stopPostmaster(launch);
  } catch {
    // Postgres is already gone, which is one valid end of leaving
  } finally {
    await sql.end({ timeout: 0 });
  }
}
