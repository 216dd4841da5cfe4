import { policySchema } from '@keywarden/core/policy';
import { readGauges } from '@keywarden/db/daemon';
import {
  apply,
  fixture,
  prepare,
  revokedNames,
  store,
  use,
  useApplyFixture,
} from '@keywarden/testkit/daemon/apply-fixture';
import { neverUsedRule } from '@keywarden/testkit/daemon/fixture';
import { channel, receiver, secret, useReceiver } from '@keywarden/testkit/daemon/receiver-fixture';
import { Webhook } from 'standardwebhooks';
import { expect, test } from 'vitest';
import { enforce } from '../enforce/enforce.ts';
import { armMachine } from '../enforce/high-water-mark.ts';
import { syncKeys } from '../sync/keys.ts';

useApplyFixture();

useReceiver();

const announced = policySchema.parse({
  enforcement: { organizations: { '*': { mode: 'enforce' } } },
  rules: [{ ...neverUsedRule, mode: 'enforce', notices: ['15d', '7d', '1d'] }],
});

/** Lets some days pass, and then runs the schedule once. */
async function pass(days = 0.1) {
  await fixture.controls.advance(Math.round(days * 86_400));
  await fixture.reconnect();
  for (const connection of fixture.connections) await syncKeys(fixture.context, connection);
  return await enforce(fixture.context, fixture.connections);
}

interface Message {
  type: string;
  data: { owner: string; step: string; keys: { name: string; may_be_revoked_after: string | null; reason: string }[] };
}
const messages = () => receiver.received.map(({ text }) => JSON.parse(text) as Message);
const steps = () => messages().map(({ data }) => `${data.step}: ${data.keys.map(({ name }) => name).join(' ')}`);

test('an owner is notified 15, 7 and 1 day ahead, once each, in one message for all keys, and then the keys are revoked', async () => {
  await prepare(['one', 'two', 'busy'], { policy: announced, channels: [channel()] });
  await armMachine(fixture.context, 'ada');
  await pass();
  await pass();
  expect(steps()).toEqual(['15d: one two']);
  const [first] = messages();
  expect(first).toMatchObject({ type: 'key.revocation_announced', data: { owner: expect.stringContaining('@') } });
  expect(first?.data.keys[0]?.reason).toMatch(/^never used in the 40 days since it was created, more than 30d$/);
  await pass(8);
  expect(steps()).toEqual(['15d: one two', '7d: one two']);
  await pass(6.1);
  expect(steps().at(-1)).toBe('1d: one two');
  await pass(0.5);
  expect(await revokedNames()).toEqual([]);
  await pass(0.6);
  expect(await revokedNames()).toEqual(['one']);
  await pass(1.1);
  expect(await revokedNames()).toEqual(['one', 'two']);
  expect(receiver.received).toHaveLength(3);
});

test("messages are signed per Standard Webhooks: the receiver's library accepts them, and rejects changed ones", async () => {
  await prepare(['one', 'busy'], { policy: announced, channels: [channel()] });
  await pass();
  const [message] = receiver.received;
  const webhook = new Webhook(secret);
  expect(webhook.verify(message?.text ?? '', message?.headers ?? {})).toMatchObject({
    type: 'key.revocation_announced',
  });
  expect(() => webhook.verify(`${message?.text} `, message?.headers ?? {})).toThrow(/signature/);
});

test('a chat gets text in which names can neither link nor mention', async () => {
  const slack = channel({ format: 'slack', secret: null });
  await prepare(['<!channel> & co\nhttps://x.example', 'busy'], { policy: announced, channels: [slack] });
  for (const connection of fixture.connections) await syncKeys(fixture.context, connection);
  await store.sql`
    insert into keywarden.key_owner (key_number, owner, source, assigned_by)
    select number, E'<!here>\n\u2028\x60https://y.example', 'assignment', 'ada' from keywarden.key`;
  await pass();
  const { text } = JSON.parse(receiver.received[0]?.text ?? '') as { text: string };
  expect(text).toMatch(/^Keywarden: 1 key of `&lt;!here&gt; 'https:\/\/y.example` at http/);
  expect(text).toContain('`&lt;!channel&gt; &amp; co https://x.example` (organization ');
  expect(text).toMatch(/may be revoked 15d after this: `never used in the 40 days .*` \(never-used\)$/);
});

