import { aborted, exitCode } from '@keywarden/core/process';
import { removeOtherConnections } from '@keywarden/db/daemon';
import { readTotals } from '@keywarden/db/read';
import type { Connection } from '../connect.ts';
import type { Context } from '../context.ts';
import { planKeys } from '../enforce/plan.ts';
import { ensureFirstToken } from '../first-token.ts';
import { silentProgress } from '../progress.ts';
import { forEachConnection, startSchedules } from '../schedule.ts';
import { syncKeys } from '../sync/keys.ts';
import { syncOperations } from '../sync/operations.ts';
import { presentOf } from '../sync/organizations.ts';
import { before } from '../sync/proof.ts';
import { connectionsOf, withContext } from './session.ts';

/** The daemon: one pass at once, then by its schedules, until it is told to stop. Revokes by itself only what is in mode: enforce (R6). */
export async function runCommand(): Promise<number> {
  return await withContext(
    async (context) => {
      try {
        await start(context);
      } catch (error) {
        if (context.signal.aborted) return exitCode.done; // told to stop before it was ready
        throw error;
      }
      const stop = startSchedules({ ...context, progress: silentProgress });
      context.log.info({ schedules: context.config.schedules }, 'the daemon runs');
      await aborted(context.signal);
      await stop();
      context.log.info('the daemon has stopped');
      return exitCode.done;
    },
    { isDaemon: true },
  );
}

async function start(context: Context): Promise<void> {
  const connections = await connectionsOf(context, { goesOn: true });
  await removeOtherConnections(
    context.store.sql,
    context.config.connections.map(({ name }) => name),
  );
  await ensureFirstToken(context, { isSandbox: connections.every((connection) => connection.isSandbox) });
  await forEachConnection(context, connections, async (each, connection) => {
    await syncKeys(each, connection);
    await syncOperations(each, connection);
  });
  const plan = await planKeys(context, connections);
  const { items, held, reported } = plan.document;
  // Whoever started this process over a channel (npm start) hears that the store is filled.
  process.send?.({
    ready: {
      totals: await readTotals(context.store.db, unservedBefore(connections)),
      plan: { id: plan.id, revoke: items.length, held: held.length, report: reported.length },
    },
  });
}

/** Longer than any six months: what is older is served no more. */
const unservedMs = 184 * 86_400_000;

function unservedBefore(connections: Connection[]): string {
  const presents = connections.map(presentOf).toSorted();
  return before(presents[0] ?? new Date().toISOString(), unservedMs);
}
