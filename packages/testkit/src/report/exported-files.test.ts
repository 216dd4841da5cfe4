import { createHash, randomBytes, randomUUID } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { createSigningKey } from '@keywarden/core/ledger';
import { readReceipt } from '@keywarden/db/report';
import { createTestLedger } from '@keywarden/testkit/store/ledger';
import { createTestStore } from '@keywarden/testkit/store/test-store';
import { expect, inject, test } from 'vitest';
import { change, download, pack, unpack, verifyTogether } from './packs.ts';
import { packs, usePacks } from './packs-fixture.ts';

// Files that the report exported, each checked with the receipt of its export.

usePacks();

const sha256Of = (bytes: Uint8Array) => createHash('sha256').update(bytes).digest('hex');

/** Downloads a file, and then the receipt of its export. */
async function exportFile(path: string): Promise<{ bytes: Uint8Array; receipt: string }> {
  const bytes = await download(packs.fixture, path);
  await packs.fixture.ledger.sign();
  const receipt = await download(packs.fixture, `/v1/exports/${sha256Of(bytes)}/receipt`);
  return { bytes, receipt: Buffer.from(receipt).toString() };
}

/** Verifies a file beside a receipt. Returns the rank of each, and what was found of the file. */
async function verifyBeside(bytes: Uint8Array, receipt: string): Promise<{ ranks: number[]; words: string }> {
  const [file, beside] = [join(packs.folder, 'exported'), join(packs.folder, 'receipt')];
  writeFileSync(file, bytes);
  writeFileSync(beside, receipt);
  const results = await verifyTogether([file, beside], [packs.fixture.ledger.publicKey]);
  return { ranks: results.map(({ rank }) => rank), words: results[0]?.words ?? '' };
}

const countExports = async () =>
  Number((await packs.fixture.store.sql`select count(*) from keywarden.report_export`)[0]?.count);

const tomorrow = new Date(Date.now() + 86_400_000).toISOString();
const evidence = `/v1/evidence?from=2026-05-01&to=${tomorrow}`;

test('an archive of evidence beside the receipt of its export is proven whole, and an altered one is not', async () => {
  const { bytes, receipt } = await exportFile(evidence);
  const whole = await verifyBeside(bytes, receipt);
  expect(whole.ranks).toEqual([0, 0]);
  expect(whole.words).toMatch(
    /it is the file that the report of test exported, as recorded at 20\d\d-\S+Z.+what the ledger has no events/,
  );
  expect(whole.words).toMatch(/-incidents\.ndjson: \d+ rows? as the ledger recorded/);
  // The same files in another archive, and one that contradicts the ledger.
  const another = await verifyBeside(pack(unpack(bytes)), receipt);
  expect(another).toEqual({ ranks: [1, 1], words: expect.stringContaining('does not have what these are computed') });
  const altered = change(unpack(bytes), /-incidents\.ndjson$/, (text) => text.replace('breaker', 'orphan'));
  expect((await verifyBeside(pack(altered), receipt)).ranks).toEqual([2, 1]);
  const other = await exportFile('/v1/exports/keys?format=ndjson');
  expect((await verifyBeside(bytes, other.receipt)).ranks).toEqual([1, 1]);
});

test.each(['ndjson', 'csv', 'json'])(
  'an export as %s is proven by its receipt, and each other byte is not',
  async (format) => {
    const { bytes, receipt } = await exportFile(`/v1/exports/keys?format=${format}`);
    const whole = await verifyBeside(bytes, receipt);
    expect(whole).toEqual({
      ranks: [0, 0],
      words: expect.stringMatching(
        /as recorded at \S+Z, with [1-9]\d* records of \/v1\/exports\/keys; the ledger does not have its filters/,
      ),
    });
    const cut = await verifyBeside(bytes.slice(0, -2), receipt);
    expect(cut).toEqual({ ranks: [2, 1], words: expect.stringContaining('it was changed, cut or compressed') });
    // A receipt of another event proves nothing of the file.
    const [event] = await packs.fixture.store.sql`
    select number::text from keywarden.ledger_event where type = 'incident.opened' order by number limit 1`;
    const other = await download(packs.fixture, `/v1/ledger/events/${String(event?.number)}/receipt`);
    expect((await verifyBeside(bytes, Buffer.from(other).toString())).ranks).toEqual([2, 0]);
    // A damaged receipt hides no other result. Only a file without any receipt is refused.
    expect((await verifyBeside(bytes, receipt.replace('index ', 'index 1'))).ranks).toEqual([2, 2]);
    const alone = join(packs.folder, 'alone');
    writeFileSync(alone, bytes);
    await expect(verifyTogether([alone], [packs.fixture.ledger.publicKey])).rejects.toThrow(
      'is an export without receipts; name the receipt',
    );
    // A file that lost its beginning.
    expect((await verifyBeside(bytes.slice(3), receipt)).ranks).toEqual([2, 1]);
  },
);

