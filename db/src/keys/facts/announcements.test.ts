import { makeControlPlane, makeWireKey } from '@keywarden/testkit/store/rows';
import { createTestStore, type TestStore } from '@keywarden/testkit/store/test-store';
import { afterAll, beforeAll, beforeEach, expect, inject, test } from 'vitest';
import { saveKeyListing } from '../listings/save.ts';
import { readAnnouncements } from './of-keys.ts';

let store: TestStore;
let controlPlane: string;
let key: string;
beforeAll(async () => {
  store = await createTestStore(inject('postgresUrl'));
  controlPlane = await makeControlPlane(store.sql);
  const place = { controlPlane, scope: 'organization:acme', organizationId: 'acme', connection: 'main', run: null };
  await saveKeyListing(store.sql, { ...place, listedAt: day(1), begunAt: day(1), keys: [makeWireKey('1')] });
  key = String((await store.sql`select number from keywarden.key`)[0]?.number);
});
afterAll(async () => await store.close());
beforeEach(async () => {
  await store.sql`update keywarden.announcement set ended_at = now()`;
});

const day = (number: number) => `2026-06-0${number}T00:00:00Z`;

/** Announces the key, by messages that channels have accepted or not. */
async function announce(messages: [channel: string, step: string, acceptedAt: string | null][]) {
  const [made] = await store.sql`
    insert into keywarden.announcement (key_number, rule, basis) values (${key}, 'unused', 'x') returning number`;
  for (const [channel, step, at] of messages)
    await store.sql`
      with message as (
        insert into keywarden.notice_message (control_plane_number, channel, owner, body, accepted_at)
        values (${controlPlane}, ${channel}, 'ada', '{}', ${at}) returning number)
      insert into keywarden.notice (announcement_number, step, channel, message_number)
      select ${String(made?.number)}, ${step}, ${channel}, number from message`;
}

const accepted = async (channels: string[]) =>
  (await readAnnouncements(store.sql, channels))(key).map((each) => each.accepted);

test('R9: a step is accepted when the last channel has accepted it', async () => {
  await announce([
    ['chat', '15d', day(2)],
    ['mail', '15d', day(5)],
    ['gone', '15d', day(9)],
  ]);
  expect(await accepted(['chat', 'mail'])).toEqual([[{ step: '15d', at: day(5) }]]);
  expect(await accepted(['chat'])).toEqual([[{ step: '15d', at: day(2) }]]);
});

test('R9: a step that one channel has not accepted is not accepted, also if another has accepted it twice', async () => {
  await announce([
    ['chat', '15d', day(2)],
    ['chat', '15d', day(3)],
    ['mail', '15d', null],
    ['chat', '7d', day(4)],
    ['mail', '7d', day(4)],
  ]);
  expect(await accepted(['chat', 'mail'])).toEqual([[{ step: '7d', at: day(4) }]]);
  await store.sql`update keywarden.announcement set ended_at = now()`;
  expect(await accepted(['chat'])).toEqual([]);
});
