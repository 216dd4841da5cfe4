import { collect } from '@keywarden/core/client';
import type { WireOrganization } from '@keywarden/core/wire';
import { saveOrganizations } from '@keywarden/db/daemon';
import type { Connection } from '../connect.ts';
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
    : { items: [await client.organization(connection.accountId, { signal })], rejected: [] };
  await keepRejected(context, connection, { list: 'organizations', place: connection.accountId, rejected, counts });
  await saveOrganizations(store.sql, { controlPlane, seenAt: controlPlaneNow(connection) }, organizations);
  return organizations;
}
