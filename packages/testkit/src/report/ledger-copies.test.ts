import { createHash } from 'node:crypto';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import {
  createSigningKey,
  formatCheckpoint,
  growTree,
  hashLeaf,
  hashRanges,
  parseSigningKey,
  parseVerifier,
  signNote,
  unpackEntries,
  type Verifier,
} from '@keywarden/core/ledger';
import { makeOperationPartitions, saveOperationPage } from '@keywarden/db/daemon';
import { makeWireOperation } from '@keywarden/testkit/store/rows';
import { expect, test } from 'vitest';
import { createKey } from './own-ledger.ts';
import {
  amend,
  copyLedger,
  download,
  type Files,
  linesOf,
  pack,
  unpack,
  verifyBytes,
  verifyPath,
  verifyTogether,
} from './packs.ts';
import { operations, packs, period, usePacks } from './packs-fixture.ts';

// A copy of the whole ledger, and archives beside it.

usePacks();

test('a witness of the given keys that has not cosigned is named', async () => {
  const witness = createKey('witness', 'witness.example/one');
  const file = join(packs.folder, 'asked.zip');
  writeFileSync(file, pack(operations));
  const receipt = join(packs.folder, 'asked.tlog-proof');
  writeFileSync(
    receipt,
    (JSON.parse(linesOf(operations['seals/00001.ndjson'] ?? '')[0] ?? '') as { receipt: string }).receipt,
  );
  const copy = mkdtempSync(join(packs.folder, 'copy-'));
  await copyLedger(packs.fixture, copy);
  const keys = [packs.fixture.ledger.publicKey, witness.verifier.text];
  for (const { rank, words } of await verifyTogether([file, receipt, copy], keys)) {
    expect(words).toContain('the witness witness.example/one has not cosigned it');
    expect(rank).toBe(1);
  }
  const without = await verifyTogether([file, receipt, copy], [packs.fixture.ledger.publicKey]);
  expect(without.map(({ rank }) => rank)).toEqual([0, 0, 0]);
  expect(without[2]?.words).toContain(`${file}: none of its days has a newer seal`);
  expect(without[2]?.words).toContain(`the copy continues ${receipt}`);
});

test('a witness with the key of the ledger, or of a witness of another name, is refused', async () => {
  const file = join(packs.folder, 'asked.zip');
  writeFileSync(file, pack(operations));
  const ledger = parseVerifier(packs.fixture.ledger.publicKey);
  if (ledger === null) throw new Error('no key');
  const [one, two] = ['one', 'two'].map((name) => createKey('witness', `witness.example/${name}`).verifier);
  if (one === undefined || two === undefined) throw new Error('no keys');
  const verify = async (...witnesses: string[]) =>
    await verifyTogether([file], [packs.fixture.ledger.publicKey, ...witnesses]);
  await expect(verify(witnessOf('witness.example/one', ledger))).rejects.toThrow(
    /^The witness witness\.example\/one \S+ has the key of the ledger itself; name the witness's own key\.$/,
  );
  await expect(verify(one.text, witnessOf('witness.example/two', one))).rejects.toThrow(
    'has the key of the witness witness.example/two',
  );
  expect(await verify(one.text, two.text)).toMatchObject([{ rank: 1 }]);
});

/** Returns the public key of a witness that has the key of another witness or of a ledger, as text. */
function witnessOf(name: string, { publicKey }: Pick<Verifier, 'publicKey'>): string {
  const typed = Buffer.concat([Buffer.of(4), publicKey.export({ format: 'der', type: 'spki' }).subarray(-32)]);
  const id = createHash('sha256').update(`${name}\n`).update(typed).digest('hex').slice(0, 8);
  return `${name}+${id}+${typed.toString('base64')}`;
}

test('a witness that has ended long ago holds nothing back', async () => {
  const { sql } = packs.fixture.store;
  await sql`update keywarden.ledger_checkpoint set made_at = now() - interval '2 hours' where size = (select min(size) from keywarden.ledger_checkpoint)`;
  await sql`
    insert into keywarden.ledger_cosignature (size, witness, lines) select min(size), 'ended', ${'\u2014 ended AAAA\n'} from keywarden.ledger_checkpoint`;
  const { rank } = await packs.verify(unpack(await download(packs.fixture, `/v1/exports/sealed-operations?${period}`)));
  await sql`delete from keywarden.ledger_cosignature`;
  expect(rank).toBe(0);
});

