import { truncateSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { amend, change, linesOf, pack, verifyBytes, verifyPath } from './packs.ts';
import { operations, packs, usePacks } from './packs-fixture.ts';

// Files and archives that would need too much memory or time.

usePacks();

test('a file of one gigabyte is refused with little memory', async () => {
  const file = join(packs.folder, 'huge');
  writeFileSync(file, 'not an archive');
  truncateSync(file, 1_000_000_000);
  const before = process.memoryUsage().rss;
  expect(await verifyPath(file, packs.fixture.ledger.publicKey)).toMatchObject({
    rank: 2,
    words: expect.stringContaining('larger than a receipt can be'),
  });
  writeFileSync(file, 'PK\u0003\u0004');
  truncateSync(file, 1_000_000_000);
  expect(await verifyPath(file, packs.fixture.ledger.publicKey)).toEqual({
    rank: 2,
    words: expect.stringContaining('it is no whole zip archive'),
  });
  const bomb = pack({ ...operations, 'operations/00001.ndjson': 'x'.repeat(200_000_000) });
  expect((await verifyBytes(packs.folder, bomb, packs.fixture.ledger.publicKey)).words).toContain(
    'a line of operations/00001.ndjson is too long',
  );
  expect(process.memoryUsage().rss - before).toBeLessThan(1_000_000_000);
});

test('small archives of huge manifests, of one operation a million times and of long lines are refused in a sentence', async () => {
  const manifest = (projects: string) => ({
    ...operations,
    'manifest.json': `{"kind":"sealed-operations","projects":[${projects}]}`,
  });
  const many = await packs.verify(manifest(Array.from({ length: 1_000_000 }, () => '{}').join()));
  expect(many.words).toContain('it has too many parts');
  const [line = ''] = linesOf(operations['operations/00001.ndjson'] ?? '');
  const repeated = amend({ ...operations, 'operations/00001.ndjson': `${line}\n`.repeat(200_000) });
  expect((await packs.verify(repeated)).words).toMatch(
    /it has more than the \d+ operations of 2026-05-0\d that were sealed/,
  );
  const page = await packs.verify({ ...operations, 'VERIFY.md': 'x\n'.repeat(33_000_000) });
  expect(page).toEqual({ rank: 2, words: expect.stringContaining('VERIFY.md is too long') });
  const long = change(operations, /^operations\//, (text) =>
    text.replace('"start_compute"', `"${'x'.repeat(15_000_000)}"`),
  );
  expect((await packs.verify(amend(long))).words).toContain('are not those that were sealed');
});
