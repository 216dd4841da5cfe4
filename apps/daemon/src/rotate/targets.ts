import { createClient } from '@keywarden/core/client';
import type { Sink } from '@keywarden/core/config';
import { lineName } from '@keywarden/core/rotation';
import { readKeyId, type StoredRotation } from '@keywarden/db/daemon';
import type { Connection } from '../connect.ts';
import type { Context } from '../context.ts';
import { fileSink } from './sinks/file.ts';
import { type OpenSink, openSink } from './sinks/sink.ts';
import { ownConnectionOf } from './who.ts';

/** Where a rotation's secret goes, or why nowhere. */
export async function sinkOf(
  { store, config, variables }: Pick<Context, 'store' | 'config' | 'variables'>,
  { sink: name, key, line, id }: StoredRotation,
  connections: Connection[],
): Promise<OpenSink | { whyNot: string }> {
  const own = ownConnectionOf(name);
  if (own !== null) return ownSink(own, { config, connections });
  const sink: Sink | undefined = config.sinks.find((each) => each.name === name);
  if (sink === undefined) return { whyNot: `there is no sink ${name} in the configuration` };
  const target = {
    line: await readKeyId(store.sql, line),
    name: lineName(key.name),
    kind: key.kind,
    organization: key.organizationId,
    project: key.projectId,
    rotation: id,
    oldKeyId: key.id,
  };
  return openSink(sink, target, variables);
}

/** The file from which a connection takes its key. What the control plane does not know as the same account is not put there. */
function ownSink(
  name: string,
  { config, connections }: { config: Context['config']; connections: Connection[] },
): OpenSink | { whyNot: string } {
  const connection = connections.find((each) => each.name === name);
  const url = config.connections.find((each) => each.name === name)?.url;
  if (connection === undefined || url === undefined) return { whyNot: `connection ${name} cannot be used` };
  if (connection.keyFile === null) return { whyNot: `connection ${name} does not take its key from a file any more` };
  const file = fileSink(connection.keyFile);
  return {
    ...file,
    async deliver(secret, keyId, signal) {
      const { limiter, accountId } = connection;
      const answer = await createClient({ baseUrl: url, apiKey: secret, limiter })
        .auth({ signal })
        .catch(() => undefined);
      if (answer?.accountId !== accountId)
        return { isDelivered: false, why: `the control plane does not take it as ${accountId}’s`, mayHave: false };
      return await file.deliver(secret, keyId, signal);
    },
  };
}
