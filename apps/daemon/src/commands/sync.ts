import type { RunKind } from '@keywarden/db/daemon';
import { removeOtherConnections } from '@keywarden/db/daemon';
import { exitCode, printError, UserError } from '@keywarden/runtime';
import { type Connection, connectionsOf } from '../connect.ts';
import type { Context } from '../context.ts';
import { syncCredentials } from '../sync/credentials.ts';
import { syncKeys } from '../sync/keys.ts';
import { syncOperations } from '../sync/operations.ts';
import type { Counts } from '../sync/run.ts';
import { printJson, withContext } from './session.ts';

export interface SyncOptions {
  connection?: string;
  json?: boolean;
}

const work = { keys: syncKeys, operations: syncOperations, credentials: syncCredentials };
/**
 * The kinds of a sync without a named kind. Other credentials take ten requests a project, so they are synced only by name or on schedule.
 */
const usual: readonly RunKind[] = ['keys', 'operations'];

interface Result {
  connection: string;
  kind: RunKind;
  counts: Counts | null;
  error: string | null;
}

/** Runs one pass over keys and operations, or over one kind. Reports a failure and continues with the rest. */
export async function syncCommand(kind: RunKind | undefined, options: SyncOptions): Promise<number> {
  return await withContext(async (context) => {
    const results: Result[] = [];
    const connections = await connectionsOf(context, { name: options.connection });
    if (options.connection === undefined) {
      await removeOtherConnections(
        context.store.db,
        context.config.connections.map(({ name }) => name),
      );
    }
    for (const connection of connections) {
      for (const each of kind === undefined ? usual : [kind]) results.push(await attempt(context, connection, each));
    }
    if (options.json) printJson({ runs: results });
    const failures = results.flatMap(({ error }) => error ?? []);
    for (const failure of failures) printError(failure);
    return failures.length > 0 ? exitCode.failed : exitCode.done;
  });
}

async function attempt(context: Context, connection: Connection, kind: RunKind): Promise<Result> {
  const place = { connection: connection.name, kind };
  try {
    const counts = await work[kind](context, connection);
    return { ...place, counts, error: null };
  } catch (error) {
    if (!(error instanceof UserError)) throw error;
    return { ...place, counts: null, error: error.message };
  }
}
