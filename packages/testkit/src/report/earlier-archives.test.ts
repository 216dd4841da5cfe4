import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { isVerifyPage, verifyPage } from '@keywarden/core/ledger';
import { expect, test } from 'vitest';
import { verifyPath, verifyTogether } from './packs.ts';

// What earlier versions gave to auditors, who keep it for years. A new version proves what an earlier one proved.

const folder = fileURLToPath(new URL('../../data/archives', import.meta.url));
const versions = readdirSync(folder).toSorted();
const nowMs = Date.parse('2036-01-01T00:00:00Z');

test.each(versions)('what Keywarden gave to auditors on %s is proven years later', async (version) => {
  const at = (name: string) => join(folder, version, name);
  const key = readFileSync(at('key'), 'utf8');
  const files = { 'operations.zip': 0, 'event.tlog-proof': 0, copy: version.endsWith('-a') ? 1 : 0, 'evidence.zip': 1 };
  const ranks: Record<string, number> = {};
  for (const name of Object.keys(files)) {
    const { rank, words } = await verifyPath(at(name), key, nowMs);
    ranks[name] = rank;
    expect(words).not.toContain('VERIFY.md');
  }
  expect(ranks).toEqual(files);
  const together = await verifyTogether(Object.keys(files).map(at), [key], nowMs);
  expect(together.map(({ rank }) => rank)).toEqual(Object.values(files));
});

test('the VERIFY.md of this version is one of those that every later version knows', () => {
  expect(isVerifyPage(verifyPage('acme.example/audit', 'keywarden-evidence.zip'), 'acme.example/audit')).toBe(true);
  expect(isVerifyPage(verifyPage('acme.example/audit', 'keywarden-evidence.zip'), 'ORIGIN')).toBe(false);
  expect(isVerifyPage(verifyPage('ORIGIN', 'keywarden-evidence.zip'), 'acme.example/audit')).toBe(false);
});