test('an export is one event of the ledger, with who exported it first; an export that is cut is none', async () => {
  const { fixture } = packs;
  const { bytes } = await exportFile('/v1/exports/findings?format=csv');
  const before = await countExports();
  expect(await download(fixture, '/v1/exports/findings?format=csv')).toEqual(bytes);
  expect(await countExports()).toBe(before);
  const [row] = await fixture.store.sql`
    select path, records, exported_by, completed_at from keywarden.report_export where sha256 = ${sha256Of(bytes)}`;
  expect(row).toMatchObject({ path: '/v1/exports/findings', exported_by: 'auditor' });
  const response = await fixture.app.request(evidence, {
    headers: { authorization: `Bearer ${fixture.tokens.auditor}` },
  });
  const reader = response.body?.getReader();
  await reader?.read();
  await reader?.cancel();
  expect(await countExports()).toBe(before);
});

test('an archive that was shortened with its manifest is not proven beside the receipt of its export', async () => {
  const path = '/v1/exports/sealed-operations?from=2026-05-01&to=2026-05-03&project_id=quiet-river';
  const { bytes, receipt } = await exportFile(path);
  expect((await verifyBeside(bytes, receipt)).ranks).toEqual([0, 0]);
  const shorter = await download(packs.fixture, path.replace('to=2026-05-03', 'to=2026-05-02'));
  expect((await verifyBeside(shorter, receipt)).ranks).toEqual([0, 1]);
});

test('a receipt of the export from another ledger does not make an archive whole', async () => {
  const { bytes } = await exportFile(evidence);
  const store = await createTestStore(inject('postgresUrl'));
  const ledger = createTestLedger(await store.as('keywarden_daemon'), createSigningKey('other', 'log'));
  await store.sql`
    insert into keywarden.report_export (sha256, path, records) values (${sha256Of(bytes)}, '/v1/evidence', 1)`;
  await ledger.sign();
  const [event] = await store.sql`select number::text from keywarden.ledger_event where type = 'export.completed'`;
  const receipt = await readReceipt(store.db, String(event?.number));
  const files = ['given.zip', 'other.tlog-proof'].map((name) => join(packs.folder, name));
  for (const [index, text] of [bytes, receipt ?? ''].entries()) writeFileSync(files[index] ?? '', text);
  const results = await verifyTogether(files, [packs.fixture.ledger.publicKey, ledger.publicKey]);
  expect(results.map(({ rank }) => rank)).toEqual([1, 1]);
  expect(results[0]?.words).toContain('that this export is of the ledger of the archive: its receipt is of other');
  await store.close();
});

test('the role of the report records no export without a token, and none under a path with other words', async () => {
  const { fixture } = packs;
  const report = await fixture.store.as('keywarden_report');
  const [{ credential } = {}] = await fixture.store.sql`
    select token_hash as credential from keywarden.report_token where name = 'auditor'`;
  const record = async (more: object) => {
    const access = {
      request_id: randomUUID(),
      address: '::1',
      network: '::1',
      method: 'GET',
      path: '/v1/exports/keys',
      query: '',
      status: 200,
    };
    const file = { stream: 'complete', records: 1, file_sha256: randomBytes(32).toString('hex'), event: 'request' };
    const given = JSON.stringify([{ ...access, ...file, credential, ...more }]);
    const before = await countExports();
    await report.sql`select keywarden.record_accesses(${given}::text::json)`;
    return (await countExports()) - before;
  };
  expect(await record({})).toBe(1);
  expect(await record({ credential: null })).toBe(0);
  expect(await record({ path: '/v1/Ada Lovelace' })).toBe(0);
  // A report of an earlier version names no file.
  expect(await record({ file_sha256: null })).toBe(0);
});

test('the receipt of an export that is unknown, or waits to be signed, is refused with what to do', async () => {
  const { fixture } = packs;
  const bytes = await download(fixture, evidence);
  const path = `/v1/exports/${sha256Of(bytes)}/receipt`;
  expect(await fixture.ask(path, { as: 'auditor' })).toMatchObject({ status: 409 });
  expect(await fixture.ask(`/v1/exports/${'0'.repeat(64)}/receipt`, { as: 'auditor' })).toMatchObject({ status: 404 });
});
