import { type RotatedKey, readMemberRole } from '@keywarden/db/daemon';
import type { Connection } from '../connect.ts';
import type { Context } from '../context.ts';

type Where = Pick<RotatedKey, 'kind' | 'controlPlane' | 'scope' | 'organizationId' | 'projectId'>;

/**
 * Returns the connection that can mint a key's successor, or why none can. Only personal credentials mint. A personal key needs its owner's
 * own credential, and an organization key needs an administrator's. A project-scoped key accepts any member's; an administrator's is
 * preferred.
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
  const members: Connection[] = [];
  for (const connection of personal) {
    const place = { controlPlane: key.controlPlane, organizationId: key.organizationId };
    const role = await readMemberRole(store.db, { ...place, userId: connection.accountId });
    if (role === 'admin') return connection;
    if (role !== null) members.push(connection);
  }
  const [member] = members;
  if (member !== undefined && key.kind === 'project') return member;
  const who = key.kind === 'project' ? 'a member' : 'an administrator';
  return { whyNot: `only a personal key of ${who} of its organization can mint another, and no connection has one` };
}
