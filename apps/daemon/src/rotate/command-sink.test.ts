import { chmodSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { policySchema } from '@keywarden/core/policy';
import { age, exempt } from '@keywarden/testkit/daemon/lineage-fixture';
import {
  ask,
  day,
  everyKey,
  folder,
  openIncidents,
  parseSinks,
  pass,
  prepare,
  secretOf,
  states,
  use,
  useRotateFixture,
} from '@keywarden/testkit/daemon/rotate-fixture';
import { expect, test } from 'vitest';

useRotateFixture();

function script(name: string, text: string): string {
  const place = join(folder, name);
  writeFileSync(place, `#!/bin/sh\n${text}\n`);
  chmodSync(place, 0o755);
  return place;
}

const stall = 'it is unknown whether its sink has the secret of its successor';

test.each<[string, string, string | null, string[], string[]]>([
  ['hangs', 'sleep 600', null, ['bot: stalled'], [stall]],
  ['fails', 'exit 3', null, ['bot: stalled'], [stall]],
  ['prints the secret and fails', 'tee /dev/stderr; exit 1', null, ['bot: stalled'], [stall]],
  [
    'succeeds without storing',
    'exit 0',
    null,
    ['bot: stalled'],
    ['no use of its successor was observed within 14 days'],
  ],
  [
    'fails, and has nothing by its read_command',
    'exit 3',
    'echo none',
    ['bot: failed'],
    ['the secrets of 3 successors'],
  ],
  [
    'succeeds, and has nothing by its read_command',
    'exit 0',
    'echo none',
    ['bot: failed'],
    ['the secrets of 3 successors'],
  ],
])('a command that %s: the old key stays, and an incident is opened', async (_name, text, reads, ends, whys) => {
  const read = reads === null ? {} : { read_command: [script('read', reads)] };
  const command = [script('store', text)];
  const timeout = text.startsWith('sleep') ? '1s' : '1m';
  const sinks = parseSinks([{ name: 'files', kind: 'command', command, timeout, ...read }]);
  const { bot } = await prepare(['bot', 'survivor'], { sinks });
  await exempt('survivor');
  // The use of a successor is awaited for 14 days. Other rotations stall in the first pass, and one of them is followed beyond those days.
  const most = whys.includes(stall) && text !== 'exit 3' ? 4 : 16;
  for (let passes = 0; passes < most; passes += 1) {
    await use(bot.key);
    await age();
    await pass(day);
    if ((await states()).includes('bot: failed')) break;
  }
  expect(await states()).toEqual(ends);
  expect((await openIncidents()).map(([, , why]) => why)).toEqual(whys.map((why) => expect.stringContaining(why)));
  expect(await use(bot.key)).toBe(200);
  const orphans = (await everyKey()).filter(({ revoked_at: revoked }) => revoked !== null);
  expect(orphans).toHaveLength(reads === null ? 0 : 3);
});

test('T2: a key whose command stored it and failed is no orphan while its read_command does not show it yet', async () => {
  const command = [script('store', `cat > "${folder}/key-$KEYWARDEN_LINEAGE"; exit 1`)];
  const read = [script('read', 'echo none')];
  const sinks = parseSinks([{ name: 'files', kind: 'command', command, read_command: read }]);
  const { bot } = await prepare(['bot', 'two', 'three', 'four'], { sinks, policy: policySchema.parse({ rules: [] }) });
  await ask(['bot'], 'files');
  expect(await states()).toEqual(['bot: stalled']);
  expect(await use(secretOf(bot.id))).toBe(200);
  // A sink that has failed gets no other secret in the pass, and none at all while it is unclear whether it has three.
  const { moved } = await ask(['two', 'three'], 'files');
  expect(moved.map(({ waits }) => waits)).toContainEqual(expect.stringMatching(/^sink files: /));
  await ask(['two', 'three'], 'files');
  const { opened } = await ask(['four'], 'files');
  expect(opened.map(({ whyNot }) => whyNot)).toEqual([expect.stringContaining('whether it has 3 earlier secrets')]);
});

test('a sink whose command cannot be started has certainly no secret: the successor is lost, and nothing about it is unclear', async () => {
  const command = [script('store', 'cat > /dev/null')];
  writeFileSync(join(folder, 'store'), '#!/no/such/interpreter\n');
  const sinks = parseSinks([{ name: 'files', kind: 'command', command }]);
  await prepare(['bot', 'two'], { sinks, policy: policySchema.parse({ rules: [] }) });
  await ask(['bot'], 'files');
  expect(await states()).toEqual(['bot: orphaned']);
});

test("if a sink's command is missing, nothing is minted", async () => {
  const sinks = parseSinks([{ name: 'files', kind: 'command', command: ['no-such-command-of-anybody'] }]);
  await prepare(['bot', 'survivor'], { sinks });
  const passed = await pass();
  expect(passed?.opened.map(({ whyNot }) => whyNot)).toContainEqual(
    'sink files: there is no command no-such-command-of-anybody',
  );
  expect(await everyKey()).toHaveLength(2);
});
