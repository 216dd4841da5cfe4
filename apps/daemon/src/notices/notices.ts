import { type DueNotice, dueNotices, type Facts, lapsedAnnouncements, type Plan } from '@keywarden/core/policy';
import * as db from '@keywarden/db/daemon';
import type { ChannelConfig } from '@keywarden/runtime/config';
import type { Connection } from '../connect.ts';
import type { Context } from '../context.ts';
import { controlPlaneNow, isClockTrusted } from '../control-plane-clock.ts';
import { readSeen } from '../ledger/seen-checkpoint.ts';
import { sendMessage } from './channel.ts';
import { batchesOf, type CheckpointBody, toBody } from './message.ts';

export interface Announced {
  accepted: number;
  /** Messages that their channel has not accepted yet. */
  pending: number;
}

/**
 * Notifies owners of the plan's findings on their keys, once each (R9). Ends announcements whose finding is gone, writes those that are
 * due, and sends what is not accepted yet. The grace period starts at acceptance, by the control plane's clock.
 */
export async function announce(
  context: Context,
  { plan, connections }: { plan: Plan & { facts: Facts }; connections: Connection[] },
): Promise<Announced> {
  const { store, config } = context;
  await db.endAnnouncements(store.sql, lapsedAnnouncements(plan.facts, plan));
  await db.cancelUnsendable(
    store.sql,
    config.channels.map(({ name }) => name),
  );
  const due = dueNotices(plan);
  const total: Announced = { accepted: 0, pending: 0 };
  for (const channel of config.channels) {
    await writeNotices(context, { channel, due, connections });
    const sent = await sendPending(context, { channel, connections });
    total.accepted += sent.accepted;
    total.pending += sent.pending;
  }
  return total;
}

/** Writes the messages of one channel, one for each owner, control plane and step. */
async function writeNotices(
  { store }: Context,
  { channel, due, connections }: { channel: ChannelConfig; due: DueNotice[]; connections: Connection[] },
): Promise<void> {
  const written = await db.listWritten(store.db, channel.name);
  const missing = due.filter(({ key, rule, step }) => !written.has(`${key.number} ${rule} ${step}`));
  for (const connection of oneOfEachControlPlane(connections)) {
    const prefix = db.scopeKeyOf(connection.controlPlane, '');
    const own = missing.filter(({ key }) => key.scope.startsWith(prefix));
    for (const notices of batchesOf(own, ({ key, step, action }) => [key.owner, step, action])) {
      const [{ key, step }] = notices;
      const { owner } = key;
      const at = controlPlaneNow(connection);
      const body = toBody(notices, { owner, controlPlane: connection.identity, step, at });
      const { controlPlane } = connection;
      await db.writeMessage(store.sql, { controlPlane, channel: channel.name, owner, body, notices });
    }
  }
}

const oneOfEachControlPlane = (connections: Connection[]) => [
  ...new Map(connections.map((connection) => [connection.controlPlane, connection])).values(),
];

/** In ms: how long a run sends to one channel. The revocations and rotations of the run wait for that. */
const budgetMs = 120_000;

/** Sends what a channel has not accepted yet, each message once, until the channel is down or its time is over. */
export async function sendPending(
  { store, config, log, signal, now }: Context,
  { channel, connections }: { channel: ChannelConfig; connections: Connection[] },
): Promise<Announced> {
  // A review may have been signed, or its campaign canceled, since its reminder was written.
  await db.settleReviewReminders(store.sql);
  const pending = await db.listPending(store.db, channel.name);
  let accepted = 0;
  let wasDown = false;
  const startedMs = now();
  for (const message of pending) {
    // A clock that was set back must not lengthen the time.
    if (Math.abs(now() - startedMs) >= budgetMs) {
      log.warn({ channel: channel.name }, 'the channel answers slowly; the next run sends the remaining notices');
      break;
    }
    const connection = connections.find(({ controlPlane }) => controlPlane === message.controlPlane);
    // The control plane's clock times the grace period. While that clock is uncertain, nothing is announced.
    if (connection === undefined || !isClockTrusted(config.policy, connection)) continue;
    const delivery = await sendMessage(channel, message, { signal, now });
    if (delivery.isAccepted) {
      await db.recordAttempt(store.db, message.number, { acceptedAt: controlPlaneNow(connection) });
      accepted += 1;
      wasDown = false;
      continue;
    }
    await db.recordAttempt(store.db, message.number, { error: delivery.error });
    log.warn({ channel: channel.name, message: message.id, error: delivery.error }, 'a notice was not accepted');
    // A receiver may reject one message for its content. Two failures in a row mean that it accepts none.
    if (delivery.isDown && wasDown) break;
    wasDown = delivery.isDown;
  }
  return { accepted, pending: pending.length - accepted };
}

/**
 * Sends the last checkpoint that this machine has checked to each channel that gets checkpoints. What a channel does not accept is not sent again: the next
 * checkpoint covers the same events.
 */
export async function sendCheckpoints({ config, environment, log, now, signal }: Context): Promise<void> {
  const seen = readSeen(environment.KEYWARDEN_DATA);
  if (seen === null) return;
  for (const channel of config.channels.filter(({ checkpoints }) => checkpoints)) {
    const body = {
      type: 'ledger.checkpoint',
      timestamp: new Date(now()).toISOString(),
      data: { events: seen.size, checkpoint: seen.note },
    } satisfies CheckpointBody;
    const delivery = await sendMessage(channel, { id: `checkpoint_${seen.size}`, body }, { signal, now });
    if (!delivery.isAccepted)
      log.warn({ channel: channel.name, error: delivery.error }, 'the checkpoint of the ledger was not accepted');
  }
}
