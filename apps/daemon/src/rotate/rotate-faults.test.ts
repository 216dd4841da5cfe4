import { chmodSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Sink } from '@keywarden/core/config';
import { listRotations } from '@keywarden/db/daemon';
import { expect, test } from 'vitest';
import {
  bed,
  day,
  everyKey,
  fileSinks,
  folder,
  liveNames,
  type Minted,
  openIncidents,
  parseSinks,
  pass,
  passElsewhere,
  prepare,
  secretOf,
  states,
  store,
  use,
  useRotateBed,
} from './rotate-bed.ts';
import type { Order } from './rotate-victim.ts';

useRotateBed();

const path = '/organizations/{org_id}/api_keys';

/** Intents are decided by listings that begin a minute after them: the tests do not wait for that minute. */
async function age(): Promise<void> {
  for (const table of ['rotation_mint', 'revocation_intent'])
    await store.sql.unsafe(`update keywarden.${table} set created_at = created_at - interval '2 minutes'`);
}

/** Weeks of a daemon and of a consumer that reads its sink once a day and uses what it finds. Never does it hold only dead keys. */
async function live(bot: Minted, days = 24): Promise<void> {
  await bed.control('PUT', 'faults', []);
  let held = bot.key;
  for (let each = 0; each < days; each += 1) {
    await age();
    await pass(day);
    const found = readSink(bot);
    if (found !== undefined) held = found;
    expect(await use(held)).toBe(200);
    await expectKnown();
  }
}

function readSink(bot: Minted): string | undefined {
  try {
    return secretOf(bot.id);
  } catch {
    return undefined;
  }
}

/** T2: no live key is unknown to the store after a run. */
async function expectKnown(): Promise<void> {
  const known = await store.sql`
    select id from keywarden.key where gone_at is null
    union select key_id from keywarden.rotation_mint where key_id is not null`;
  const live = (await everyKey()).filter(({ revoked_at: revoked }) => revoked === null);
  expect(live.filter(({ id }) => !known.some((row) => Number(row.id) === id))).toEqual([]);
}

/** In the end the line has one live key, the one that its sink has, and whatever else was minted is gone, unused. */
async function expectWhole(bot: Minted): Promise<void> {
  const keys = (await everyKey()).filter(({ name }) => name.startsWith('bot'));
  const live = keys.filter(({ revoked_at: revoked }) => revoked === null);
  expect(live).toHaveLength(1);
  expect(await use(secretOf(bot.id))).toBe(200);
  expect(await use(bot.key)).toBe(401);
  const orphans = keys.filter(({ id, revoked_at: revoked }) => revoked !== null && id !== bot.id);
  expect(orphans.map(({ last_used_at: used }) => used)).toEqual(orphans.map(() => null));
  expect(await liveNames()).toContain('survivor');
  expect(await openIncidents()).toEqual([]);
  expect((await states()).filter((state) => state.startsWith('bot: re'))).toEqual(['bot: retired']);
}

/** A sink whose command stores and says what it has, and one that only stores. */
function commandSinks({ reads, store: storing }: { reads: boolean; store: string }): Sink[] {
  const script = join(folder, 'store.sh');
  writeFileSync(script, `#!/bin/sh\nset -e\nfile="${folder}/key-$KEYWARDEN_LINE"\n${storing}\n`);
  chmodSync(script, 0o755);
  const read = join(folder, 'read.sh');
  writeFileSync(read, `#!/bin/sh\ncat "${folder}/key-$KEYWARDEN_LINE.id" 2>/dev/null || true\n`);
  chmodSync(read, 0o755);
  return parseSinks([
    { name: 'files', kind: 'command', command: [script], ...(reads ? { read_command: [read] } : {}) },
  ]);
}

const storesBoth = 'cat > "$file.new"; mv "$file.new" "$file"; printf %s "$KEYWARDEN_KEY_ID" > "$file.id"';

const fault = { method: 'POST', path, times: 1 };
const list = { method: 'GET', path };
const revocation = { method: 'DELETE', path: `${path}/{key_id}`, times: 1 };

test.each<[string, object[]]>([
  ...[400, 401, 403, 404, 409, 423, 429, 500, 503].map((status): [string, object[]] => [
    `status ${status} to the mint`,
    [{ ...fault, kind: 'status', status }],
  ]),
  ['a lost response to the mint', [{ ...fault, kind: 'lose_response' }]],
  ['a cut answer to the mint', [{ ...fault, kind: 'truncate' }]],
  ['a mint that is cut before the work', [{ ...fault, kind: 'drop' }]],
  ['two lost responses to mints', [{ ...fault, times: 2, kind: 'lose_response' }]],
  ['the listing before the mint failing', [{ ...list, after: 2, times: 1, kind: 'status', status: 503 }]],
])('T2: %s: the rotation comes to its end, and no key is left over', async (_name, faults) => {
  const { bot } = await prepare(['bot', 'survivor']);
  await exempt('survivor');
  await bed.control('PUT', 'faults', faults);
  await pass();
  await live(bot);
  await expectWhole(bot);
});

test.each<[string, object]>([
  ...[401, 403, 404, 409, 423, 429, 500, 503].map((status): [string, object] => [
    `status ${status}`,
    { ...revocation, kind: 'status', status },
  ]),
  ['a lost response', { ...revocation, kind: 'lose_response' }],
  ['a cut answer', { ...revocation, kind: 'truncate' }],
  ['a connection that is cut before the work', { ...revocation, kind: 'drop' }],
])('T1, R4: %s to the retirement: the old key is retired once', async (_name, kind) => {
  const { bot } = await prepare(['bot', 'survivor']);
  await exempt('survivor');
  await pass();
  const secret = secretOf(bot.id);
  for (let days = 0; days < 5; days += 1) {
    await use(secret);
    await pass(day);
  }
  await bed.control('PUT', 'faults', [kind]);
  for (let days = 0; days < 4; days += 1) {
    await use(secret);
    await age();
    await pass(day);
  }
  await live(bot, 4);
  await expectWhole(bot);
});