test('a copy continues earlier checkpoints beside it; one of another history, of more events or of another key is named', async () => {
  const copy = mkdtempSync(join(packs.folder, 'copy-'));
  await copyLedger(packs.fixture, copy);
  const [origin = '', size = '', root = ''] = readFileSync(join(copy, 'checkpoint'), 'utf8').split('\n');
  const newKey = () => {
    const signer = parseSigningKey(createSigningKey(origin, 'log'));
    if (signer === null) throw new Error('no key');
    return signer;
  };
  const key = newKey();
  const write = (name: string, events: number, hash: Uint8Array, signer = key) =>
    writeFileSync(
      join(copy, name),
      signNote(formatCheckpoint({ origin, size: events, root: hash }), [signer], 1_780_000_000),
    );
  const judge = async () => await verifyPath(copy, key.verifier.text);
  const whole = Buffer.from(root, 'base64');
  const foreign = Buffer.from(whole).fill(1);
  write('checkpoint', Number(size), whole);
  const entries = unpackEntries(readFileSync(join(copy, `tile/entries/000.p/${size}`))) ?? [];
  const leaves = entries.map(hashLeaf);
  for (const events of [1, 2, 3, Number(size) - 1, Number(size)]) {
    const [earlier] = hashRanges([{ from: 0, to: events }], growTree(0, [], leaves.slice(0, events)));
    write('checkpoint.2026-05-01', events, earlier ?? foreign);
    const { rank, words } = await judge();
    expect(words).toContain('the copy continues checkpoint.2026-05-01');
    expect(rank).toBe(0);
    write('checkpoint.2026-05-01', events, foreign);
    expect((await judge()).rank).toBe(2);
  }
  write('checkpoint.2026-05-01', Number(size) + 1, whole);
  expect((await judge()).words).toContain(`and the copy has only ${size}`);
  write('checkpoint.2026-05-01', Number(size), whole, newKey());
  expect((await judge()).words).toContain('checkpoint.2026-05-01 is signed with a key that was not given');
});

test('a token below auditor, one of some organizations, and none read no tile; the checkpoint is open if configured', async () => {
  for (const as of ['viewer', 'acme']) expect((await packs.fixture.ask('/ledger/checkpoint', { as })).status).toBe(403);
  expect((await packs.fixture.ask('/ledger/checkpoint', { as: null })).status).toBe(401);
  expect((await packs.fixture.ask('/ledger/tile/0/000', { as: null })).status).toBe(401);
  // No cache before the report keeps what a token is for.
  const { headers } = await packs.fixture.ask('/ledger/checkpoint', { as: 'auditor' });
  expect(headers.get('cache-control')).toBe('private, no-cache');
  for (const path of ['tile/0/000', 'tile/0/999', 'tile/9/000.p/1', 'tile/0/0', 'tile/entries/x001/000', 'other'])
    expect((await packs.fixture.ask(`/ledger/${path}`, { as: 'auditor' })).status, `/ledger/${path}`).toBe(404);
  // A tile that has grown since still answers with the hashes that it had.
  const [one, two] = [1, 2].map(async (width) => await download(packs.fixture, `/ledger/tile/0/000.p/${width}`));
  expect((await one)?.length).toBe(32);
  expect((await two)?.subarray(0, 32)).toEqual(await one);
  const { body } = await packs.fixture.ask('/v1/ledger/events?type=incident.opened', { as: 'auditor' });
  const receipt = await packs.fixture.ask(`/v1/ledger/events/${String(body.items[0]?.number)}/receipt`, {
    as: 'auditor',
  });
  expect((await verifyBytes(packs.folder, receipt.text, packs.fixture.ledger.publicKey)).words).toContain(
    '"type":"incident.opened"',
  );
});

