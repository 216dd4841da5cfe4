import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { listOpenRotations } from '@keywarden/db/daemon';
import { readItems, revocationList } from '@keywarden/db/report';
import { emptyNote, noteOf } from '@keywarden/runtime/config';
import { lateConnection } from '@keywarden/testkit/daemon/fixture';
import {
  age,
  exempt,
  expectWhole,
  fault,
  forgetDelivery,
  live,
  organizationId,
  path,
  revocation,
} from '@keywarden/testkit/daemon/lineage-fixture';
import {
  day,
  fixture,
  folder,
  liveNames,
  type Minted,
  openIncidents,
  pass,
  prepare,
  secretOf,
  states,
  store,
  use,
  useRotateFixture,
} from '@keywarden/testkit/daemon/rotate-fixture';
import { expect, test } from 'vitest';
import { disarmMachine } from '../enforce/high-water-mark.ts';
import { rotate } from './rotate.ts';

useRotateFixture();

test("the counter-test of T2: without the intent's name the key of a lost response stays unknown", async () => {
  const { bot } = await prepare(['bot', 'survivor']);
  await exempt('survivor');
  await fixture.controls.setFaults([{ ...fault, kind: 'lose_response' }]);
  await pass();
  await store.sql`update keywarden.rotation_mint set name = 'another'`;
  await live(bot, 14);
  expect((await liveNames()).filter((name) => name.startsWith('bot'))).toHaveLength(2);
});

test('a mint that the control plane completes late, after two listings without it, is found and revoked as an orphan', async () => {
  const { bot } = await prepare(['bot', 'survivor']);
  await exempt('survivor');
  await fixture.controls.setFaults([{ ...fault, kind: 'drop' }]);
  await pass();
  const [rotation] = await listOpenRotations(fixture.context.store.db);
  const late = rotation?.mints.at(-1)?.name ?? '';
  await fixture.controls.setFaults([]);
  await age();
  for (let listings = 0; listings < 2; listings += 1) await pass(310);
  expect(await states()).toEqual(['bot: delivered']); // another was minted
  await fixture.ask('POST', path.replace('{org_id}', String(await organizationId())), { key_name: late });
  await live(bot, 14);
  await expectWhole(bot);
  const revocations = await readItems(fixture.context.store.db, revocationList({}, null), 10);
  expect(revocations.map(({ key, reasons }) => [key.name, reasons[0]?.reason])).toEqual([
    ['bot', 'its successor is in use, and it has been quiet'],
    [late, 'it is a successor whose secret was lost before its delivery'],
  ]);
});

test("T2: a key with an intent's name that was used, or that another account created, stays, and an incident is opened", async () => {
  const { bot } = await prepare(['bot', 'survivor']);
  await exempt('survivor');
  await fixture.controls.setFaults([{ ...fault, kind: 'drop' }]);
  await pass();
  const [rotation] = await listOpenRotations(fixture.context.store.db);
  const name = rotation?.mints.at(-1)?.name ?? '';
  const forged = await fixture.ask<Minted>('POST', path.replace('{org_id}', String(await organizationId())), {
    key_name: name,
  });
  await use(forged.key);
  await fixture.controls.setFaults([]);
  await pass(day);
  expect(await openIncidents()).toEqual([['orphan', name, 'it was used']]);
  expect(await use(forged.key)).toBe(200);
  expect(await states()).toEqual(['bot: failed']);
  await pass(2 * day);
  expect(await states()).toEqual(['bot: failed']); // no other rotation begins before a person has reviewed it
  expect(await use(bot.key)).toBe(200);
});

test('T2: a namesake created long after the intent, or of a known successor, stays, and one incident is opened', async () => {
  const { bot } = await prepare(['bot', 'survivor']);
  await exempt('survivor');
  await pass();
  await pass();
  const [rotation] = await listOpenRotations(fixture.context.store.db);
  const name = rotation?.mints.at(-1)?.name ?? '';
  const made = await fixture.ask<Minted>('POST', path.replace('{org_id}', String(await organizationId())), {
    key_name: name,
  });
  await pass();
  expect(await openIncidents()).toEqual([['orphan', name, 'the response to its intent named another key']]);
  await store.sql`update keywarden.incident set closed_at = now(), closed_by = 'ada'`;
  await pass(day);
  expect(await openIncidents()).toEqual([]); // a person has closed it
  expect(await use(made.key)).toBe(200);
  expect(await use(bot.key)).toBe(200);
});

