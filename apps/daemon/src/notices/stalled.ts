import type { Facts } from '@keywarden/core/policy';
import { listUntoldStalls, writeMessage } from '@keywarden/db/daemon';
import type { Connection } from '../connect.ts';
import type { Context } from '../context.ts';
import { presentOf } from '../sync/organizations.ts';
import type { Body } from './message.ts';
import { sendPending } from './notices.ts';

/** Tells owners of rotations that do not go on by themselves, once each, through every channel. */
export async function tellStalled(
  context: Context,
  { facts, connections }: { facts: Facts; connections: Connection[] },
): Promise<void> {
  const { store, config } = context;
  for (const channel of config.channels) {
    for (const { incident, key, rule, why } of await listUntoldStalls(store.sql, channel.name)) {
      const known = facts.keys.find(({ number }) => number === key);
      const connection = connections.find(({ controlPlane }) => known?.scope.startsWith(`${controlPlane}/`));
      if (known === undefined || connection === undefined) continue;
      const { id, kind, name, owner } = known;
      const told = {
        id,
        kind,
        name,
        rule: rule ?? 'rotation',
        reason: why,
        may_be_revoked_after: null,
        organization_id: known.organizationId,
        project_id: known.projectId,
        created_at: known.createdAt,
        last_used_at: known.use.state === 'used' ? known.use.at : null,
      };
      const body: Body = {
        type: 'key.rotation_stalled',
        timestamp: presentOf(connection),
        data: { owner, control_plane: connection.identity, step: `incident ${incident}`, keys: [told] },
      };
      const { controlPlane } = connection;
      await writeMessage(store.sql, { controlPlane, channel: channel.name, owner, body, notices: [] });
    }
    await sendPending(context, { channel, connections });
  }
}