test.each(['refuse', 'hang up', 'redirect'] as const)(
  'R9: a message that the receiver does not accept (%s) is sent again, and the grace period starts when it accepts',
  async (failure) => {
    await prepare(['one', 'busy'], { policy: announced, channels: [channel()] });
    await armMachine(fixture.context, 'ada');
    receiver.answer = failure;
    for (let index = 0; index < 3; index += 1) expect((await pass(1)).announced).toEqual({ accepted: 0, pending: 1 });
    receiver.answer = 'accept';
    await pass(1);
    expect(steps()).toEqual(['15d: one']);
    const [row] = await store.sql`select attempts, last_error from keywarden.notice_message`;
    expect(row).toEqual({ attempts: 4, last_error: null });
    await pass(8.1);
    await pass(6.1);
    await pass(0.7);
    expect(await revokedNames()).toEqual([]);
    await pass(0.4);
    expect(await revokedNames()).toEqual(['one']);
  },
);

test('R9: after a lost response the message is sent again with the same id and text, so that the receiver recognizes it', async () => {
  await prepare(['one', 'busy'], { policy: announced, channels: [channel()] });
  receiver.answer = 'lose';
  await pass();
  receiver.answer = 'accept';
  await pass();
  expect(new Set(receiver.received.map(({ id }) => id)).size).toBe(1);
  expect(new Set(receiver.received.map(({ text }) => text)).size).toBe(1);
  expect(receiver.received).toHaveLength(2);
});

test('R9: while a webhook is down for 16 days, no key whose notice it lacks is revoked; then the full grace period follows', async () => {
  await prepare(['one', 'busy'], { policy: announced, channels: [channel()] });
  await armMachine(fixture.context, 'ada');
  await pass();
  await pass(4);
  receiver.answer = 'refuse';
  for (let day = 0; day < 16; day += 1) await pass(1);
  expect(await revokedNames()).toEqual([]);
  receiver.answer = 'accept';
  await pass(1);
  expect(steps()).toEqual(['15d: one', '7d: one']);
  await pass(5.9);
  expect(steps()).toHaveLength(2);
  await pass(0.2);
  expect(steps().at(-1)).toBe('1d: one');
  await pass(0.8);
  expect(await revokedNames()).toEqual([]);
  await pass(0.3);
  expect(await revokedNames()).toEqual(['one']);
});

test('the counter-test: a rule without notices revokes in those 16 days', async () => {
  const silent = policySchema.parse({
    enforcement: { organizations: { '*': { mode: 'enforce' } } },
    rules: [{ ...neverUsedRule, mode: 'enforce' }],
  });
  await prepare(['one', 'busy'], { policy: silent, channels: [channel()] });
  await armMachine(fixture.context, 'ada');
  await pass();
  await pass(4);
  expect(await revokedNames()).toEqual(['one']);
});

test('R9: a daemon that is down for a month still sends the next notices, and the grace period follows them', async () => {
  await prepare(['one', 'busy'], { policy: announced, channels: [channel()] });
  await armMachine(fixture.context, 'ada');
  await pass();
  await pass(30);
  expect(steps()).toEqual(['15d: one', '7d: one']);
  expect(await revokedNames()).toEqual([]);
});

test('R9: a key that was used meanwhile gets no further notices, and its pending notice is not sent', async () => {
  const { one } = await prepare(['one', 'busy'], { policy: announced, channels: [channel()] });
  receiver.answer = 'refuse';
  await pass();
  await use(one?.key ?? '');
  receiver.answer = 'accept';
  await pass();
  await pass(20);
  expect(receiver.received).toEqual([]);
  const [message] = await store.sql`select cancelled_at is not null as cancelled from keywarden.notice_message`;
  expect(message?.cancelled).toBe(true);
});

test('R9: a second channel must also accept; while one is down nothing is revoked', async () => {
  const other = channel({ name: 'chat', format: 'slack', secret: null, url: 'http://127.0.0.1:1/closed' });
  await prepare(['one', 'busy'], { policy: announced, channels: [channel(), other] });
  await armMachine(fixture.context, 'ada');
  for (const days of [0.1, 8.1, 6.1, 1.1]) await pass(days);
  expect(steps()).toEqual(['15d: one']);
  expect(await revokedNames()).toEqual([]);
});

test('notices of a channel that is no longer configured are cancelled, and written again if it comes back; other messages wait', async () => {
  const gone = channel({ name: 'chat', format: 'slack', secret: null, url: 'http://127.0.0.1:1/closed' });
  await prepare(['one', 'busy'], { policy: announced, channels: [channel(), gone] });
  const unaccepted = async () =>
    (await readGauges(store.sql)).find(({ name }) => name === 'keywarden_notices_unaccepted')?.value;
  await pass();
  expect(await unaccepted()).toBe(1);
  // A reminder, which is written only once.
  await store.sql`
    insert into keywarden.notice_message (control_plane_number, channel, owner, body)
    select control_plane_number, channel, owner, body from keywarden.notice_message where channel = 'chat'`;
  fixture.context.config.channels = [channel()];
  await pass();
  expect(await unaccepted()).toBe(1);
  fixture.context.config.channels = [channel(), gone];
  await pass();
  expect(await unaccepted()).toBe(2);
  expect(steps()).toEqual(['15d: one']);
});

