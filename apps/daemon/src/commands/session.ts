import { randomUUID } from 'node:crypto';
import { ControlPlaneError } from '@keywarden/core/client';
import { endReplica } from '@keywarden/db/daemon';
import { type Migrations, openStore, type StoreOptions } from '@keywarden/db/store';
import {
  createLogger,
  ensureDataFolder,
  printableJson,
  readEnvironment,
  stopSignal,
  UserError,
  usageError,
} from '@keywarden/runtime';
import { readConfig } from '@keywarden/runtime/config';
import { type Connection, openBudgets, openConnections } from '../connect.ts';
import type { Context } from '../context.ts';
import { openWhenThere } from '../open-when-there.ts';
import { createProgress } from '../progress.ts';

/** Everything that a command works with, closed when it ends, however it ends. */
export async function withContext<T>(
  work: (context: Context) => Promise<T>,
  {
    needsControlPlane = true,
    migrations = 'auto',
    isDaemon = false,
  }: { needsControlPlane?: boolean; migrations?: Migrations; isDaemon?: boolean } = {},
): Promise<T> {
  const environment = readEnvironment(process.env);
  const log = createLogger({ level: environment.LOG_LEVEL, format: environment.LOG_FORMAT, name: 'keywarden' });
  ensureDataFolder(environment.KEYWARDEN_DATA);
  const config = readConfig(environment, process.env, { secrets: needsControlPlane });
  const signal = stopSignal();
  const replica = isDaemon ? randomUUID() : null;
  const options: StoreOptions = {
    databaseUrl: environment.DATABASE_URL,
    dataFolder: environment.KEYWARDEN_DATA,
    applicationName: 'keywarden',
    migrations,
    ...(migrations === 'none' ? {} : { role: 'keywarden_daemon' }),
    // A command with another configuration must not change it in passing.
    ...(isDaemon ? { operationRetentionMs: config.retention.operations?.ms ?? null } : {}),
  };
  const store = isDaemon ? await openWhenThere(options, { signal, log }) : await openStore(options);
  try {
    return await work({
      store,
      config,
      environment,
      log,
      progress: createProgress(process.stderr),
      signal,
      limiters: new Map(),
      budgets: openBudgets(store),
      variables: process.env,
      replica,
      ...(isDaemon ? { rereadConfig: () => readConfig(environment, process.env) } : {}),
    });
  } catch (error) {
    if (error instanceof ControlPlaneError && !signal.aborted) {
      const message = `The control plane failed: ${error.message}; try again later, or check the connection's key.`;
      throw new UserError(message, { cause: error });
    }
    // Whatever fails after a wish to stop fails because of it.
    if (signal.aborted)
      throw new UserError('Stopped; what was stored stays, and the next run goes on from there.', { cause: error });
    throw error;
  } finally {
    // The store may be what failed; a process that is not known to have ended holds old keys back for a day.
    if (replica !== null) await endReplica(store.sql, replica).catch(() => undefined);
    await store.close();
  }
}

/**
 * All connections, or those that are named; each has authenticated. A command ends at the first that cannot; with
 * `goesOn` such a one is logged and left out, and only when none is left it is an error.
 */
export async function connectionsOf(
  context: Context,
  { name, names, goesOn = false }: { name?: string | undefined; names?: string[]; goesOn?: boolean } = {},
): Promise<Connection[]> {
  const { store, config, log } = context;
  const wanted = names ?? (name === undefined ? config.connections.map((each) => each.name) : [name]);
  const chosen = config.connections.filter((each) => wanted.includes(each.name));
  if (chosen.length === 0) {
    throw usageError(
      `There is no connection named ${name}; there are ${config.connections.map((each) => each.name).join(', ')}.`,
    );
  }
  return await openConnections(
    store.sql,
    { ...context, config: { ...config, connections: chosen } },
    (failed, error) => {
      if (!goesOn || chosen.length === 1) throw error;
      log.error({ connection: failed, err: error }, 'the connection cannot be used, and the others go on');
    },
  );
}

/**
 * The connections that can be used, and of the others one sentence each: what a person says must not wait for all of them. Throws when
 * none can.
 */
export async function usableConnections(context: Context): Promise<{ connections: Connection[]; failures: string[] }> {
  const failures: string[] = [];
  const connections = await openConnections(context.store.sql, context, (name, error) => {
    if (!(error instanceof UserError || error instanceof ControlPlaneError)) throw error;
    failures.push(`Connection ${name} cannot be used, and nothing was done through it: ${error.message}`);
  });
  return { connections, failures };
}

/** Prints a command's result for machines. */
export function printJson(value: unknown): void {
  console.log(printableJson(value));
}
