import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { root } from './processes.ts';

const pages = ['*.md', 'docs/**/*.md', 'packages/*/README.md'];
const tests = ['{apps,packages}/*/src/**/*.test.ts', '{db,scripts,simulations}/**/*.test.ts'];
const list = (patterns: string[]) =>
  globSync(patterns, { cwd: root, exclude: (path) => path.includes('node_modules') });

test('every test file that a page names exists', () => {
  const files = list(tests);
  const named = list(pages).flatMap((page) =>
    [...readFileSync(join(root, page), 'utf8').matchAll(/[\w./-]*[\w-]\.test\.ts/g)].map(([file]) => ({ page, file })),
  );
  expect(named.length).toBeGreaterThan(50);
  const missing = named.filter(
    ({ file }) => !file.startsWith('x.') && !files.some((each) => `/${each}`.endsWith(`/${file}`)),
  );
  expect(missing).toEqual([]);
});