test('two connections of one control plane notify an owner once', async () => {
  await prepare(['one', 'busy'], { policy: announced, channels: [channel()] });
  for (const connection of fixture.connections) await syncKeys(fixture.context, connection);
  const connections = fixture.connections.flatMap((each) => [each, { ...each, name: 'second' }]);
  await enforce(fixture.context, connections);
  expect(steps()).toEqual(['15d: one']);
});

test('R9: a plan that a person applies also keeps keys that were not announced', async () => {
  await prepare(['one', 'busy'], { policy: announced, channels: [channel()] });
  const { plan } = await pass();
  expect(plan.document.items).toEqual([]);
  expect(plan.document.held.map(({ why }) => why.text)).toEqual(['its 15d notice was not accepted yet']);
  expect((await apply(plan)).items).toEqual([]);
});

test('a rule that only notifies does so once, and again when the finding returns', async () => {
  const policy = policySchema.parse({ rules: [{ ...neverUsedRule, action: 'notify' }] });
  await prepare(['one', 'busy'], { policy, channels: [channel()] });
  await pass();
  await pass();
  expect(messages().map(({ type, data }) => [type, data.step])).toEqual([['key.reported', 'once']]);
  fixture.context.config.policy = policySchema.parse({ rules: [] });
  await pass();
  fixture.context.config.policy = policy;
  await pass();
  expect(receiver.received).toHaveLength(2);
});

test('R9: messages that their receiver rejects do not block the others', async () => {
  await prepare(['one', 'two', 'three', 'busy'], { policy: announced, channels: [channel()] });
  await store.sql`insert into keywarden.key_owner (key_number, owner, source, assigned_by)
    select number, name, 'assignment', 'ada' from keywarden.key`;
  receiver.refuses = (text) => !text.includes('"name":"three"');
  for (const connection of fixture.connections) await syncKeys(fixture.context, connection);
  await store.sql`insert into keywarden.key_owner (key_number, owner, source, assigned_by)
    select number, name, 'assignment', 'ada' from keywarden.key`;
  await pass();
  await pass();
  expect(steps()).toEqual(['15d: three']);
});

test.each([
  { does: 'accept', accepted: [3, 2, 0] },
  { does: 'reject', accepted: [0, 3, 2] },
] as const)(
  'R9: a channel that takes 50 s to $does each message holds a pass for a few of them; the next passes send the rest, once each',
  async ({ does, accepted }) => {
    const names = ['one', 'two', 'three', 'four', 'five'];
    await prepare([...names, 'busy'], { policy: announced, channels: [channel()] });
    for (const connection of fixture.connections) await syncKeys(fixture.context, connection);
    await store.sql`insert into keywarden.key_owner (key_number, owner, source, assigned_by)
      select number, name, 'assignment', 'ada' from keywarden.key`;
    let tookMs = 0;
    fixture.context.now = () => Date.now() + tookMs;
    receiver.onMessage = () => (tookMs += 50_000);
    receiver.answer = does;
    const sent: number[] = [];
    for (let passes = 0; passes < 3; passes += 1) {
      sent.push((await pass(0)).announced.accepted);
      receiver.answer = 'accept';
    }
    expect(sent).toEqual(accepted);
    expect(steps().toSorted()).toEqual(names.map((name) => `15d: ${name}`).toSorted());
  },
);

test("R9: while the local clock and the control plane's differ nothing is announced, since grace would start at a wrong time", async () => {
  await prepare(['one', 'busy'], { policy: announced, channels: [channel()] });
  receiver.answer = 'refuse';
  await pass();
  receiver.answer = 'accept';
  fixture.connections = fixture.connections.map((connection) => ({ ...connection, isSandbox: false }));
  await enforce(fixture.context, fixture.connections);
  expect(receiver.received).toEqual([]);
});

test('R9: if a pending message covers a key that was used meanwhile, another message covers the remaining keys', async () => {
  const { one } = await prepare(['one', 'two', 'busy'], { policy: announced, channels: [channel()] });
  receiver.answer = 'refuse';
  await pass();
  await use(one?.key ?? '');
  receiver.answer = 'accept';
  await pass();
  expect(steps()).toEqual(['15d: two']);
});
