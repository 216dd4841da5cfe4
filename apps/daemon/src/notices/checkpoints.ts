import type { Context } from '../context.ts';
import { readSeen } from '../ledger/seen-checkpoint.ts';
import { sendMessage } from './channel.ts';
import type { CheckpointBody } from './message.ts';

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
