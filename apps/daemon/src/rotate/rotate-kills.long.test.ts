import { renameSync } from 'node:fs';
import { join } from 'node:path';
import {
  age,
  commandSinks,
  exempt,
  expectWhole,
  live,
  runCrashProcess,
  storesBoth,
} from '@keywarden/testkit/daemon/lineage-fixture';
import type { Order } from '@keywarden/testkit/daemon/rotate-crash-process';
import {
  day,
  everyKey,
  fileSinks,
  fixture,
  folder,
  openIncidents,
  pass,
  passElsewhere,
  prepare,
  secretOf,
  states,
  store,
  use,
  useRotateFixture,
} from '@keywarden/testkit/daemon/rotate-fixture';
import { expect, test } from 'vitest';

useRotateFixture();

const killAts: [string, NonNullable<Order['killAt']>][] = [
  ['before the mint', { method: 'POST', nth: 1, when: 'before' }],
  ['after the mint, before its id is known', { method: 'POST', nth: 1, when: 'after' }],
  ['before the note of a file is in its place', { method: 'rename', nth: 1, when: 'before' }],
  ['between the note and the secret of a file', { method: 'rename', nth: 2, when: 'before' }],
  ['after the secret of a file is in its place', { method: 'rename', nth: 2, when: 'after' }],
];

test.each(
  killAts.flatMap(([name, killAt]) =>
    (['file', 'command', 'command that only stores'] as const)
      .filter((kind) => kind === 'file' || killAt.method !== 'rename')
      .map((kind) => ({ name, killAt, kind })),
  ),
)('T2: kill -9 $name, with a $kind for a sink: the rotation completes', async ({ killAt, kind }) => {
  const sinks = kind === 'file' ? fileSinks() : commandSinks({ reads: kind === 'command', store: storesBoth });
  const { bot } = await prepare(['bot', 'survivor'], { sinks });
  await exempt('survivor');
  await fixture.reconnect();
  expect(await runCrashProcess(sinks, killAt)).toBe('SIGKILL');
  await live(bot, 26);
  await expectWhole(bot);
});

test.each([
  ['the note', 1],
  ['the secret', 2],
])(
  'T2: a process that pauses before %s of a file is in its place does not replace what another process delivers meanwhile',
  async (_name, nth) => {
    const { bot } = await prepare(['bot', 'survivor']);
    await exempt('survivor');
    await fixture.reconnect();
    let delivered: string | undefined;
    await passElsewhere({ sinks: fileSinks(), killAt: { method: 'rename', nth, when: 'before' } }, async () => {
      await age(); // a pause of an hour
      for (let passes = 0; passes < 2; passes += 1) await pass();
      delivered = secretOf(bot.id);
    });
    expect(await everyKey()).toHaveLength(4);
    expect(secretOf(bot.id)).toBe(delivered);
    await live(bot, 26);
    await expectWhole(bot);
  },
);

test.each(['before', 'after'] as const)(
  'T1, R4: kill -9 %s the retirement: the old key is retired once',
  async (when) => {
    const { bot } = await prepare(['bot', 'survivor']);
    await exempt('survivor');
    await pass();
    const secret = secretOf(bot.id);
    for (let days = 0; days < 6; days += 1) {
      await use(secret);
      await pass(day);
    }
    await use(secret);
    await pass(2 * day, { acts: false });
    await pass(3700, { acts: false });
    expect(await runCrashProcess(fileSinks(), { method: 'DELETE', nth: 1, when })).toBe('SIGKILL');
    await live(bot, 4);
    await expectWhole(bot);
    const ends = await store.sql`select outcome from keywarden.revocation_outcome where outcome in ('revoked', 'gone')`;
    expect(ends).toHaveLength(1);
  },
);

const kill = 'kill -9 $PPID';

test.each([
  ['before it has stored anything', `${kill}; exit 1`],
  ['after it has stored the secret and not its id', `cat > "$file.new"; ${kill}; exit 1`],
  ['after it has stored both', `${storesBoth}; ${kill}`],
])("T2: kill -9 while the sink's command runs, %s: the rotation completes", async (_name, deadly) => {
  const sinks = commandSinks({ reads: true, store: deadly });
  const { bot } = await prepare(['bot', 'survivor'], { sinks });
  await exempt('survivor');
  await fixture.reconnect();
  expect(await runCrashProcess(sinks, null)).toBe('SIGKILL');
  commandSinks({ reads: true, store: storesBoth });
  await live(bot, 26);
  await expectWhole(bot);
});

test('T2: kill during a command without read_command: both keys stay, an incident opens, and a consumer with the secret continues', async () => {
  const sinks = commandSinks({ reads: false, store: `${storesBoth}; ${kill}` });
  const { bot } = await prepare(['bot', 'survivor'], { sinks });
  await exempt('survivor');
  await fixture.reconnect();
  expect(await runCrashProcess(sinks, null)).toBe('SIGKILL');
  await pass();
  expect(await states()).toEqual(['bot: minted']); // the process may still run, and so may the command
  await age();
  await pass();
  expect(await states()).toEqual(['bot: stalled']);
  expect(await openIncidents()).toEqual([
    ['rotation_stalled', 'bot', expect.stringContaining('it is unknown whether')],
  ]);
  await live(bot, 12);
  await expectWhole(bot);
});

test('stopped while a secret is delivered: the next pass asks the sink, and no incident is opened', async () => {
  const sinks = commandSinks({ reads: true, store: `${storesBoth}; kill -INT $PPID; sleep 5` });
  const { bot } = await prepare(['bot', 'survivor'], { sinks });
  await exempt('survivor');
  await fixture.reconnect();
  await runCrashProcess(sinks, null);
  expect(await states()).toEqual(['bot: minted']);
  commandSinks({ reads: true, store: storesBoth });
  await live(bot, 14);
  await expectWhole(bot);
});

test('T2: in a store with delayed reads the successor stays, and the rotation continues', async () => {
  const lagging = storesBoth.replace('"$file.id"', '"$file.later"');
  const sinks = commandSinks({ reads: true, store: lagging });
  const { bot } = await prepare(['bot', 'survivor'], { sinks });
  await exempt('survivor');
  await pass();
  expect(await states()).toEqual(['bot: stalled']);
  await pass(60);
  expect(await states()).toEqual(['bot: stalled']);
  const file = join(folder, `key-${bot.id}`);
  renameSync(`${file}.later`, `${file}.id`);
  await live(bot, 14);
  await expectWhole(bot);
  expect(await everyKey()).toHaveLength(3);
});
