import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { ChannelConfig } from '@keywarden/runtime/config';
import { afterEach, beforeEach } from 'vitest';

interface Received {
  id: string;
  headers: Record<string, string>;
  text: string;
}

/** A receiver of notifications. It keeps what it accepted, and responds as the test configures it. */
export const receiver = {
  received: [] as Received[],
  answer: 'accept' as 'accept' | 'refuse' | 'reject' | 'lose' | 'hang up' | 'redirect',
  refuses: (_text: string) => false as boolean,
  /** Called with each message, before it is answered. */
  onMessage: (): unknown => undefined,
};

let server: Server;

/** Starts the receiver for each test of a file. */
export function useReceiver(): void {
  beforeEach(async () => {
    receiver.received = [];
    receiver.answer = 'accept';
    receiver.refuses = () => false;
    receiver.onMessage = () => undefined;
    server = createServer((request, response) => {
      const { answer, refuses, received } = receiver;
      let text = '';
      request.setEncoding('utf8').on('data', (part: string) => (text += part));
      request.on('end', () => {
        receiver.onMessage();
        if (answer === 'hang up') return request.socket.destroy();
        if (answer === 'refuse' || refuses(text)) return response.writeHead(503).end();
        // The receiver works, and does not want this message.
        if (answer === 'reject') return response.writeHead(422).end();
        if (answer === 'redirect') return response.writeHead(307, { location: '/elsewhere' }).end();
        const headers = Object.fromEntries(
          Object.entries(request.headers).map(([name, value]) => [name, String(value)]),
        );
        received.push({ id: headers['webhook-id'] ?? '', headers, text });
        return answer === 'lose' ? request.socket.destroy() : response.writeHead(204).end();
      });
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  });
  afterEach(() => void server.close());
}

export const secret = `whsec_${Buffer.from('a secret of thirty-two bytes....').toString('base64')}`;

/** Returns a channel to the receiver. */
export const channel = (change: Partial<ChannelConfig> = {}): ChannelConfig => ({
  name: 'security',
  format: 'standard-webhooks',
  url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/hook`, // a server that listens on a port has no other address
  secret,
  checkpoints: false,
  ...change,
});
