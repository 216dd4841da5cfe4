import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { formatCheckpoint, parseSigningKey, parseVerifier, signNote } from '@keywarden/core/ledger';
import { copyLedger } from '@keywarden/daemon';
import { expect, test } from 'vitest';
import { verifyPath } from './packs.ts';
import { packs, usePacks } from './packs-fixture.ts';

// A copy of the whole ledger, as a command downloads it.

usePacks();

const newFolder = () => mkdtempSync(join(packs.folder, 'copy-'));
type Source = Parameters<typeof copyLedger>[0];
const ask: Source['fetch'] = async (url, init) => await packs.fixture.app.request(url, init);

/** Copies the ledger of the fixture's report; returns the copy with the waits between attempts, in ms. */
async function copy(folder: string, change: Partial<Source> = {}) {
  const waits: number[] = [];
  const source = {
    report: 'http://127.0.0.1:8820/',
    token: packs.fixture.tokens.auditor ?? '',
    fetch: ask,
    sleep: (ms: number) => {
      waits.push(ms);
      return Promise.resolve();
    },
    signal: new AbortController().signal,
    ...change,
  };
  const keys = [packs.fixture.ledger.publicKey].flatMap((text) => parseVerifier(text) ?? []);
  return { ...(await copyLedger(source, folder, { keys, nowMs: Date.now() })), waits };
}

/** Signs another tree of that size with the ledger's key. */
function signOther(size: number): string {
  const signer = parseSigningKey(packs.fixture.ledger.privateKey);
  if (signer === null) throw new Error('no key');
  return signNote(formatCheckpoint({ origin: 'test', size, root: Buffer.alloc(32) }), [signer], 0);
}

const refused = async (folder: string, change: Partial<Source>) =>
  await copy(folder, change).then(
    () => 'copied',
    (error: unknown) => {
      const why = String(error);
      expect(why).not.toContain(change.token ?? packs.fixture.tokens.auditor);
      return why;
    },
  );

async function addEvents(count: number): Promise<void> {
  await packs.fixture.store.sql`
    insert into keywarden.pause (paused_by, reason, resumed_at) select 'ada', 'why', now() from generate_series(1, ${count}::int)`;
  await packs.fixture.ledger.sign();
}

const judge = async (folder: string) => await verifyPath(folder, packs.fixture.ledger.publicKey);

test('a copy is proven whole, and one that is continued also proves that the ledger continues', async () => {
  const folder = newFolder();
  const first = await copy(folder);
  expect(first).toMatchObject({ origin: 'test', added: first.size, waits: [] });
  expect((await judge(folder)).rank).toBe(0);
  await addEvents(400);
  const asked: string[] = [];
  const second = await copy(folder, {
    fetch: async (url, init) => {
      asked.push(url);
      return await ask(url, init);
    },
  });
  expect(second.added).toBe(second.size - first.size);
  expect(readFileSync(join(folder, `checkpoint.${first.size}`), 'utf8')).toContain(`\n${first.size}\n`);
  const { rank, words } = await judge(folder);
  expect(words).toContain(`the copy continues checkpoint.${first.size}`);
  expect(words).toContain(`the copy has exactly these ${second.size} events`);
  expect(rank).toBe(0);
  // What is there is not downloaded again.
  await addEvents(300);
  asked.length = 0;
  await copy(folder, {
    fetch: async (url, init) => {
      asked.push(new URL(url).pathname);
      return await ask(url, init);
    },
  });
  expect(asked).not.toContain('/ledger/tile/entries/000');
  expect((await judge(folder)).rank).toBe(0);
});

test('a copy that was interrupted anywhere is continued', async () => {
  const folder = newFolder();
  await copy(folder);
  await addEvents(300);
  for (let most = 0; ; most += 1) {
    let requests = 0;
    const isCut = await copy(folder, {
      fetch: async (url, init) => {
        requests += 1;
        if (requests > most) throw new TypeError('fetch failed');
        return await ask(url, init);
      },
    }).then(
      () => false,
      (error: unknown) => {
        expect(String(error)).toMatch(
          / does not answer \(.+\)\. What was copied stays; run the command again to continue\.$/,
        );
        return true;
      },
    );
    expect((await judge(folder)).rank).not.toBe(2);
    if (!isCut) break;
  }
  expect((await judge(folder)).rank).toBe(0);
  expect(readdirSync(join(folder, '.copy'))).toEqual(['lock']);
});

test('a report that is busy is asked again, no sooner than it says', async () => {
  const answers = [
    new Response('', { status: 503 }),
    new Response('', { status: 429, headers: { 'retry-after': '7' } }),
  ];
  const { waits } = await copy(newFolder(), {
    fetch: async (url, init) => answers.shift() ?? (await ask(url, init)),
  });
  expect(waits).toEqual([1000, 7000]);
  const odd = ['Wed, 21 Oct 2015 07:28:00 GMT', 'soon', '99999999'].map(
    (after) => new Response('', { status: 503, headers: { 'retry-after': after } }),
  );
  const busy = await copy(newFolder(), { fetch: async (url, init) => odd.shift() ?? (await ask(url, init)) });
  expect(busy.waits).toEqual([1000, 2000, 300_000]);
  const headers = { date: 'Wed, 21 Oct 2065 07:28:00 GMT', 'retry-after': 'Wed, 21 Oct 2065 07:28:09 GMT' };
  const dated = [new Response('', { status: 503, headers })];
  const later = await copy(newFolder(), { fetch: async (url, init) => dated.shift() ?? (await ask(url, init)) });
  expect(later.waits).toEqual([9000]);
});

