import { collect } from '@keywarden/core/client';
import type { WireOrganization } from '@keywarden/core/wire';
import { saveOrganizations } from '@keywarden/db/daemon';
import type { Sql } from '@keywarden/db/store';
import type { Connection } from '../connect.ts';

/** Asks which organizations a connection sees, and stores them. */
export async function syncOrganizations(
  sql: Sql,
  connection: Connection,
  { signal }: { signal: AbortSignal },
): Promise<WireOrganization[]> {
  const { client, controlPlane } = connection;
  const organizations = connection.isPersonal
    ? (await collect(client.currentUserOrganizations({ signal }))).items
    : [await client.organization(connection.accountId, { signal })];
  await saveOrganizations(sql, { controlPlane, seenAt: presentOf(connection) }, organizations);
  return organizations;
}

/** The control plane's present, by its own clock. */
export function presentOf({ skewMs, time }: Connection): string {
  return new Date(time.now() + skewMs).toISOString();
}
