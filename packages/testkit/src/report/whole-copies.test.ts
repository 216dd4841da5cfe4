import {
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { copyLedger, verifyPath } from './packs.ts';
import { packs, usePacks } from './packs-fixture.ts';

// A copy of the whole ledger: as its routes serve it, changed, continued, and with other things in the place of files.

usePacks();

test('the whole ledger, as its routes serve it, is proven; and each change of it is refused', async () => {
  const copy = mkdtempSync(join(packs.folder, 'copy-'));
  await copyLedger(packs.fixture, copy);
  expect(await verifyPath(copy, packs.fixture.ledger.publicKey)).toMatchObject({ rank: 0 });
  const size = readFileSync(join(copy, 'checkpoint'), 'utf8').split('\n')[1] ?? '';
  for (const kind of ['entries', 'contents', '0', 'checkpoint']) {
    const name = kind === 'checkpoint' ? kind : `tile/${kind}/000.p/${size}`;
    const file = join(copy, name);
    const whole = readFileSync(file);
    const altered = Buffer.from(whole);
    altered[40] = (altered[40] ?? 0) ^ 1;
    for (const bytes of [altered, whole.subarray(0, -1), Buffer.alloc(0)]) {
      writeFileSync(file, bytes);
      expect((await verifyPath(copy, packs.fixture.ledger.publicKey)).rank, `${name} ${bytes.length}`).toBe(2);
    }
    writeFileSync(file, whole);
  }
  expect(await verifyPath(copy, packs.fixture.ledger.publicKey)).toMatchObject({ rank: 0 });
});

test('a folder without a checkpoint, such as an unpacked archive, is called no copy, and proves nothing', async () => {
  const folder = mkdtempSync(join(packs.folder, 'unpacked-'));
  writeFileSync(join(folder, 'manifest.json'), '{}');
  const { rank, words } = await verifyPath(folder, packs.fixture.ledger.publicKey);
  expect({ rank, words }).toEqual({
    rank: 2,
    words: expect.stringContaining('its checkpoint is missing: the folder is no copy'),
  });
});

test('a copy with folders, links or endless files in the place of files is refused in a sentence', async () => {
  const { publicKey } = packs.fixture.ledger;
  const make = async (edit: (copy: string) => void) => {
    const copy = mkdtempSync(join(packs.folder, 'copy-'));
    await copyLedger(packs.fixture, copy);
    edit(copy);
    return await verifyPath(copy, publicKey);
  };
  const replace = (copy: string, by: (path: string) => void) => {
    rmSync(join(copy, 'checkpoint'));
    by(join(copy, 'checkpoint'));
  };
  for (const edit of [
    (copy: string) => replace(copy, mkdirSync),
    (copy: string) => replace(copy, (path) => symlinkSync('/dev/zero', path)),
    (copy: string) => mkdirSync(join(copy, 'checkpoint.old')),
    (copy: string) => {
      writeFileSync(join(copy, 'checkpoint.big'), '');
      truncateSync(join(copy, 'checkpoint.big'), 3_000_000_000);
    },
  ])
    expect(await make(edit)).toMatchObject({
      rank: 2,
      words: expect.stringMatching(/is no file|longer than it can be/),
    });
  const beside = await make((copy) => {
    writeFileSync(join(copy, 'tile/entries/000'), 'forged');
    writeFileSync(join(copy, 'tile/contents/000'), 'forged');
  });
  expect(beside).toMatchObject({
    rank: 1,
    words: expect.stringContaining('files of tiles that are not those of this tree, and are not checked'),
  });
});

test.each([
  ['in steps of less than an hour', `now() - number_in_turn * interval '50 minutes'`],
  ['at once', `'2020-01-01'::timestamptz`],
])('events that say that they were recorded long before earlier ones are named, %s', async (_how, time) => {
  const { store, ledger } = packs.fixture;
  store.isTampered();
  await ledger.sign();
  await store.sql`insert into keywarden.pause (paused_by, resumed_at) select 'eve', now() from generate_series(1, 3)`;
  await store.sql
    .unsafe(
      `set session_replication_role = replica;
    with later as (select number, ${time} as at from (
      select number, row_number() over (order by number) as number_in_turn from keywarden.ledger_event where leaf_index is null) w)
    update keywarden.ledger_event e set recorded_at = l.at,
      leaf = regexp_replace(leaf, '"recorded":"[^"]*"', '"recorded":"' || keywarden.ledger_time(l.at) || '"') from later l where e.number = l.number;
    set session_replication_role = default`,
    )
    .simple();
  await ledger.sign();
  const copy = mkdtempSync(join(packs.folder, 'copy-'));
  await copyLedger(packs.fixture, copy);
  expect(await verifyPath(copy, ledger.publicKey)).toMatchObject({
    rank: 1,
    words: expect.stringMatching(
      /the times of some events: \d+ were recorded more than an hour before an earlier event, or in the future, first event \d+/,
    ),
  });
});

test('a copy that is continued in one folder keeps its earlier tiles, and is proven', async () => {
  const { store, ledger } = packs.fixture;
  const copy = mkdtempSync(join(packs.folder, 'copy-'));
  await copyLedger(packs.fixture, copy);
  await store.sql`insert into keywarden.pause (paused_by, resumed_at) values ('ada', now())`;
  await ledger.sign();
  await copyLedger(packs.fixture, copy);
  const { words } = await verifyPath(copy, ledger.publicKey);
  expect(words).not.toContain('are not checked');
  const [earlier = ''] = readdirSync(join(copy, 'tile/0/000.p')).toSorted((a, b) => Number(a) - Number(b));
  const file = join(copy, 'tile/0/000.p', earlier);
  const bytes = readFileSync(file);
  // The first hashes alone, under a name that promises more.
  writeFileSync(file, bytes.subarray(0, 32));
  expect((await verifyPath(copy, ledger.publicKey)).words).toContain('files of tiles that are not those of this tree');
  writeFileSync(file, bytes.fill(255 - (bytes[0] ?? 0), 0, 1));
  expect((await verifyPath(copy, ledger.publicKey)).words).toContain('files of tiles that are not those of this tree');
});
