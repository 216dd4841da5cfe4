import { execFileSync } from 'node:child_process';
import { mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { findFaults } from './prose.ts';

test('a planted word and a planted sentence are found', () => {
  const root = mkdtempSync(join(tmpdir(), 'keywarden-prose-'));
  execFileSync('git', ['init', '--quiet'], { cwd: root });
  writeFileSync(join(root, 'code.ts'), `// The ${['un', 'attended'].join('')} run.\n`);
  writeFileSync(join(root, 'README.md'), `One sentence ${'that goes on '.repeat(12)}.\n`);
  expect(findFaults(root).map(({ place }) => place)).toEqual(['README.md', 'README.md', 'code.ts:1']);
});