test('a day that changed since its seal, and a month that retention dropped, are not proven, and contradict nothing', async () => {
  const { store, daemon, ledger } = packs.fixture;
  const path = '/v1/exports/sealed-operations?from=2025-03-01&to=2025-03-03&project_id=late-lake';
  await makeOperationPartitions(daemon.sql, ['2025-03']);
  const [project] = await store.sql`
    insert into keywarden.project (control_plane_number, id, organization_id, name, created_at, updated_at, first_seen_at, last_seen_at, walked_at)
    select number, 'late-lake', 'acme', 'p', '2025-03-01', now(), now(), '2025-03-05', '2025-03-05' from keywarden.control_plane returning number`;
  const running = makeWireOperation(1, { createdAt: '2025-03-02T00:00:00Z', status: 'running' });
  const proof = { from: '2025-03-01T00:00:00Z', isFromIncluded: true, below: '2025-03-05T00:00:00Z' };
  const save = async (operation: typeof running) => {
    await saveOperationPage(daemon.sql, { project: String(project?.number), operations: [operation], proof });
  };
  await save(running);
  await ledger.sign();
  const before = unpack(await download(packs.fixture, path));
  expect((await packs.verify(before)).words).toContain(
    '1 operation of all 3 days from 2025-03-01 to 2025-03-03, exactly',
  );
  await save({ ...running, status: 'finished', updatedAt: '2026-05-02T00:00:00Z' });
  const changed = await packs.verify(unpack(await download(packs.fixture, path)));
  expect([changed.rank, changed.words]).toEqual([1, expect.stringContaining('2025-03-02 has no seal')]);

  await store.sql`update keywarden.operation_sealing set changed_at = changed_at - interval '1 hour'`;
  await store.sql`insert into keywarden.operation_retention (keep) values ('214 days')`;
  await store.sql`
    insert into keywarden.operation_drop (month, announced_at, operations, bytes) values ('2025-03-01', now() - interval '2 days', 0, 0)`;
  await ledger.sign();
  const whole = unpack(await download(packs.fixture, path));
  const again = await packs.verify(whole);
  expect([again.rank, again.words]).toEqual([
    0,
    expect.stringMatching(/2025-03-02 was sealed again at \S+ with 1 operation; before, it had 1/),
  ]);
  const own = linesOf(whole['seals/00001.ndjson'] ?? '');
  const withSeals = (lines: string[], from = whole) =>
    amend({ ...from, 'seals/00001.ndjson': `${lines.join('\n')}\n` });
  // The days in the order of the ledger, and the second one again.
  const [first = '', second = '', third = '', fourth = ''] = own;
  expect(own).toHaveLength(4);
  // Without the former seal, it is unproven what the day had before.
  const cutChain = await packs.verify(withSeals([first, third, fourth]));
  expect([cutChain.rank, cutChain.words]).toEqual([1, expect.stringContaining('2025-03-02 was sealed before as seal')]);
  for (const lines of [
    [first, fourth, third, second],
    [first, second, second, third, fourth],
  ])
    expect((await packs.verify(withSeals(lines))).words).toContain('the seals of 2025-03-02 do not follow each other');
  const mixed = await packs.verify(
    withSeals([...linesOf(before['seals/00001.ndjson'] ?? '').slice(0, 1), ...own.slice(1)]),
  );
  expect([mixed.rank, mixed.words]).toEqual([2, expect.stringContaining('of another tree than the receipts before')]);
  // An older seal with the older operations agrees with itself. A copy of the whole ledger has the newer seal.
  const stale = withSeals([first, second, third], {
    ...whole,
    'operations/00001.ndjson': before['operations/00001.ndjson'] ?? '',
  });
  expect((await packs.verify(stale)).rank).toBe(0);
  const copy = mkdtempSync(join(packs.folder, 'copy-'));
  await copyLedger(packs.fixture, copy);
  const beside = async (files: Files) => {
    const file = join(packs.folder, 'beside.zip');
    writeFileSync(file, pack(files));
    return (await verifyTogether([copy, file], [packs.fixture.ledger.publicKey]))[0];
  };
  expect(await beside(stale)).toMatchObject({
    rank: 2,
    words: expect.stringContaining('it has an older seal than the newest'),
  });
  expect(await beside(whole)).toMatchObject({ rank: 0 });
  expect(await beside(before)).toMatchObject({ rank: 1, words: expect.stringContaining('since then') });
  rmSync(join(copy, 'tile/contents'), { recursive: true });
  expect(await beside(stale)).toMatchObject({
    rank: 1,
    words: expect.stringContaining('whose contents the copy does not have'),
  });
  await daemon.sql`select keywarden.drop_operation_month('2025-03-01', 'a test')`;
  await ledger.sign();
  const cut = unpack(await download(packs.fixture, path));
  const dropped = await packs.verify(cut);
  expect([dropped.rank, dropped.words]).toEqual([
    1,
    expect.stringContaining('retention has dropped the operations of 2025-03-02'),
  ]);
  // Without the receipt of the drop, the operations were cut.
  expect((await packs.verify(amend({ ...cut, 'retention.ndjson': '' }))).rank).toBe(2);
  expect((await packs.verify(amend({ ...whole, 'operations/00001.ndjson': '' }))).rank).toBe(2);
  expect((await packs.verify(amend({ ...cut, 'retention.ndjson': cut['seals/00001.ndjson'] ?? '' }))).rank).toBe(2);
});
