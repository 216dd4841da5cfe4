import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { root } from './processes.ts';

const pages = ['*.md', 'docs/**/*.md', 'packages/*/README.md'];
const tests = ['{apps,packages}/*/src/**/*.test.ts', '{db,scripts,simulations}/**/*.test.ts'];
const list = (patterns: string[]) =>
  globSync(patterns, { cwd: root, exclude: (path) => path.includes('node_modules') });

test('every test file that a page names exists, and is the only one of that name', () => {
  const files = list(tests);
  const named = list(pages).flatMap((page) =>
    [...readFileSync(join(root, page), 'utf8').matchAll(/[\w./-]*[\w-]\.test\.ts/g)].map(([file]) => ({ page, file })),
  );
  expect(named.length).toBeGreaterThan(50);
  const unclear = named.filter(
    ({ file }) => !file.startsWith('x.') && files.filter((each) => `/${each}`.endsWith(`/${file}`)).length !== 1,
  );
  expect(unclear).toEqual([]);
});

test('a page runs the sources with the Node of the checkout: the one of the machine may be too old for them', () => {
  const commands = list(pages).flatMap((page) =>
    [...readFileSync(join(root, page), 'utf8').matchAll(/(npx )?node [\w./-]+\.ts/g)].map(([command]) => command),
  );
  expect(commands.length).toBeGreaterThan(3);
  expect(commands.filter((command) => !command.startsWith('npx '))).toEqual([]);
});

test('no test has a time limit of its own: on a slow machine it takes longer', () => {
  // A number after the function of a test or hook, or the option of the same meaning. Both are at the top level of a file.
  const limit =
    /^\}, [\d_]+\);|^ {2}[\d_]{4,},\n\);|^\w+(?:\.\w+)*\(.*\), [\d_]{4,}\);|^\w+(?:\.\w+)*\(.*\{.*\btimeout: ?[\d_]|\bsetConfig\(/m;
  for (const text of [
    '  },\n  1_800_000,\n);\n',
    '}, 60_000);\n',
    'test(name, async () => await run(), 60_000);\n',
    'test.concurrent(name, { timeout: 60_000 }, async () => {\n',
    'beforeAll(async () => {\n}, 60_000);\n',
    ['vi.set', 'Config({ testTimeout: 1 });\n'].join(''),
  ])
    expect(text).toMatch(limit);
  const limited = list(tests).filter((file) => limit.test(readFileSync(join(root, file), 'utf8')));
  expect(limited).toEqual([]);
});
