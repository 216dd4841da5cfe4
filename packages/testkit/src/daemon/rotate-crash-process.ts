import fs from 'node:fs/promises';
import { syncBuiltinESMExports } from 'node:module';
import { writeHeapSnapshot } from 'node:v8';
import { policySchema } from '@keywarden/core/policy';
import { openConnections, rotate, syncKeys } from '@keywarden/daemon';
import { openStore } from '@keywarden/db/store';
import { createLogger } from '@keywarden/runtime';
import type { ConnectionConfig, Sink } from '@keywarden/runtime/config';
import { workOnOrder } from '../crash-order.ts';
import { deadlyFetch, type KillAt, makeContext } from './fixture.ts';

// A process that makes one pass over rotations and is killed at one step, by its own code or by the sink's command.

export interface Order {
  databaseUrl: string;
  dataFolder: string;
  connection: ConnectionConfig;
  policy: object;
  sinks: Sink[];
  /** The request at which the process kills itself, counted among the requests of one method. If null, something else kills it, or nothing does. */
  killAt: KillAt | null;
  /** Whether the process stops itself there until it is continued, and does not kill itself. Only at a rename. */
  pauses?: boolean;
  /** Where the process leaves an image of its memory when it is done. */
  snapshot?: string;
}

workOnOrder(run);

async function run({
  databaseUrl,
  dataFolder,
  connection,
  policy,
  sinks,
  killAt,
  pauses,
  snapshot,
}: Order): Promise<void> {
  const options = { dataFolder: '.', applicationName: 'crash process', role: 'keywarden_daemon' } as const;
  const store = await openStore({ ...options, databaseUrl });
  const context = makeContext(store, {
    connections: [connection],
    channels: [],
    sinks,
    policy: policySchema.parse(policy),
  });
  context.log = createLogger('crash process', { LOG_LEVEL: 'trace', LOG_FORMAT: 'json' });
  const stop = new AbortController();
  process.once('SIGINT', () => stop.abort());
  context.signal = stop.signal;
  context.environment = { ...context.environment, KEYWARDEN_DATA: dataFolder };
  if (killAt !== null && killAt.method === 'rename') dieAtRename(killAt, pauses ? 'SIGSTOP' : 'SIGKILL');
  const connections = await openConnections(store.sql, { ...context, fetch: deadlyFetch(killAt) }, (_name, error) => {
    throw error;
  });
  for (const each of connections) await syncKeys(context, each);
  await rotate(context, connections);
  if (snapshot !== undefined) writeHeapSnapshot(snapshot);
}

/** Kills or stops this process at a rename, counted from the first. Renames move finished files into place. */
function dieAtRename({ nth, when }: NonNullable<Order['killAt']>, signal: 'SIGKILL' | 'SIGSTOP'): void {
  const rename = fs.rename.bind(fs);
  let seen = 0;
  fs.rename = async (from, to) => {
    seen += 1;
    if (seen === nth && when === 'before') process.kill(process.pid, signal);
    await rename(from, to);
    if (seen === nth && when === 'after') process.kill(process.pid, signal);
  };
  syncBuiltinESMExports();
}