/** Only the bot is rotated. */
async function exempt(name: string): Promise<void> {
  await store.sql`
    with granted as (
      insert into keywarden.exemption (reason, granted_by, granted_at, until) values ('test', 'ada', now(), now() + interval '10 years') returning number)
    insert into keywarden.exemption_key select g.number, k.number from granted g, keywarden.key k where k.name = ${name}`;
}

const runVictim = async (sinks: Sink[], killAt: Order['killAt']) => (await passElsewhere({ sinks, killAt })).signal;

const killAts: [string, NonNullable<Order['killAt']>][] = [
  ['before the mint', { method: 'POST', nth: 1, when: 'before' }],
  ['after the mint, before its id is known', { method: 'POST', nth: 1, when: 'after' }],
];

test.each(
  killAts.flatMap(([name, killAt]) =>
    (['file', 'command', 'command that only stores'] as const).map((kind) => ({ name, killAt, kind })),
  ),
)('T2: kill -9 $name, with a $kind for a sink: the rotation comes to its end', async ({ killAt, kind }) => {
  const sinks = kind === 'file' ? fileSinks() : commandSinks({ reads: kind === 'command', store: storesBoth });
  const { bot } = await prepare(['bot', 'survivor'], { sinks });
  await exempt('survivor');
  await bed.reconnect();
  expect(await runVictim(sinks, killAt)).toBe('SIGKILL');
  await live(bot, 26);
  await expectWhole(bot);
});

const kill = 'kill -9 $PPID';

test.each([
  ['before it has stored anything', `${kill}; exit 1`],
  ['after it has stored the secret and not its id', `cat > "$file.new"; ${kill}; exit 1`],
  ['after it has stored both', `${storesBoth}; ${kill}`],
])('T2: kill -9 while the sink’s command works, %s: the rotation comes to its end', async (_name, deadly) => {
  const sinks = commandSinks({ reads: true, store: deadly });
  const { bot } = await prepare(['bot', 'survivor'], { sinks });
  await exempt('survivor');
  await bed.reconnect();
  expect(await runVictim(sinks, null)).toBe('SIGKILL');
  commandSinks({ reads: true, store: storesBoth });
  await live(bot, 26);
  await expectWhole(bot);
});

test('T2: killed while a command works that nobody can ask: both keys stay, a person is called, and a consumer that has it goes on', async () => {
  const sinks = commandSinks({ reads: false, store: `${storesBoth}; ${kill}` });
  const { bot } = await prepare(['bot', 'survivor'], { sinks });
  await exempt('survivor');
  await bed.reconnect();
  expect(await runVictim(sinks, null)).toBe('SIGKILL');
  await pass();
  expect(await states()).toEqual(['bot: stalled']);
  expect(await openIncidents()).toEqual([['rotation_stalled', 'bot', expect.stringContaining('nobody can tell')]]);
  await live(bot, 12);
  await expectWhole(bot);
});

test('the twin of T2: without the intent’s name nobody knows the key that a lost response made', async () => {
  const { bot } = await prepare(['bot', 'survivor']);
  await exempt('survivor');
  await bed.control('PUT', 'faults', [{ ...fault, kind: 'lose_response' }]);
  await pass();
  await store.sql`update keywarden.rotation_mint set name = 'another'`;
  await live(bot, 14);
  expect((await liveNames()).filter((name) => name.startsWith('bot'))).toHaveLength(2);
});

test('a mint that the control plane makes late, after two listings without it, is found and revoked as an orphan', async () => {
  const { bot } = await prepare(['bot', 'survivor']);
  await exempt('survivor');
  await bed.control('PUT', 'faults', [{ ...fault, kind: 'drop' }]);
  await pass();
  const [rotation] = await listRotations(store.sql, { isOpen: true, limit: 1 });
  const late = rotation?.mints.at(-1)?.name ?? '';
  await live(bot, 4);
  await bed.ask('POST', path.replace('{org_id}', String(await organizationId())), { key_name: late });
  await live(bot, 14);
  await expectWhole(bot);
});

const organizationId = async () => {
  const { organizations } = await bed.ask<{ organizations: { id: string }[] }>('GET', '/users/me/organizations');
  return organizations[0]?.id;
};

test('T2: a key that bears an intent’s name and was used, or is somebody else’s, stays, and a person is called', async () => {
  const { bot } = await prepare(['bot', 'survivor']);
  await exempt('survivor');
  await bed.control('PUT', 'faults', [{ ...fault, kind: 'drop' }]);
  await pass();
  const [rotation] = await listRotations(store.sql, { isOpen: true, limit: 1 });
  const name = rotation?.mints.at(-1)?.name ?? '';
  const forged = await bed.ask<Minted>('POST', path.replace('{org_id}', String(await organizationId())), {
    key_name: name,
  });
  await use(forged.key);
  await bed.control('PUT', 'faults', []);
  await pass(day);
  expect(await openIncidents()).toEqual([['orphan', name, 'it was used']]);
  expect(await use(forged.key)).toBe(200);
  expect(await states()).toEqual(['bot: failed']);
  await pass(2 * day);
  expect(await states()).toEqual(['bot: failed']); // no other is begun while nobody has looked
  expect(await use(bot.key)).toBe(200);
});
