import { chmodSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import {
  fileSinks,
  fixture,
  folder,
  parseSinks,
  pass,
  passElsewhere,
  prepare,
  secretOf,
  states,
  store,
  useRotateFixture,
} from '@keywarden/testkit/daemon/rotate-fixture';
import { expect, test } from 'vitest';

useRotateFixture();

const secrets: string[] = [];
const sandbox = { onSecret: (secret: string) => void secrets.push(secret) };

/** Returns the secret of the successor, the last one that the control plane made. */
const newest = () => secrets.at(-1) ?? '';

async function expectNowhereInStore(): Promise<void> {
  const tables = await store.sql`
    select relnamespace::regnamespace::text as schema, relname from pg_class
    where relnamespace::regnamespace::text in ('keywarden', 'keywarden_jobs') and relkind in ('r', 'p')`;
  expect(tables.length).toBeGreaterThan(40);
  for (const { schema, relname } of tables) {
    const rows = await store.sql`select row_to_json(t)::text as row from ${store.sql(schema)}.${store.sql(relname)} t`;
    expect(rows.filter(({ row }) => String(row).includes(newest()))).toEqual([]);
  }
}

test('T3: after delivery a secret is in its file only: in no table, log, process list or memory', async () => {
  await prepare(['bot'], { sandbox });
  const snapshot = join(folder, 'heap');
  await fixture.reconnect();
  const { log } = await passElsewhere({ sinks: fileSinks(), killAt: null, snapshot });
  expect(await states()).toEqual(['bot: delivered']);
  expect(secrets).toContain(newest());
  const heap = readFileSync(snapshot, 'latin1');
  expect(heap).toContain('rotate-crash-process'); // proves that it is an image, and that the search finds text in it
  expect(heap).toContain(fixture.sandbox.adminKey);
  expect(heap.includes(newest())).toBe(false);
  expect(log).not.toContain(newest());
  await expectNowhereInStore();
  const stored = await store.sql`select id from keywarden.key where name = 'bot'`;
  expect(secretOf(String(stored[0]?.id))).toBe(newest());
});

/** Returns a command that searches every process while it has the secret. */
function spyingSink(end: string) {
  const script = join(folder, 'spy.sh');
  const seen = join(folder, 'processes');
  const look = `for each in /proc/[0-9]*; do tr '\\0' ' ' < $each/cmdline; tr '\\0' ' ' < $each/environ; done > "${seen}" 2>/dev/null`;
  writeFileSync(script, `#!/bin/sh\nsecret=$(cat)\n${look}\n${end}\n`);
  chmodSync(script, 0o755);
  return { sinks: parseSinks([{ name: 'files', kind: 'command', command: [script] }]), seen };
}

test.each([
  ['stores', 'exit 0', 'bot: delivered'],
  ['prints it everywhere and fails', 'echo "$secret"; echo "$secret" >&2; exit 1', 'bot: stalled'],
])('T3: a command that %s: the secret is in no process list, table, log or memory', async (_name, end, state) => {
  const { sinks, seen } = spyingSink(end);
  await prepare(['bot'], { sandbox, sinks });
  await fixture.reconnect();
  const snapshot = join(folder, 'heap');
  const { log } = await passElsewhere({ sinks, killAt: null, snapshot });
  expect(await states()).toEqual([state]);
  const heap = readFileSync(snapshot, 'latin1');
  expect(heap).toContain(fixture.sandbox.adminKey);
  expect(heap.includes(newest())).toBe(false);
  const processes = readFileSync(seen, 'latin1');
  expect(processes).toContain('spy.sh');
  expect(processes).toContain('KEYWARDEN_ROTATION');
  expect(processes).not.toContain(newest());
  expect(log).not.toContain(newest());
  await expectNowhereInStore();
});

test('the counter-test: a secret that is written to a table is found', async () => {
  await prepare(['bot'], { sandbox });
  await pass();
  await expectNowhereInStore();
  await store.sql`update keywarden.rotation_mint set place = ${newest()}`;
  await expect(expectNowhereInStore()).rejects.toThrow(/to deeply equal/);
});
