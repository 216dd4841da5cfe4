import { randomUUID } from 'node:crypto';
import { setTimeout } from 'node:timers/promises';
import { ControlPlaneError, hasCode } from '@keywarden/core/client';
import { endReplica } from '@keywarden/db/daemon';
import { type Migrations, openStore, type Store, type StoreOptions, type StoreRole } from '@keywarden/db/store';
import {
  codeOf,
  createLogger,
  ensureDataFolder,
  type Logger,
  readEnvironment,
  requireDataFolder,
  stopSignal,
  UserError,
} from '@keywarden/runtime';
import { type Config, parseConfig, readConfig } from '@keywarden/runtime/config';
import { openBudgets } from '../connect.ts';
import type { Context } from '../context.ts';
import { createProgress } from '../progress.ts';

export interface Needs {
  needsControlPlane?: boolean;
  /** Whether the command creates a missing data folder, and the embedded store in it. */
  beginsStore?: boolean;
  migrations?: Migrations;
  isDaemon?: boolean;
  role?: StoreRole;
  /** Whether it needs nothing of the configuration: it works although `keywarden.yaml` is broken. */
  ignoresConfig?: boolean;
}

/** A command that asks the control plane, and creates a missing store. */
export const wholeContext: Needs = {};
/** A command that works with the store alone, which exists. */
export const storeOnly: Needs = { needsControlPlane: false };
/** The same, for what must work although `keywarden.yaml` is broken: the brake, and what is wrong. */
export const inEmergency: Needs = { ...storeOnly, ignoresConfig: true };
/** The same, for sessions and tokens: they are created and ended in a role of their own. */
export const asAdmin: Needs = { ...storeOnly, role: 'keywarden_admin' };
/** A command that asks the control plane about a store that exists. */
export const existingStore: Needs = { beginsStore: false };

/** Opens everything that a command works with, and closes it however the command ends. */
export async function withContext<T>(
  work: (context: Context) => Promise<T>,
  {
    needsControlPlane = true,
    beginsStore = needsControlPlane,
    migrations = 'auto',
    isDaemon = false,
    role = 'keywarden_daemon',
    ignoresConfig = false,
  }: Needs = {},
): Promise<T> {
  const environment = readEnvironment(process.env);
  const log = createLogger('keywarden', environment);
  // A command that only looks at a store, or decides about it, begins none.
  if (beginsStore || migrations === 'none') ensureDataFolder(environment.KEYWARDEN_DATA);
  else if (environment.DATABASE_URL === undefined) requireDataFolder(environment.KEYWARDEN_DATA);
  const config = readUsable(() => readConfig(environment, process.env, { secrets: needsControlPlane }), {
    ignoresConfig,
    log,
  });
  const signal = stopSignal();
  const replica = isDaemon ? randomUUID() : null;
  const options: StoreOptions = {
    databaseUrl: environment.DATABASE_URL,
    dataFolder: environment.KEYWARDEN_DATA,
    applicationName: 'keywarden',
    migrations,
    ...(migrations === 'none' ? {} : { role }),
    // A command with another configuration must not change this setting as a side effect.
    ...(isDaemon ? { operationRetentionMs: config.retention.operations?.ms ?? null } : {}),
  };
  const store = isDaemon ? await openWhenThere(options, { signal, log }) : await openStore(options);
  try {
    return await work({
      store,
      config,
      environment,
      log,
      // A daemon's log has no other lines than its own.
      progress: createProgress(process.stderr, isDaemon ? (line) => log.info(line) : undefined),
      signal,
      now: Date.now,
      limiters: new Map(),
      answerIds: new Set(),
      budgets: openBudgets(store),
      variables: process.env,
      replica,
      ...(isDaemon ? { rereadConfig: () => readConfig(environment, process.env) } : {}),
    });
  } catch (error) {
    if (!signal.aborted && (codeOf(error) === 'lock_lost' || hasCode(error, 'aborted', 'limiter_failed')))
      throw new UserError('store', lostSession, { cause: error });
    if (error instanceof ControlPlaneError && !signal.aborted) {
      const message = `The control plane failed: ${error.message}; try again later, or check the connection's key.`;
      throw new UserError('control_plane', message, { cause: error });
    }
    // Any failure after a stop request is a result of that request.
    throw signal.aborted ? stopped(error) : error;
  } finally {
    // The store may be what failed. A process that is not recorded as ended holds old keys back for a day.
    if (replica !== null) await endReplica(store.db, replica).catch(() => undefined);
    await store.close();
  }
}

/** Returns the configuration. For a command that needs none, a broken one is logged, and every setting has its default. */
function readUsable(read: () => Config, { ignoresConfig, log }: { ignoresConfig: boolean; log: Logger }): Config {
  try {
    return read();
  } catch (error) {
    if (!ignoresConfig || !(error instanceof UserError)) throw error;
    log.warn(`The configuration is not used: ${error.message}`);
    return { ...parseConfig('', 'no configuration'), connections: [], channels: [], usesSandbox: false };
  }
}

/** The locks of work and the shared limits are in the store: without its session, no request is sent. */
const lostSession =
  'The session with the database ended, and the work that needs it stopped; stored data stays. Check that the database runs, then run the command again.';

const stopped = (cause: unknown) =>
  new UserError('stopped', 'Stopped; stored data stays, and the next run continues from there.', { cause });

/** A daemon and its database may start together. After this time the supervisor has to restart the daemon. */
const longestMs = 90_000;
const pauseMs = 500;

/** Opens the store. It waits for a limited time while the store starts, fails over, or is migrated by another process. */
async function openWhenThere(
  options: StoreOptions,
  { signal, log }: { signal: AbortSignal; log: Logger },
): Promise<Store> {
  const untilMs = performance.now() + longestMs;
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await openStore(options);
    } catch (error) {
      if (!(error instanceof UserError && error.canRetry) || performance.now() > untilMs) throw error;
      if (attempt === 1) log.warn({ why: error.message }, 'the database is not available yet; the daemon waits for it');
      await setTimeout(pauseMs, undefined, { signal }).catch((reason: unknown) => {
        throw stopped(reason);
      });
    }
  }
}
