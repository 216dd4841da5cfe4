import { ControlPlaneError } from '@keywarden/core/client';
import { type RunKind, removeOtherConnections } from '@keywarden/db/daemon';
import { exitCode, printableJson, printError, UserError } from '@keywarden/runtime';
import type { Command } from 'commander';
import { type Connection, connectionsOf, usableConnections } from '../connect.ts';
import type { Context } from '../context.ts';
import { syncCredentials } from '../sync/credentials.ts';
import { syncKeys } from '../sync/keys.ts';
import { syncOperations } from '../sync/operations.ts';
import type { Counts } from '../sync/run.ts';
import type { CommandOf } from './command.ts';
import { withContext } from './with-context.ts';

interface SyncOptions {
  connection?: string;
  json?: boolean;
}

const describeSync = (kind: RunKind | undefined, { about, examples }: Pick<CommandOf, 'about' | 'examples'>) => ({
  name: kind === undefined ? 'sync' : `sync ${kind}`,
  about,
  options: { '--connection <name>': 'use only this connection', '--json': 'print JSON' },
  output: 'text' as const,
  examples,
  run: async (_options: SyncOptions, self: Command) => await runSync(kind, self.optsWithGlobals()),
});

export const syncCommands: CommandOf[] = [
  describeSync(undefined, { about: 'List keys and read operations once', examples: ['', '--connection acme'] }),
  describeSync('keys', {
    about: 'List the API keys once, and store what changed',
    examples: ['', '--connection acme --json'],
  }),
  describeSync('operations', {
    about: 'Read the new operations once, and store them',
    examples: ['', '--connection acme'],
  }),
  describeSync('credentials', {
    about: 'List the other credentials of projects and branches once',
    examples: [''],
  }),
];

const work = { keys: syncKeys, operations: syncOperations, credentials: syncCredentials };
/** The kinds of a sync without a named kind. Other credentials take five requests a project and two a branch, so they are synced only by name or on schedule. */
const usual: readonly RunKind[] = ['keys', 'operations'];

interface Result {
  connection: string;
  kind: RunKind;
  counts: Counts | null;
  error: string | null;
}

/** Runs one pass over keys and operations, or over one kind. Reports a failure and continues with the rest. */
async function runSync(kind: RunKind | undefined, options: SyncOptions): Promise<number> {
  return await withContext(async (context) => {
    const results: Result[] = [];
    const { connections, failures } =
      options.connection === undefined
        ? await usableConnections(context)
        : { connections: await connectionsOf(context, { names: [options.connection] }), failures: [] };
    const names = context.config.connections.map(({ name }) => name);
    if (options.connection === undefined) await removeOtherConnections(context.store.db, names);
    for (const connection of connections)
      for (const each of kind === undefined ? usual : [kind]) results.push(await attempt(context, connection, each));
    failures.push(...results.flatMap(({ error }) => error ?? []));
    if (options.json) console.log(printableJson({ runs: results, failures }));
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
    context.signal.throwIfAborted();
    if (error instanceof UserError) return { ...place, counts: null, error: error.message };
    // Without its session with the store, no request is sent.
    if (!(error instanceof ControlPlaneError) || ['aborted', 'limiter_failed'].includes(error.code)) throw error;
    const message = `The ${kind} of connection ${connection.name} could not be read: ${error.message}; try again later, or check the connection's key.`;
    return { ...place, counts: null, error: message };
  }
}
