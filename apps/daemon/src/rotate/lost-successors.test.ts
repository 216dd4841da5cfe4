import { closeIncidents } from '@keywarden/db/daemon';
import { exempt } from '@keywarden/testkit/daemon/lineage-fixture';
import {
  ask,
  everyKey,
  fixture,
  openIncidents,
  organization,
  pass,
  prepare,
  project,
  secretOf,
  states,
  store,
  use,
  useRotateFixture,
} from '@keywarden/testkit/daemon/rotate-fixture';
import { expect, test } from 'vitest';

useRotateFixture();

const why = 'the sink may have the secret of a successor that this store has no record of; see keywarden incidents';

/** Makes the store one that is restored from before the mint, or from before its rotation, and armed. */
async function restore({ hasRotation }: { hasRotation: boolean }): Promise<void> {
  store.isTampered();
  if (!hasRotation) return void (await store.sql`truncate keywarden.rotation cascade`);
  await store.sql`delete from keywarden.rotation_event where state <> 'planned'`;
  await store.sql`delete from keywarden.rotation_mint`;
}

const close = async () => await closeIncidents(fixture.context.store.db, { kind: 'orphan' }, { by: 'ada' });

test('T2: a restored store that lacks the rotation of a key mints no other successor, whose secret would replace that of the first, before a person has looked', async () => {
  const { bot } = await prepare(['bot', 'survivor']);
  await exempt('survivor');
  await pass();
  const secret = secretOf(bot.id);
  await restore({ hasRotation: false });
  const keys = (await everyKey()).length;
  await pass();
  expect(await states()).toEqual([]);
  expect((await ask(['bot'])).opened).toMatchObject([{ key: { name: 'bot' }, rotation: null, whyNot: why }]);
  expect(await openIncidents()).toEqual([
    ['orphan', expect.stringMatching(/^bot kw-/), 'its sink may have its secret'],
  ]);
  expect([secretOf(bot.id), (await everyKey()).length, await use(secret)]).toEqual([secret, keys, 200]);
  await close();
  await pass();
  expect(await states()).toEqual(['bot: delivered']);
  expect(await openIncidents()).toEqual([]);
});

test('T2: a restored store that has the rotation of a key and lacks its mint waits for a person in the same way', async () => {
  const { bot } = await prepare(['bot', 'survivor']);
  await exempt('survivor');
  await pass();
  const secret = secretOf(bot.id);
  await restore({ hasRotation: true });
  expect((await pass())?.moved).toMatchObject([{ rotation: { state: 'planned' }, waits: why }]);
  expect(secretOf(bot.id)).toBe(secret);
  await close();
  await pass();
  expect(await states()).toEqual(['bot: delivered']);
  expect(secretOf(bot.id)).not.toBe(secret);
});

test('a key that is named like a successor holds no key of another name, kind or project, and none that is younger', async () => {
  const mint = async (name: string, place: object = {}) =>
    await fixture.ask('POST', `/organizations/${organization}/api_keys`, { key_name: name, ...place });
  await prepare(['other', 'survivor']);
  await exempt('survivor');
  await mint('bot kw-abcdefgh-1');
  await mint('another kw-abcdefgh-2');
  await mint('other kw-abcdefgh-3', { project_id: project });
  await pass(3600, { acts: false });
  await mint('bot');
  await pass(3600, { acts: false });
  const { opened } = await ask(['bot', 'other']);
  expect(opened.map(({ whyNot }) => whyNot)).toEqual([null, null]);
  expect(await openIncidents()).toEqual([]);
});
