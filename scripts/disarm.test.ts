import { mkdtempSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { beforeEach, expect, test } from 'vitest';
import { keywardenWith, sandbox, store, useGovernance } from './governance-fixture.ts';
import { entry, run, settingsFor } from './processes.ts';

// R10: the command that withdraws the permission works where nothing else does.

useGovernance();

let KEYWARDEN_DATA: string;
beforeEach(async () => {
  KEYWARDEN_DATA = mkdtempSync(join(tmpdir(), 'keywarden-disarm-'));
  expect(await keywardenWith({ KEYWARDEN_DATA }, 'arm')).toMatchObject({ code: 0 });
});

const unreachable = { DATABASE_URL: 'postgres://keywarden@127.0.0.1:1/none' };
const whyNotAutomatic = async () => (await keywardenWith({ KEYWARDEN_DATA }, 'enforce')).stdout;

test('R10: disarm takes effect on a full disk, and without a database', async () => {
  // The limit is 0 bytes a file.
  const limited = ['bash', '-c', `trap '' XFSZ; ulimit -f 0; exec "$0" "$@"`, ...entry.keywarden, 'disarm'];
  expect(await run(limited, { ...settingsFor(store, sandbox, KEYWARDEN_DATA), ...unreachable })).toMatchObject({
    code: 0,
    stdout: expect.stringMatching(/^This machine no longer enforces automatically\./),
  });
  expect(await whyNotAutomatic()).toContain('automatic enforcement is not permitted on this machine');
  expect(await keywardenWith({ KEYWARDEN_DATA }, 'disarm', '--json')).toMatchObject({
    code: 0,
    stdout: expect.stringMatching(/"was_armed": ?false/),
  });
});

test('R10: disarm takes effect although the mark of the machine cannot be read', async () => {
  const file = join(KEYWARDEN_DATA, 'high-water-mark');
  const mark = readFileSync(file);
  writeFileSync(file, '');
  expect(await keywardenWith({ KEYWARDEN_DATA }, 'disarm')).toMatchObject({ code: 0 });
  writeFileSync(file, mark);
  expect(await whyNotAutomatic()).toContain('automatic enforcement is not permitted on this machine');
});

test('R10: disarm pauses all revocations if it cannot withdraw the permission, and says what to do', async () => {
  // A file cannot be created where a link without a target has its name.
  symlinkSync(join(KEYWARDEN_DATA, 'none', 'none'), join(KEYWARDEN_DATA, 'disarmed'));
  const says = /^The permission of this machine could not be withdrawn: KEYWARDEN_DATA cannot be written \(ENOENT\)\. /;
  expect(await keywardenWith({ KEYWARDEN_DATA, ...unreachable }, 'disarm')).toMatchObject({
    code: 1,
    stderr: expect.stringMatching(new RegExp(`${says.source}Keywarden could not be paused either: .*Stop the daemon`)),
  });
  expect(await keywardenWith({ KEYWARDEN_DATA }, 'disarm')).toMatchObject({
    code: 3,
    stdout: expect.stringMatching(new RegExp(`${says.source}Keywarden is paused instead: no replica revokes a key`)),
  });
  expect(await whyNotAutomatic()).toMatch(/No key is revoked automatically: paused by .* \(disarm could not/);
});

test('R7: neither pause nor disarm says that Keywarden is paused if another process has ended the pause meanwhile', async () => {
  await store.sql.unsafe(`
    create function public.resume() returns trigger language plpgsql security definer as
      $$ begin update keywarden.pause set resumed_at = now(), resumed_by = 'mallory' where resumed_at is null; return null; end $$;
    create trigger resume after insert on keywarden.pause for each statement execute function public.resume()`);
  const ended = 'Another process has ended the pause meanwhile; run keywarden pause again.';
  expect(await keywardenWith({ KEYWARDEN_DATA }, 'pause', '--json')).toEqual({
    code: 1,
    stdout: '',
    stderr: `${ended}\n`,
  });
  symlinkSync(join(KEYWARDEN_DATA, 'none', 'none'), join(KEYWARDEN_DATA, 'disarmed'));
  expect(await keywardenWith({ KEYWARDEN_DATA }, 'disarm')).toMatchObject({
    code: 1,
    stderr: expect.stringContaining(`Keywarden could not be paused either: ${ended} Stop the daemon.`),
  });
  await store.sql`drop function public.resume cascade`;
});

test('disarm without the folder of a daemon is refused', async () => {
  expect(await keywardenWith({ KEYWARDEN_DATA: join(KEYWARDEN_DATA, 'other') }, 'disarm')).toMatchObject({
    code: 2,
    stderr: expect.stringMatching(/^There is no data folder /),
  });
});

test('R10: the end of a pause arms no machine that a person has disarmed', async () => {
  await keywardenWith({ KEYWARDEN_DATA }, 'disarm');
  await keywardenWith({ KEYWARDEN_DATA }, 'pause');
  const resumed = await keywardenWith({ KEYWARDEN_DATA }, 'resume', '--json');
  expect(JSON.parse(resumed.stdout)).toEqual({ paused: false, was_paused: true, armed: false, was_armed: false });
  expect((await keywardenWith({ KEYWARDEN_DATA }, 'resume')).stdout).toMatch(
    /keywarden arm permits automatic enforcement again/,
  );
});
