import { exitCode } from '@keywarden/core/process';
import type { RunKind } from '@keywarden/db/daemon';
import { removeOtherConnections } from '@keywarden/db/daemon';
import { syncKeys } from '../sync/keys.ts';
import { syncOperations } from '../sync/operations.ts';
import type { Counts } from '../sync/run.ts';
import { connectionsOf, printJson, withContext } from './session.ts';

export interface SyncOptions {
  connection?: string;
  json?: boolean;
}

/** One pass over keys, operations, or both. */
export async function syncCommand(kind: RunKind | undefined, options: SyncOptions): Promise<number> {
  return await withContext(async (context) => {
    const results: { connection: string; kind: RunKind; counts: Counts }[] = [];
    const connections = await connectionsOf(context, { name: options.connection });
    if (options.connection === undefined) {
      await removeOtherConnections(
        context.store.sql,
        context.config.connections.map(({ name }) => name),
      );
    }
    for (const connection of connections) {
      if (kind !== 'operations')
        results.push({ connection: connection.name, kind: 'keys', counts: await syncKeys(context, connection) });
      if (kind !== 'keys') {
        results.push({
          connection: connection.name,
          kind: 'operations',
          counts: await syncOperations(context, connection),
        });
      }
    }
    if (options.json) printJson({ runs: results });
    return exitCode.done;
  });
}
