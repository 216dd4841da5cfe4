import type { PendingMessage } from '@keywarden/db/daemon';
import { certificateFault, codeOf } from '@keywarden/runtime';
import type { ChannelConfig } from '@keywarden/runtime/config';
import { Webhook } from 'standardwebhooks';
import { type Body, toSlack } from './message.ts';

const timeoutMs = 10_000;

/** A channel's result for a message. `isDown`: the channel would fail for every other message too, so they wait for the next run. */
type Delivery = { isAccepted: true } | { isAccepted: false; error: string; isDown: boolean };

/**
 * Sends one message. A 2xx status accepts it. After any other response, or none, the message is sent again with the same id. The receiver
 * recognizes a repeated message by that id. https://www.standardwebhooks.com; Slack's incoming webhooks.
 */
export async function sendMessage(
  channel: ChannelConfig,
  message: Pick<PendingMessage, 'id' | 'body'>,
  { signal, now }: { signal: AbortSignal; now: () => number },
): Promise<Delivery> {
  const { body, headers } = encode(channel, message, new Date(now()));
  try {
    const response = await fetch(channel.url, {
      method: 'POST',
      headers: { 'content-type': 'application/json', ...headers },
      body,
      redirect: 'manual', // a notification goes only to the configured address
      signal: AbortSignal.any([signal, AbortSignal.timeout(timeoutMs)]),
    });
    await response.body?.cancel();
    if (response.ok) return { isAccepted: true };
    const isDown = response.status >= 500 || [401, 403, 404, 408, 410, 429].includes(response.status);
    return { isAccepted: false, error: `status ${response.status}`, isDown };
  } catch (error) {
    signal.throwIfAborted();
    // An error's message may contain the address, which is a secret.
    const code = codeOf(error);
    const fault = certificateFault(code);
    const why = fault === undefined ? '' : `: the receiver ${fault}`;
    return { isAccepted: false, error: `no answer (${code})${why}`, isDown: true };
  }
}

function encode({ format, secret }: ChannelConfig, { id, body }: Pick<PendingMessage, 'id' | 'body'>, sentAt: Date) {
  // Only this folder writes it.
  const known = body as unknown as Body;
  switch (format) {
    case 'slack':
      return { body: JSON.stringify(toSlack(known)), headers: {} };
    case 'standard-webhooks': {
      const text = JSON.stringify(known);
      const headers = {
        'webhook-id': `msg_${id}`,
        'webhook-timestamp': String(Math.floor(sentAt.getTime() / 1000)),
        'webhook-signature': new Webhook(secret ?? '').sign(`msg_${id}`, sentAt, text),
      };
      return { body: text, headers };
    }
    default:
      return format satisfies never;
  }
}