test('what cannot be copied is said in a sentence, and changes no earlier copy', async () => {
  const folder = newFolder();
  const { size } = await copy(folder);
  const before = readFileSync(join(folder, 'checkpoint'), 'utf8');
  const text = (body: string) => async () => await Promise.resolve(new Response(body));
  expect(await refused(folder, { token: 'kw_wrong' })).toContain('set AUDITOR_TOKEN to one that is valid');
  expect(await refused(folder, { token: packs.fixture.tokens.viewer ?? '' })).toContain(
    'needs a token of role auditor',
  );
  for (const report of [
    'keywarden.example',
    'https://u:secret@host',
    'https://host/?a=b',
    'https://host/#x',
    'https://host/?',
    'https://host/#',
    'file:///x',
  ]) {
    const why = await refused(folder, { report });
    expect(why).toContain('is no address of a report');
    expect(why).not.toContain('secret');
  }
  expect(await refused('/proc/none', {})).toContain('/proc/none cannot be written');
  expect(await refused(folder, { report: 'HTTP://keywarden.example' })).toContain('cross the network in clear text');
  expect(await refused(folder, { report: 'http://127.0.0.1/elsewhere' })).toContain('is not there');
  for (const body of ['<html>', `test\n1\n${Buffer.alloc(32).toString('base64')}\n\n`])
    expect(await refused(folder, { fetch: text(body) })).toContain('is not signed with one of the given keys');
  const older = signOther(1);
  expect(await refused(folder, { fetch: text(older) })).toContain(
    `The folder has ${size} events of the ledger test, and the report has 1 of test.`,
  );
  // Bundles that are cut are not kept.
  const isCut: Source['fetch'] = async (url, init) =>
    url.includes('/tile/') ? new Response('cut') : await ask(url, init);
  await addEvents(1);
  expect(await refused(folder, { fetch: isCut })).toContain(' is cut. What was copied stays');
  expect(readFileSync(join(folder, 'checkpoint'), 'utf8')).toBe(before);
  expect((await judge(folder)).rank).toBe(0);
  writeFileSync(join(folder, 'checkpoint'), 'notes');
  expect(await refused(folder, {})).toContain('name a new folder, or one with a copy');
  expect(existsSync(join(folder, `checkpoint.${size}`))).toBe(false);
});

test('two trees of one size, both signed, are kept as evidence', async () => {
  const folder = newFolder();
  const { size } = await copy(folder);
  const fork = signOther(size);
  const fetch = async () => await Promise.resolve(new Response(fork));
  expect(await refused(folder, { fetch })).toContain(`has signed two trees of ${size} events`);
  expect(readFileSync(join(folder, `checkpoint.${size}.other`), 'utf8')).toBe(fork);
  expect((await judge(folder)).rank).toBe(2);
  expect((await judge(folder)).words).toContain(`${size}.other`);
});

test('files that are not of the signed tree are named, and replace no checkpoint; without them the copy is whole', async () => {
  for (const path of ['tile/entries/000', 'tile/contents/000', 'tile/0/000']) {
    const folder = newFolder();
    await copy(folder);
    const before = readFileSync(join(folder, 'checkpoint'), 'utf8');
    await addEvents(1);
    const wrong = readFileSync(join(folder, path));
    wrong[wrong.length - 3] = (wrong[wrong.length - 3] ?? 0) ^ 1;
    writeFileSync(join(folder, path), wrong);
    expect(await refused(folder, {})).toMatch(
      /is not the ledger that its checkpoint signs: .+ Delete .+tile, and copy again\./,
    );
    expect(readFileSync(join(folder, 'checkpoint'), 'utf8')).toBe(before);
    rmSync(join(folder, 'tile'), { recursive: true });
    await copy(folder);
    expect((await judge(folder)).rank).toBe(0);
  }
});

test('what a killed copy leaves is removed, and one process at a time works in a folder', async () => {
  const folder = newFolder();
  const { size } = await copy(folder);
  writeFileSync(join(folder, '.copy', 'new-1'), 'cut');
  writeFileSync(join(folder, '.copy', 'new-checkpoint'), 'cut');
  // The earlier checkpoint was kept, and the new one was not there yet.
  writeFileSync(join(folder, `checkpoint.${size}`), readFileSync(join(folder, 'checkpoint')));
  await addEvents(1);
  let second = '';
  await copy(folder, {
    fetch: async (url, init) => {
      second ||= await refused(folder, {});
      return await ask(url, init);
    },
  });
  expect(second).toMatch(/Another process copies a ledger into .+; wait for it\./);
  expect(readdirSync(join(folder, '.copy'))).toEqual(['lock']);
  expect((await judge(folder)).rank).toBe(0);
});

test('a folder that cannot be locked is not one that another process works in, and nothing in it changes', async () => {
  for (const spoil of [
    (lock: string) => writeFileSync(lock, 'no database'.repeat(100)),
    (lock: string) => mkdirSync(lock),
  ]) {
    const folder = newFolder();
    await copy(folder);
    const before = readFileSync(join(folder, 'checkpoint'), 'utf8');
    const lock = join(folder, '.copy', 'lock');
    rmSync(lock);
    spoil(lock);
    await addEvents(1);
    expect(await refused(folder, {})).toMatch(
      /lock cannot be locked \(.+\); fix the folder or its disk, or use another/,
    );
    expect(readFileSync(join(folder, 'checkpoint'), 'utf8')).toBe(before);
  }
});
