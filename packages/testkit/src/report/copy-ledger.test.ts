import { existsSync, mkdtempSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { copyLedger } from '@keywarden/daemon';
import { afterAll, beforeAll, expect, inject, test } from 'vitest';
import { verifyPath } from './packs.ts';
import { createPacks, type Packs } from './packs-fixture.ts';

// A copy of the whole ledger, as a command downloads it.

let packs: Packs;
beforeAll(async () => {
  packs = await createPacks(inject('postgresUrl'));
});
afterAll(async () => await packs.close());

const newFolder = () => mkdtempSync(join(packs.folder, 'copy-'));
type Source = Parameters<typeof copyLedger>[0];
const ask: Source['fetch'] = async (url, init) => await packs.fixture.app.request(url, init);

/** Copies the ledger of the fixture's report; returns the copy with the waits between attempts, in ms. */
async function copy(folder: string, change: Partial<Source> = {}) {
  const waits: number[] = [];
  const source = {
    report: 'http://127.0.0.1:8820/',
    token: packs.fixture.tokens.auditor ?? '',
    allowsHttp: false,
    fetch: ask,
    sleep: (ms: number) => {
      waits.push(ms);
      return Promise.resolve();
    },
    signal: new AbortController().signal,
    ...change,
  };
  return { ...(await copyLedger(source, folder)), waits };
}

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
        expect(String(error)).toMatch(/ does not answer \(.+\)\. What was copied stays\.$/);
        return true;
      },
    );
    expect((await judge(folder)).rank).not.toBe(2);
    if (!isCut) break;
  }
  expect((await judge(folder)).rank).toBe(0);
  expect(readdirSync(folder, { recursive: true }).filter((name) => String(name).endsWith('.partial'))).toEqual([]);
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
});

test('what cannot be copied is said in a sentence, and changes no earlier copy', async () => {
  const folder = newFolder();
  const { size } = await copy(folder);
  const refused = async (change: Partial<Source>) =>
    await copy(folder, change).then(
      () => 'copied',
      (error: unknown) => String(error),
    );
  const text = (body: string) => async () => await Promise.resolve(new Response(body));
  expect(await refused({ token: 'kw_wrong' })).toContain('set REPORT_TOKEN to one that is valid');
  expect(await refused({ token: packs.fixture.tokens.viewer ?? '' })).toContain('needs a token of role auditor');
  expect(await refused({ report: 'keywarden.example' })).toContain('is no address of a report');
  expect(await refused({ report: 'http://keywarden.example' })).toContain('cross the network in clear text');
  expect(await refused({ report: 'http://127.0.0.1/elsewhere' })).toContain('is not there');
  expect(await refused({ fetch: text('<html>') })).toContain('is no checkpoint of a ledger');
  const root = Buffer.alloc(32).toString('base64');
  expect(await refused({ fetch: text(`test\n1\n${root}\n\n`) })).toContain(
    `The folder has ${size} events of the ledger test, and the report has 1 of test.`,
  );
  expect(await refused({ fetch: text(`other\n${size + 1}\n${root}\n\n`) })).toContain('ask the operator why');
  // Bundles that are cut are not kept.
  const isCut: Source['fetch'] = async (url, init) =>
    url.includes('/tile/') ? new Response('cut') : await ask(url, init);
  await addEvents(1);
  expect(await refused({ fetch: isCut })).toContain(' is cut. What was copied stays.');
  expect((await judge(folder)).rank).toBe(0);
  writeFileSync(join(folder, 'checkpoint'), 'notes');
  expect(await refused({})).toContain('name a new folder, or one with a copy');
  expect(existsSync(join(folder, `checkpoint.${size}`))).toBe(false);
});
