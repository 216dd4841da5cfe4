import type { Rule } from '@keywarden/core/policy';
import { type RotatedKey, readMemberRole } from '@keywarden/db/daemon';
import type { Connection } from '../connect.ts';
import type { Context } from '../context.ts';

type Where = Pick<RotatedKey, 'kind' | 'controlPlane' | 'scope' | 'organizationId' | 'projectId'>;

/**
 * The connection that can mint a successor of a key, or why none can. Only personal credentials mint: a personal key its owner's own, an
 * organization key an administrator's, a project-scoped one any member's.
 */
export async function findMinter(
  { store }: Pick<Context, 'store'>,
  key: Where,
  connections: Connection[],
): Promise<Connection | { whyNot: string }> {
  const personal = connections.filter(
    ({ isPersonal, controlPlane }) => isPersonal && controlPlane === key.controlPlane,
  );
  if (key.organizationId === null) {
    const own = personal.find(({ accountId }) => key.scope === `user:${accountId}`);
    return own ?? { whyNot: 'only its owner’s own personal key can mint another, and no connection has one' };
  }
  for (const connection of personal) {
    const place = { controlPlane: key.controlPlane, organizationId: key.organizationId };
    const role = await readMemberRole(store.sql, { ...place, userId: connection.accountId });
    if (role === 'admin' || (role !== null && key.kind === 'project')) return connection;
  }
  const who = key.kind === 'project' ? 'a member' : 'an administrator';
  return { whyNot: `only a personal key of ${who} of its organization can mint another, and no connection has one` };
}

/** How a rotation goes, and where its successor's secret. */
export interface RotationSettings {
  sink: string;
  quietForMs: number;
  adoptWithinMs: number;
}

const dayMs = 86_400_000;

/** A connection's own key goes back into its file. */
const ownPrefix = 'connection ';

/** The connection whose own key a sink is of; null for a configured one. */
export function ownConnectionOf(sink: string): string | null {
  return sink.startsWith(ownPrefix) ? sink.slice(ownPrefix.length) : null;
}

/**
 * How a key is rotated: a connection's own into the file from which that takes it, any other as its rule says or as a person has asked. Why not,
 * where nothing says it.
 */
export function settingsFor(
  key: { id: string; controlPlane: string },
  { connections, rule, sink }: { connections: Connection[]; rule: Rule | undefined; sink: string | undefined },
): RotationSettings | { whyNot: string } {
  const { quiet_for: quietFor, adopt_within: adoptWithin, sink: ofRule } = rule?.rotation ?? {};
  const times = { quietForMs: quietFor?.ms ?? 7 * dayMs, adoptWithinMs: adoptWithin?.ms ?? 14 * dayMs };
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
    return { sink: `${ownPrefix}${own.name}`, ...times };
  }
  const name = sink ?? ofRule;
  return name === undefined
    ? { whyNot: 'no rule of the policy says into which sink it is rotated; name one with --sink' }
    : { sink: name, ...times };
}
