import { createClient } from '@keywarden/core/client';
import { lineageName, type SinkAnswer } from '@keywarden/core/rotation';
import { readFirstKey, type StoredRotation } from '@keywarden/db/daemon';
import type { Sink } from '@keywarden/runtime/config';
import type { Connection } from '../connect.ts';
import type { Context } from '../context.ts';
import { ownConnectionOf } from './settings.ts';
import { fileSink, realPathOf } from './sinks/file.ts';
import { openSink } from './sinks/open.ts';
import type { OpenSink } from './sinks/sink.ts';

/** Returns the sink for a rotation's secret, or why there is none. */
export async function sinkOf(
  { store, config, variables }: Pick<Context, 'store' | 'config' | 'variables'>,
  {
    sink: name,
    key,
    lineage,
    id,
  }: Pick<StoredRotation, 'sink' | 'lineage' | 'id'> & {
    key: Pick<StoredRotation['key'], 'id' | 'kind' | 'organizationId' | 'projectId'>;
  },
  connections: Connection[],
): Promise<OpenSink | { whyNot: string }> {
  const own = ownConnectionOf(name);
  if (own !== null) return ownSink(own, { config, connections });
  const sink: Sink | undefined = config.sinks.find((each) => each.name === name);
  if (sink === undefined) return { whyNot: `there is no sink ${name} in the configuration` };
  const first = await readFirstKey(store.db, lineage);
  const target = {
    controlPlane: first.controlPlane,
    lineage: first.id,
    name: lineageName(first.name),
    kind: key.kind,
    organization: key.organizationId,
    project: key.projectId,
    rotation: id,
    oldKeyId: key.id,
  };
  return openSink(sink, target, variables);
}

/** Returns whether a sink has the secret of a mint. A file at another path than at its delivery says nothing. */
export async function askSink(
  sink: OpenSink,
  { sinkPath, keyId, signal }: { sinkPath: string | null | undefined; keyId: string; signal: AbortSignal },
): Promise<SinkAnswer> {
  if (sink.file !== null && sinkPath != null && (await realPathOf(sinkPath)) !== (await realPathOf(sink.file)))
    return 'unknown';
  return await sink.ask(keyId, signal);
}

/** Returns the sink for the file from which a connection takes its key. Rejects a key that is not certainly the same account's. */
function ownSink(
  name: string,
  { config, connections }: { config: Context['config']; connections: Connection[] },
): OpenSink | { whyNot: string } {
  const connection = connections.find((each) => each.name === name);
  const url = config.connections.find((each) => each.name === name)?.url;
  if (connection === undefined || url === undefined) return { whyNot: `connection ${name} cannot be used` };
  if (connection.keyFile === null) return { whyNot: `connection ${name} no longer takes its key from a file` };
  const file = fileSink(connection.keyFile, connection.ownKeyId);
  return {
    ...file,
    async deliver(secret, keyId, guard) {
      const { limiter, accountId } = connection;
      const why = await createClient({ baseUrl: url, apiKey: secret, limiter })
        .auth({ signal: guard.signal })
        .then(
          (answer) =>
            answer.accountId === accountId ? null : `the control plane does not identify it as ${accountId}’s`,
          () => 'it could not be tested at the control plane',
        );
      return why === null ? await file.deliver(secret, keyId, guard) : { isDelivered: false, why, mayHave: false };
    },
  };
}
