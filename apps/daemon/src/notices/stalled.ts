import type { Facts } from '@keywarden/core/policy';
import { listStallsToNotify, writeMessage } from '@keywarden/db/daemon';
import type { Connection } from '../connect.ts';
import type { Context } from '../context.ts';
import { controlPlaneNow } from '../control-plane-clock.ts';
import { type Body, toNotifiedKey } from './message.ts';
import { sendPending } from './notices.ts';

/** Notifies owners of stalled rotations, once each, through every channel. */
export async function notifyStalled(
  context: Context,
  { facts, connections }: { facts: Facts; connections: Connection[] },
): Promise<void> {
  const { store, config } = context;
  for (const channel of config.channels) {
    for (const { incident, controlPlane, key, rule, why } of await listStallsToNotify(store.db, channel.name)) {
      const connection = connections.find((each) => each.controlPlane === controlPlane);
      if (connection === undefined) continue;
      const notified = toNotifiedKey(key, { rule: rule ?? 'rotation', reason: why, may_be_revoked_after: null });
      const owner = facts.keys.find(({ number }) => number === key.number)?.owner ?? key.creatorId;
      const body: Body = {
        type: 'key.rotation_stalled',
        timestamp: controlPlaneNow(connection),
        data: { owner, control_plane: connection.identity, step: `incident ${incident}`, keys: [notified] },
      };
      await writeMessage(store.sql, { controlPlane, channel: channel.name, owner, body, notices: [], incident });
    }
    await sendPending(context, { channel, connections });
  }
}
