import { execFileSync } from 'node:child_process';
import { mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';
import { findFaults } from './prose.ts';

test('no file of the project has a word that the word list replaces, and no page has a sentence that is too long', () => {
  expect(findFaults(fileURLToPath(new URL('..', import.meta.url)))).toEqual([]);
});

test('a planted word and a planted sentence are found', () => {
  const root = mkdtempSync(join(tmpdir(), 'keywarden-prose-'));
  execFileSync('git', ['init', '--quiet'], { cwd: root });
  writeFileSync(join(root, 'code.ts'), `// The ${['un', 'attended'].join('')} run.\n`);
  writeFileSync(join(root, 'README.md'), `One sentence ${'that goes on '.repeat(12)}.\n`);
  expect(findFaults(root).map(({ place }) => place)).toEqual(['README.md', 'README.md', 'code.ts:1']);
});
