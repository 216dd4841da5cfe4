import { mkdirSync, readFileSync, renameSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { policySchema } from '@keywarden/core/policy';
import { advanceRotation, listOpenRotations } from '@keywarden/db/daemon';
import { emptyNote, noteOf } from '@keywarden/runtime/config';
import {
  age,
  commandSinks,
  exempt,
  forgetDelivery,
  path,
  storesBoth,
  writeScript,
} from '@keywarden/testkit/daemon/lineage-fixture';
import {
  ask,
  day,
  everyKey,
  fileSinks,
  fixture,
  folder,
  liveNames,
  openIncidents,
  organization,
  parseSinks,
  pass,
  prepare,
  secretOf,
  states,
  store,
  use,
  useRotateFixture,
} from '@keywarden/testkit/daemon/rotate-fixture';
import { expect, test } from 'vitest';
import { enforce } from '../enforce/enforce.ts';
import { armMachine, disarmMachine } from '../enforce/high-water-mark.ts';
import { rotate } from './rotate.ts';

// Deliveries whose result is lost: the process ends between a sink's write and its record.

useRotateFixture();

const quiet = policySchema.parse({ rules: [] });
/** Gives the open rotation up, as a person did two hours ago. */
async function giveUp(): Promise<void> {
  const [rotation] = await listOpenRotations(fixture.context.store.db);
  if (rotation === undefined) throw new Error('no rotation is open');
  await advanceRotation(store.sql, rotation, { event: 'given_up', by: 'ada', at: rotation.since });
  await store.sql`update keywarden.rotation set ended_at = ended_at - interval '2 hours' where ended_at is not null`;
}
const filesAt = (path: string) => parseSinks([{ name: 'files', kind: 'file', path }]);

test('two keys whose files are in one folder by way of a symbolic link do not share a file', async () => {
  mkdirSync(join(folder, 'real'));
  symlinkSync(join(folder, 'real'), join(folder, 'link'));
  await prepare(['bot', 'two'], { sinks: filesAt(join(folder, 'link', '{name}')), policy: quiet });
  await ask(['bot'], 'files');
  const secret = readFileSync(join(folder, 'real', 'bot'), 'utf8');
  await fixture.ask('POST', path.replace('{org_id}', organization), { key_name: 'bot' });
  await pass(3700, { acts: false });
  const { opened } = await ask(['bot'], 'files');
  expect(opened.map(({ whyNot }) => whyNot)).toEqual([expect.stringMatching(/another key has been delivered to/)]);
  expect(readFileSync(join(folder, 'real', 'bot'), 'utf8')).toBe(secret);
});

test.each([false, true])(
  'T2: a secret on a volume that is not mounted is not revoked, with a mount point: %s',
  async (hasMountPoint) => {
    const keys = join(folder, 'keys');
    mkdirSync(keys);
    const { bot } = await prepare(['bot', 'survivor'], { sinks: filesAt(join(keys, '{lineage}')) });
    await exempt('survivor');
    await pass();
    const secret = readFileSync(join(keys, String(bot.id)), 'utf8');
    await forgetDelivery();
    renameSync(keys, join(folder, 'unmounted'));
    if (hasMountPoint) mkdirSync(keys);
    await age();
    await pass();
    expect(await use(secret)).toBe(200);
    expect(await states()).toEqual(['bot: stalled']);
    renameSync(join(folder, 'unmounted'), keys);
    await age();
    await pass();
    expect(await states()).toEqual(['bot: overlapping']);
  },
);

test('T2: a secret at the former path of a sink is not revoked', async () => {
  const { bot } = await prepare(['bot', 'survivor']);
  await exempt('survivor');
  await pass();
  const secret = secretOf(bot.id);
  await forgetDelivery();
  fixture.context.config.sinks = filesAt(join(folder, 'new-{lineage}'));
  await age();
  await pass();
  expect(await use(secret)).toBe(200);
  expect(await openIncidents()).toHaveLength(1);
});

test('T4: the successor of a rotation that was given up before its delivery was known stays in its lineage', async () => {
  const policy = policySchema.parse({
    enforcement: { organizations: { '*': { mode: 'enforce' } }, canary_wait: '1s' },
    rules: [{ name: 'stale', never_used_for: '30d', action: 'revoke', mode: 'enforce' }],
  });
  const { bot } = await prepare(['bot', 'survivor'], { policy });
  for (const name of ['bot', 'survivor'] as const) await exempt(name);
  await ask(['bot'], 'files');
  const secret = secretOf(bot.id);
  await forgetDelivery();
  await giveUp();
  for (let passes = 0; passes < 6; passes += 1) await pass(6 * day);
  await pass(3700);
  await enforce(fixture.context, fixture.connections);
  expect(await use(secret)).toBe(200);
});

test('what the first try of a delivery may have stored is not forgotten when the second one cannot begin', async () => {
  const script = writeScript('store.sh', `cat > "${folder}/key-$KEYWARDEN_LINE"; rm -f "${folder}/store.sh"`);
  const read = writeScript('read.sh', 'echo another');
  const sinks = parseSinks([{ name: 'files', kind: 'command', command: [script], read_command: [read] }]);
  const { bot } = await prepare(['bot', 'two'], { sinks, policy: quiet });
  await ask(['bot'], 'files');
  expect(await use(secretOf(bot.id))).toBe(200);
  expect(await states()).toEqual(['bot: stalled']);
});

test.each([-10, 3650])('T1: a delivery is not dated by a clock that is %i days off', async (days) => {
  const { bot } = await prepare(['bot', 'survivor']);
  await exempt('survivor');
  await use(bot.key);
  await pass(8 * day);
  const secret = secretOf(bot.id);
  await forgetDelivery();
  await age();
  await fixture.controls.advance(3700);
  await fixture.reconnect();
  const isOff = (skewMs: number) => skewMs + days * day * 1000;
  const off = fixture.connections.map((each) => ({ ...each, isSandbox: false, skewMs: isOff(each.skewMs) }));
  await rotate(fixture.context, off);
  expect(await states()).toEqual(['bot: minted']);
  await use(secret);
  for (let passes = 0; passes < 3; passes += 1) await pass();
  expect(await use(bot.key)).toBe(200);
  const [mint] =
    await store.sql`select delivered_at <= (select max(listed_at) from keywarden.key_listing) as is_past from keywarden.rotation_mint`;
  expect(mint?.is_past).toBe(true);
});

test('T2: the successor of a rotation that was given up is revoked if its sink certainly lacks its secret', async () => {
  const { bot } = await prepare(['bot', 'survivor'], { policy: quiet });
  await ask(['bot'], 'files');
  await forgetDelivery();
  // Killed before the delivery: the place is prepared.
  rmSync(join(folder, `key-${bot.id}`));
  writeFileSync(noteOf(join(folder, `key-${bot.id}`)), emptyNote);
  await giveUp();
  await age();
  await pass();
  expect(await liveNames()).toEqual(['bot', 'survivor']);
});

test('T2: the successor of a rotation that was given up stays if its sink cannot be asked', async () => {
  const script = writeScript('store.sh', `cat > "${folder}/key-$KEYWARDEN_LINEAGE"`);
  const sinks = parseSinks([{ name: 'files', kind: 'command', command: [script] }]);
  const { bot } = await prepare(['bot', 'survivor'], { sinks, policy: quiet });
  await ask(['bot'], 'files');
  await forgetDelivery();
  await giveUp();
  await age();
  await pass();
  expect(await use(secretOf(bot.id))).toBe(200);
});

test('R10: in a store that may be an older one, a requested pass revokes no successor that it does not know', async () => {
  const script = writeScript('store.sh', `cat > "${folder}/key-$KEYWARDEN_LINEAGE"`);
  const sinks = parseSinks([{ name: 'files', kind: 'command', command: [script] }]);
  const { bot } = await prepare(['bot', 'two'], { sinks, policy: quiet });
  await ask(['bot'], 'files');
  await forgetDelivery();
  await store.sql`update keywarden.rotation_mint set key_id = null, place = null`;
  await store.sql`delete from keywarden.rotation_event where state = 'minted'`;
  disarmMachine(fixture.context);
  await age();
  await pass(60);
  await ask(['bot']);
  expect(await use(secretOf(bot.id))).toBe(200);
  expect(await openIncidents()).toHaveLength(1);
});

test('R10: after arm, a restored store still revokes no successor that was minted before, because a sink may have it', async () => {
  const script = writeScript('store.sh', `cat > "${folder}/key-$KEYWARDEN_LINEAGE"`);
  const sinks = parseSinks([{ name: 'files', kind: 'command', command: [script] }]);
  const { bot } = await prepare(['bot', 'two'], { sinks, policy: quiet });
  await ask(['bot'], 'files');
  const secret = secretOf(bot.id);
  // The store of a moment between the intent and the response.
  await forgetDelivery();
  await store.sql`update keywarden.rotation_mint set key_id = null, place = null`;
  await store.sql`delete from keywarden.rotation_event where state = 'minted'`;
  await store.sql`delete from keywarden.high_water_mark`;
  await age();
  await pass(60);
  expect((await openIncidents()).map(([kind]) => kind)).toEqual(['high_water_mark']);
  await armMachine(fixture.context, 'ada');
  await pass();
  expect(await use(secret)).toBe(200);
  expect((await openIncidents()).map(([kind]) => kind)).toEqual(['orphan']);
});

const marks = {
  'the last mark': 'number = (select max(number) from keywarden.high_water_mark)',
  // The standby has made a mark since the first machine's pass began.
  'all marks except that of the intent':
    'mark::text <> $1 and made_at <> (select created_at from keywarden.rotation_mint)',
};

test.each(Object.entries(marks))(
  'R10: a standby whose store lacks %s of another machine revokes no successor of it, because a sink may have it',
  async (_, lost) => {
    const script = writeScript('store.sh', `cat > "${folder}/key-$KEYWARDEN_LINEAGE"`);
    const sinks = parseSinks([{ name: 'files', kind: 'command', command: [script] }]);
    const { bot } = await prepare(['bot', 'two'], { sinks, policy: quiet });
    const { environment } = fixture.context;
    const first = environment.KEYWARDEN_DATA;
    const standby = join(folder, 'standby');
    mkdirSync(standby);
    Object.assign(environment, { KEYWARDEN_DATA: standby });
    await armMachine(fixture.context, 'ada');
    const [own] = await store.sql`select mark::text from keywarden.high_water_mark order by number desc limit 1`;
    Object.assign(environment, { KEYWARDEN_DATA: first });
    await ask(['bot'], 'files');
    // The standby takes over with a store of a moment between the intent and the response.
    await forgetDelivery();
    await store.sql`update keywarden.rotation_mint set key_id = null, place = null`;
    await store.sql`delete from keywarden.rotation_event where state = 'minted'`;
    await store.sql.unsafe(
      `delete from keywarden.high_water_mark where ${lost}`,
      lost.includes('$1') ? [own?.mark] : [],
    );
    Object.assign(environment, { KEYWARDEN_DATA: standby });
    await age();
    await pass(60);
    await pass();
    expect(await use(secretOf(bot.id))).toBe(200);
    expect((await openIncidents()).map(([kind]) => kind)).toEqual(['orphan']);
    Object.assign(environment, { KEYWARDEN_DATA: first });
  },
);

/** Lets this many of the questions fail whether another process has taken over. They come right before a secret is written. */
function loseStoreBeforeWrites(times: number): void {
  let left = times;
  const { context } = fixture;
  const { sql } = context.store;
  const failing = new Proxy(sql, {
    apply(target, self, words: [TemplateStringsArray]) {
      if (left === 0 || !words[0][0]?.startsWith('select keywarden.hold_fence'))
        return Reflect.apply(target, self, words) as unknown;
      left -= 1;
      return Promise.reject(Object.assign(new Error('the session ended'), { code: 'CONNECTION_CLOSED' }));
    },
  });
  context.store = { ...context.store, sql: failing };
}

test.each(['file', 'command'])(
  'T2: a store that fails right before a secret is written to a %s costs one try',
  async (kind) => {
    const sinks = kind === 'file' ? fileSinks() : commandSinks({ reads: true, store: storesBoth });
    const { bot } = await prepare(['bot', 'survivor'], { sinks });
    await exempt('survivor');
    await fixture.reconnect();
    loseStoreBeforeWrites(1);
    await pass();
    expect(await states()).toEqual(['bot: delivered']);
    expect(await use(secretOf(bot.id))).toBe(200);
    expect(await everyKey()).toHaveLength(3);
  },
);

test('T2: a secret that was not written because the store failed is lost for that reason', async () => {
  await prepare(['bot', 'survivor']);
  await exempt('survivor');
  await fixture.reconnect();
  loseStoreBeforeWrites(2);
  await pass();
  const rows =
    await store.sql`select why from keywarden.rotation_event where why like '%fail%' or why like '%written%'`;
  expect(rows.map(({ why }) => String(why))).toEqual([
    'its secret did not reach its sink: the store failed (CONNECTION_CLOSED) before the secret was written',
  ]);
});