test('T2: several responses lost in one second end in revoked orphans, without an incident', async () => {
  const minted = await prepare(['bot', 'two', 'three', 'survivor']);
  await exempt('survivor');
  await pass();
  await fixture.controls.setFaults([{ ...fault, times: 2, kind: 'lose_response' }]);
  for (let passes = 0; passes < 5; passes += 1) {
    await age();
    await pass(310);
  }
  expect((await states()).toSorted()).toEqual(['bot: overlapping', 'three: overlapping', 'two: overlapping']);
  expect(await openIncidents()).toEqual([]);
  expect(await liveNames()).toHaveLength(7);
  for (const { id } of [minted.bot, minted.two, minted.three]) expect(await use(secretOf(id))).toBe(200);
});

test('T2: an orphan whose revocation could not be sent is revoked by the next pass', async () => {
  const { bot } = await prepare(['bot', 'survivor']);
  await exempt('survivor');
  await fixture.controls.setFaults([{ ...fault, kind: 'lose_response' }]);
  await pass();
  await fixture.controls.setFaults([]);
  await age();
  await pass(60, { acts: false });
  const { late } = lateConnection(fixture, () => Promise.reject(new Error('no permit')), { lateMs: 0 });
  const { orphans } = await rotate(fixture.context, [late]);
  expect(orphans).toMatchObject([{ outcome: 'failed', isIncident: false }]);
  await live(bot, 14);
  await expectWhole(bot);
});

test('T2: a busy control plane delays the revocation of an orphan, and the pass repeats it', async () => {
  await prepare(['bot', 'survivor']);
  await exempt('survivor');
  await fixture.controls.setFaults([
    { ...fault, kind: 'lose_response' },
    { ...revocation, kind: 'status', status: 503 },
  ]);
  await pass();
  await age();
  await pass(60, { acts: false });
  const { orphans } = await rotate(fixture.context, fixture.connections);
  expect(orphans).toMatchObject([{ outcome: 'revoked', isIncident: false }]);
});

test('R5: an orphan stays while an incident of a use in flight is open in its scope', async () => {
  await prepare(['bot', 'survivor']);
  await exempt('survivor');
  const before = await liveNames();
  await fixture.controls.setFaults([{ ...fault, kind: 'lose_response' }]);
  await pass();
  const [orphan] = (await liveNames()).filter((name) => !before.includes(name));
  await store.sql`
    insert into keywarden.incident (kind, key_number, detail, scope)
    select 'used_in_flight', number, '{}', control_plane_number || '/' || scope from keywarden.key where name = 'survivor'`;
  await age();
  const held = (await pass(60))?.orphans;
  expect(held).toMatchObject([
    { outcome: 'skipped', why: 'an incident of its scope is open; see keywarden incidents' },
  ]);
  expect(await liveNames()).toContain(orphan);
  await store.sql`update keywarden.incident set closed_at = now()`;
  await pass(60);
  expect(await liveNames()).not.toContain(orphan);
});

test('R5: a use that the answer to the revocation of an orphan shows stops the pass, and its scope until a person has looked', async () => {
  let revoked = 0;
  const client = {
    fetch: (async (input, init) => {
      const answer = await fetch(input, init);
      if (init?.method !== 'DELETE') return answer;
      revoked += 1;
      const used = { ...((await answer.json()) as object), last_used_at: await fixture.controls.now() };
      return Response.json(used, { headers: { date: answer.headers.get('date') ?? '' } });
    }) as typeof fetch,
  };
  await prepare(['bot', 'two', 'three', 'survivor'], { client });
  await exempt('survivor');
  await pass();
  await fixture.controls.setFaults([{ ...fault, times: 2, kind: 'lose_response' }]);
  const whys: unknown[] = [];
  for (let passes = 0; passes < 3; passes += 1) {
    await age();
    whys.push((await pass(310))?.why);
  }
  expect(whys).toContain('a key was used during its revocation; see keywarden incidents');
  expect((await openIncidents()).map(([kind]) => kind)).toEqual(['used_in_flight']);
  expect(revoked).toBe(1);
});

