import { collect, hasCode } from '@keywarden/core/client';
import type { WireOrganization } from '@keywarden/core/wire';
import { saveOrganizations } from '@keywarden/db/daemon';
import { UserError } from '@keywarden/runtime';
import type { Connection, Identity } from '../connect.ts';
import type { Context } from '../context.ts';
import { controlPlaneNow } from '../control-plane-clock.ts';
import { type Counts, keepRejected } from './run.ts';

/**
 * Lists the organizations that a connection sees, and stores them: all of a person, or the one of a key that belongs to an organization. Rows that cannot be
 * read are kept apart, and counted.
 */
export async function syncOrganizations(
  context: Pick<Context, 'store' | 'signal' | 'log'>,
  connection: Connection,
  counts: Counts,
): Promise<WireOrganization[]> {
  const { client, controlPlane } = connection;
  const { store, signal } = context;
  const { items: organizations, rejected } = connection.isPersonal
    ? await collect(client.currentUserOrganizations({ signal }))
    : { items: [await readOwnOrganization(connection, signal)], rejected: [] };
  await keepRejected(context, connection, { list: 'organizations', place: connection.accountId, rejected, counts });
  await saveOrganizations(store.sql, { controlPlane, seenAt: controlPlaneNow(connection) }, organizations);
  return organizations;
}

/** Returns the organization of a key that belongs to one. Throws a UserError if the key may not read it: it is one of a project. */
export async function readOwnOrganization(
  { name, client, accountId }: Pick<Identity, 'name' | 'client' | 'accountId'>,
  signal: AbortSignal,
): Promise<WireOrganization> {
  try {
    return await client.organization(accountId, { signal });
  } catch (error) {
    if (!hasCode(error, 'not_found', 'forbidden')) throw error;
    throw new UserError(
      'control_plane',
      `The credential of connection ${name} may not read its organization: it is a key of one project, and reads only that. Set CONTROL_PLANE_API_KEY, or the connection's key, to a personal key or to one of the organization.`,
      { cause: error },
    );
  }
}
