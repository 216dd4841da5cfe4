import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, truncateSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { createSigningKey, parseSigningKey, signatureLines, verifyPage, verifyReceipt } from '@keywarden/core/ledger';
import { makeReceipts, readNewestCheckpoint, readPlacedEvents } from '@keywarden/db/daemon';
import { readEnvironment } from '@keywarden/runtime';
import { otherWitnessKey, witnessKey } from '@keywarden/testkit/daemon/witness';
import { buildGoVerifier } from '@keywarden/testkit/report/go-verifier';
import { createTestStore, type TestStore } from '@keywarden/testkit/store/test-store';
import { afterAll, beforeAll, expect, inject, test } from 'vitest';
import { growLedger } from './ledger.ts';
import { readSigningKeys } from './signing-keys.ts';

// docs/verify has no code of ours: Go's own implementation of the tree and of notes judges our receipts.

let store: TestStore;
let folder: string;
let verifier: string;
beforeAll(async () => {
  store = await createTestStore(inject('postgresUrl'));
  folder = mkdtempSync(join(tmpdir(), 'keywarden-go-'));
  verifier = buildGoVerifier(folder);
});
afterAll(async () => {
  await store.close();
  rmSync(folder, { recursive: true });
});

test('Go’s packages and ours agree on receipts of a growing ledger, and on each tampered one', async () => {
  const daemon = await store.as('keywarden_daemon');
  const environment = readEnvironment({ KEYWARDEN_DATA: folder });
  const place = { store: daemon, environment, signal: new AbortController().signal, now: Date.now };
  const receipts: string[] = [];
  for (const size of [1, 2, 300, 700]) {
    await store.sql`
      insert into keywarden.pause (paused_by, reason, resumed_at) select 'ada', 'why', now() from generate_series(1, ${size}::int)`;
    await growLedger(place, { createsKey: true });
    const newest = await readNewestCheckpoint(daemon.db);
    const [last] = await store.sql`select max(number) as number from keywarden.pause`;
    for (const number of new Set([1, Math.ceil(Number(last?.number) / 2), Number(last?.number)])) {
      if (newest === null) throw new Error('no checkpoint');
      const [text = ''] = newest.note.split(/(?<=\n)\n/);
      const note = newest.note + signatureLines(text, [witnessKey, otherWitnessKey], Math.floor(Date.now() / 1000));
      const [event] = await readPlacedEvents(daemon.db, { subjects: [`pause/${number}`], size: newest.size });
      receipts.push(...(await makeReceipts(daemon.db, event === undefined ? [] : [event], { ...newest, note })));
    }
  }
  const keys = readSigningKeys(environment).map((each) => each.verifier);
  const tampered = receipts.flatMap((receipt) => [
    receipt.replace(/index (\d+)/, (_all, index) => `index ${Number(index) + 1}`),
    receipt.replace(/extra (\S+)/, (_all, text: string) => {
      const shown = Buffer.from(text, 'base64').toString();
      return `extra ${Buffer.from(shown.replaceAll('pause/', 'pause/1')).toString('base64')}`;
    }),
    receipt.replace(/extra (\S+)/, (_all, text: string) => {
      const shown = Buffer.from(text, 'base64').toString();
      return `extra ${Buffer.from(shown.replace('"paused_by":"ada"', '"paused_by":"eve"')).toString('base64')}`;
    }),
    receipt.replace(/\n(\d+)\n(\S{44})\n\n/, (_all, size, root) => `\n${Number(size) + 1}\n${root}\n\n`),
    receipt.slice(0, receipt.length - 40),
    // What one reader might accept, and another not.
    ...[
      (text: string) => text.replace('"leaf":', '"LEAF":'),
      (text: string) => text.replace('"leaf":', '"leaf":"","leaf":'),
      (text: string) => text.replace('{', '{"another":1,'),
      (text: string) => text.replace('"personal":{', '"personal":{"__proto__":"evil",'),
      (text: string) => text.replace('"paused_by":"ada"', '"paused_by":"eve","paused_by":"ada"'),
      (text: string) => text.replace(/^\{("content":.+),("leaf":.+),"personal"/, '{$2,$1,"personal"'),
      (text: string) => text.replace('"paused_by":"ada","reason":"why"', '"reason":"why","paused_by":"ada"'),
      (text: string) => text.replace(/"salt":"\w+"/, '"salt":1'),
      (text: string) => text.replace(/"personal":\{.+?\},"salt":"\w+"/, '"personal":{},"salt":{}'),
      (text: string) => text.replace(/"personal":\{.+?\},"salt":"\w+"/, '"personal":{},"salt":1'),
    ].map((change) =>
      receipt.replace(/extra (\S+)/, (_all, text: string) => {
        const shown = change(Buffer.from(text, 'base64').toString());
        return `extra ${Buffer.from(shown).toString('base64')}`;
      }),
    ),
    receipt.replace(/index /, 'index +'),
    receipt.replace(/index /, 'index 0'),
    receipt.replace(/index /, ''),
    receipt.replace(/extra /, ''),
    receipt.replace(/extra (\S{20})/, 'extra $1\r'),
  ]);
  const verdicts = [...receipts, ...tampered].map((receipt, index) => {
    const file = join(folder, `${index}.tlog-proof`);
    writeFileSync(file, receipt);
    const { status } = spawnSync(verifier, [keys[0]?.text ?? '', file]);
    return {
      ours: typeof verifyReceipt(receipt, [...keys, witnessKey.verifier, otherWitnessKey.verifier]) !== 'string',
      go: status === 0,
    };
  });
  expect(verdicts.slice(0, receipts.length)).toEqual(receipts.map(() => ({ ours: true, go: true })));
  expect(verdicts.slice(receipts.length)).toEqual(tampered.map(() => ({ ours: false, go: false })));
});

test('the Go verifier refuses a file of a gigabyte without reading it into memory', () => {
  const key = parseSigningKey(createSigningKey('test', 'log'))?.verifier.text ?? '';
  const file = join(folder, 'zeros');
  writeFileSync(file, '');
  truncateSync(file, 1_000_000_000);
  const limited = ['-c', 'ulimit -v 1500000; exec "$@"', 'sh', verifier, key, file];
  const { status, stdout } = spawnSync('sh', limited, { encoding: 'utf8' });
  expect([status, stdout]).toEqual([1, expect.stringContaining('it is no receipt')]);
});

test('the Go verifier reads a pipe like a file', () => {
  const key = parseSigningKey(createSigningKey('test', 'log'))?.verifier.text ?? '';
  const { stdout } = spawnSync('sh', ['-c', 'echo text | "$0" "$1" /dev/stdin', verifier, key], { encoding: 'utf8' });
  expect(stdout).toContain('it is no receipt');
});

test('the Go verifier refuses a text that is no key of a ledger in one sentence', () => {
  for (const key of ['', 'no key', parseSigningKey(createSigningKey('test', 'witness'))?.verifier.text ?? '']) {
    const { status, stderr } = spawnSync(verifier, [key, folder], { encoding: 'utf8' });
    expect([status, stderr]).toEqual([2, expect.stringMatching(/^"[^"\n]*" is no public key of a ledger [^\n]*\n$/)]);
  }
});

test('the Go command in the VERIFY.md of an archive runs as it is written', () => {
  const [command = ''] = /GO111MODULE.*/.exec(verifyPage('test', 'archive.zip')) ?? [];
  const key = parseSigningKey(createSigningKey('test', 'log'))?.verifier.text ?? '';
  const cwd = fileURLToPath(new URL('../../../../docs/verify', import.meta.url));
  const env = { ...process.env, GOCACHE: join(folder, 'cache') };
  const filled = command.replace('PUBLIC KEY', key).replace('FOLDER', folder);
  const { stdout } = spawnSync('sh', ['-c', filled], { cwd, env, encoding: 'utf8' });
  expect(stdout).toContain(`${folder}: NOT PROVEN: "open ${folder}/manifest.json`);
});
