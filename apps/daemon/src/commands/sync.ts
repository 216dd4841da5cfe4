import { exitCode, printError, UserError } from '@keywarden/core/process';
import type { RunKind } from '@keywarden/db/daemon';
import { removeOtherConnections } from '@keywarden/db/daemon';
import type { Connection } from '../connect.ts';
import type { Context } from '../context.ts';
import { syncKeys } from '../sync/keys.ts';
import { syncOperations } from '../sync/operations.ts';
import type { Counts } from '../sync/run.ts';
import { connectionsOf, printJson, withContext } from './session.ts';

export interface SyncOptions {
  connection?: string;
  json?: boolean;
}

interface Result {
  connection: string;
  kind: RunKind;
  counts: Counts | null;
  error: string | null;
}

/** One pass over keys, operations, or both. What fails is said, and does not keep the rest from being done. */
export async function syncCommand(kind: RunKind | undefined, options: SyncOptions): Promise<number> {
  return await withContext(async (context) => {
    const results: Result[] = [];
    const connections = await connectionsOf(context, { name: options.connection });
    if (options.connection === undefined) {
      await removeOtherConnections(
        context.store.sql,
        context.config.connections.map(({ name }) => name),
      );
    }
    for (const connection of connections) {
      if (kind !== 'operations') results.push(await attempt(context, connection, 'keys'));
      if (kind !== 'keys') results.push(await attempt(context, connection, 'operations'));
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
    const counts = await (kind === 'keys' ? syncKeys : syncOperations)(context, connection);
    return { ...place, counts, error: null };
  } catch (error) {
    if (!(error instanceof UserError)) throw error;
    return { ...place, counts: null, error: error.message };
  }
}