test('R10: disarm stops a pass before its next orphan is revoked, also one whose intent is stored', async () => {
  await prepare(['bot', 'two', 'three', 'survivor']);
  await exempt('survivor');
  await pass();
  const before = await liveNames();
  // The outcome of the first revocation is unknown, so the next pass finds two orphans.
  await fixture.controls.setFaults([
    { ...fault, times: 2, kind: 'lose_response' },
    { ...revocation, kind: 'status', status: 500 },
  ]);
  await age();
  await pass(60);
  const orphans = (await liveNames()).filter((name) => !before.includes(name));
  expect(orphans).toHaveLength(2);
  await age();
  await pass(60, { acts: false });
  const { late } = lateConnection(fixture, () => Promise.resolve(disarmMachine(fixture.context)), { lateMs: 0 });
  await rotate(fixture.context, [late]);
  expect((await liveNames()).filter((name) => orphans.includes(name))).toEqual(orphans);
});

test('T2: a store restored from before a response does not treat a key in its sink as an orphan', async () => {
  const { bot } = await prepare(['bot', 'survivor']);
  await exempt('survivor');
  await pass();
  const secret = secretOf(bot.id);
  // A restore would take back the events too.
  store.isTampered();
  await store.sql`update keywarden.rotation_mint set key_id = null, outcome = null, delivered_at = null, place = null`;
  await store.sql`delete from keywarden.rotation_event where state in ('minted', 'delivered')`;
  await pass();
  expect((await openIncidents()).map(([kind, , why]) => [kind, why])).toEqual([['orphan', 'its sink has it']]);
  expect(await use(secret)).toBe(200);
});

test('T2: a lost key of an ordinary sink that was used before the loss was recorded stays, and an incident is opened', async () => {
  const { bot } = await prepare(['bot', 'survivor']);
  await exempt('survivor');
  await pass();
  const secret = secretOf(bot.id);
  await forgetDelivery();
  // The sink has lost it; its place is prepared.
  rmSync(join(folder, `key-${bot.id}`));
  writeFileSync(noteOf(join(folder, `key-${bot.id}`)), emptyNote);
  await use(secret);
  await age();
  await pass();
  expect((await openIncidents()).map(([kind, , why]) => [kind, why])).toEqual([['orphan', 'it was used']]);
  expect(await use(secret)).toBe(200);
});

test('T2: an orphan that the control plane refuses to revoke is tried once, and an incident is opened', async () => {
  const { bot } = await prepare(['bot', 'survivor']);
  await exempt('survivor');
  await fixture.controls.setFaults([
    { ...fault, kind: 'lose_response' },
    { ...revocation, times: 100, kind: 'status', status: 403 },
  ]);
  await pass();
  for (let passes = 0; passes < 4; passes += 1) {
    await age();
    await pass();
  }
  expect((await openIncidents()).map(([kind, , why]) => [kind, why])).toEqual([
    ['orphan', expect.stringContaining('the control plane refuses to revoke it')],
  ]);
  expect(await states()).toEqual(['bot: failed']);
  const [tries] = await store.sql`select count(*)::int as n from keywarden.revocation_intent`;
  expect(tries?.n).toBe(1);
  expect(await use(bot.key)).toBe(200);
});

test('a mint that is refused permanently opens an incident', async () => {
  await prepare(['bot', 'survivor']);
  await exempt('survivor');
  await fixture.controls.setFaults([{ ...fault, kind: 'status', status: 403 }]);
  await pass();
  expect(await states()).toEqual(['bot: failed']);
  expect(await openIncidents()).toEqual([['rotation_stalled', 'bot', expect.stringContaining('nothing was minted')]]);
});
