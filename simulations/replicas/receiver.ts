import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { ChannelConfig } from '@keywarden/runtime/config';

/** The receiver of notifications: everything that was accepted. */
export interface Receiver {
  channel: ChannelConfig;
  received: { id: string; text: string }[];
  close(): Promise<void>;
}

export async function startReceiver(): Promise<Receiver> {
  const received: Receiver['received'] = [];
  const server = createServer((request, response) => {
    let text = '';
    request.setEncoding('utf8').on('data', (part: string) => (text += part));
    request.on('end', () => {
      received.push({ id: String(request.headers['webhook-id']), text });
      response.writeHead(204).end();
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const secret = `whsec_${Buffer.from('a secret of thirty-two bytes....').toString('base64')}`;
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/hook`;
  return {
    channel: { name: 'security', format: 'standard-webhooks', url, secret, checkpoints: false },
    received,
    close: () => new Promise((resolve) => void server.close(() => resolve())),
  };
}
