import { type Rule, rotationDefaults } from '@keywarden/core/policy';
import type { StoredRotation } from '@keywarden/db/daemon';
import type { Connection } from '../connect.ts';

/** The sink of a connection's own key is that connection's file. */
const ownPrefix = 'connection ';

/** Returns the connection whose own key the sink holds; null for a configured sink. */
export function ownConnectionOf(sink: string): string | null {
  return sink.startsWith(ownPrefix) ? sink.slice(ownPrefix.length) : null;
}

/** Returns all connections that take their key from the file of such a sink. */
export function ownUsers(sink: string, connections: Connection[]): Connection[] {
  const own = connections.find(({ name }) => name === ownConnectionOf(sink));
  return connections.filter(({ keyFile }) => keyFile !== null && keyFile === own?.keyFile);
}

/** Returns how a key is rotated: into its connection's file, or as its rule or a person specifies; the reason if neither does. */
export function settingsFor(
  key: { id: string; controlPlane: string },
  { connections, rule, sink }: { connections: Connection[]; rule: Rule | undefined; sink: string | undefined },
): Pick<StoredRotation, 'sink' | 'quietForMs' | 'adoptWithinMs'> | { whyNot: string } {
  const { quiet_for: quietFor, adopt_within: adoptWithin, sink: ofRule } = rule?.rotation ?? {};
  const times = {
    quietForMs: (quietFor ?? rotationDefaults.quiet_for).ms,
    adoptWithinMs: (adoptWithin ?? rotationDefaults.adopt_within).ms,
  };
  const users = connections.filter(
    ({ controlPlane, ownKeyId }) => controlPlane === key.controlPlane && ownKeyId === key.id,
  );
  const [own] = users;
  if (own !== undefined) {
    const files = new Set(users.map(({ keyFile }) => keyFile));
    if (files.has(null))
      return { whyNot: `connection ${own.name} itself uses it and does not take it from a file; set api_key_file` };
    if (files.size > 1)
      return { whyNot: `connections ${users.map(({ name }) => name).join(' and ')} use it from two files` };
    if (sink !== undefined)
      return { whyNot: `connection ${own.name} itself uses it, and its file is the only sink; leave out --sink` };
    return { sink: `${ownPrefix}${own.name}`, ...times };
  }
  const name = sink ?? ofRule;
  return name === undefined
    ? { whyNot: 'no rule of the policy names a sink for it; specify one with --sink' }
    : { sink: name, ...times };
}
