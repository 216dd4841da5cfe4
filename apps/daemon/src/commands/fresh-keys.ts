import { UserError } from '@keywarden/runtime';
import { type Connection, usableConnections } from '../connect.ts';
import type { Context } from '../context.ts';
import { syncKeys } from '../sync/keys.ts';

/** Lists all keys afresh through every connection that can be used; what could not be done is a sentence each. */
export async function listKeysAfresh(context: Context): Promise<{ connections: Connection[]; failures: string[] }> {
  const { connections, failures } = await usableConnections(context);
  for (const connection of connections) {
    await syncKeys(context, connection).catch((error: unknown) => {
      if (!(error instanceof UserError)) throw error;
      failures.push(error.message);
    });
  }
  return { connections, failures };
}
