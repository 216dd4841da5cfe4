import { once } from 'node:events';
import { createServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { channel, useReceiver } from '@keywarden/testkit/daemon/receiver-fixture';
import { makeCertificate } from '@keywarden/testkit/store/certificate';
import { expect, onTestFinished, test } from 'vitest';
import { sendMessage } from './channel.ts';

useReceiver();

test('a receiver whose certificate is not trusted is named as that, with what to change', async () => {
  const { certificate: cert, key } = makeCertificate('127.0.0.1');
  const server = createServer({ cert, key }, (_request, response) => response.writeHead(204).end());
  onTestFinished(() => void server.close());
  await once(server.listen(0, '127.0.0.1'), 'listening');
  const url = `https://127.0.0.1:${(server.address() as AddressInfo).port}/hook`;
  const options = { signal: new AbortController().signal, now: Date.now };
  expect(await sendMessage(channel({ url }), { id: 'x', body: {} }, options)).toEqual({
    isAccepted: false,
    error:
      'no answer (DEPTH_ZERO_SELF_SIGNED_CERT): the receiver has a certificate that this machine does not trust; set NODE_EXTRA_CA_CERTS to the file of its authority',
    isDown: true,
  });
});
