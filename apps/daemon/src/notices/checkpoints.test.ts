import { openNote, parseVerifier } from '@keywarden/core/ledger';
import { fixture, prepare, useApplyFixture } from '@keywarden/testkit/daemon/apply-fixture';
import { channel, receiver, useReceiver } from '@keywarden/testkit/daemon/receiver-fixture';
import { expect, test } from 'vitest';
import { growLedger } from '../ledger/ledger.ts';
import { readSigningKeys } from '../ledger/signing-keys.ts';
import { sendCheckpoints } from './notices.ts';

useApplyFixture();
useReceiver();

test('a channel with checkpoints gets the signed checkpoint of the ledger, and no other channel does; a failure stops nothing', async () => {
  await prepare(['one'], { channels: [channel(), channel({ name: 'auditors', checkpoints: true })] });
  const { context } = fixture;
  await sendCheckpoints(context);
  expect(receiver.received).toEqual([]);
  const grown = await growLedger(context, { createsKey: true });
  receiver.answer = 'refuse';
  await sendCheckpoints(context);
  receiver.answer = 'accept';
  await sendCheckpoints(context);
  expect(receiver.received).toHaveLength(1);
  const { type, data } = JSON.parse(receiver.received[0]?.text ?? '') as {
    type: string;
    data: { events: number; checkpoint: string };
  };
  expect({ type, events: data.events }).toEqual({
    type: 'ledger.checkpoint',
    events: 'size' in grown ? grown.size : 0,
  });
  const [signer] = readSigningKeys(context.environment);
  const key = parseVerifier(signer?.verifier.text ?? '');
  expect(key === null ? null : openNote(data.checkpoint, [key])).not.toBeNull();
});

test('a chat gets the checkpoint as text that can be saved and checked', async () => {
  await prepare(['one'], { channels: [channel({ format: 'slack', secret: null, checkpoints: true })] });
  const { context } = fixture;
  await growLedger(context, { createsKey: true });
  await sendCheckpoints(context);
  const { text } = JSON.parse(receiver.received[0]?.text ?? '{}') as { text: string };
  const [, note = ''] = text.split('```');
  expect(
    openNote(
      note.trimStart(),
      readSigningKeys(context.environment).map(({ verifier }) => verifier),
    ),
  ).not.toBeNull();
});
