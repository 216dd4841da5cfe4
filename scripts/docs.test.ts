import { existsSync, globSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { gauges } from '@keywarden/db/report';
import { configJsonSchema } from '@keywarden/runtime/config';
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

const read = (file: string) => readFileSync(join(root, file), 'utf8');

const headingsOf = (page: string) => [...read(page).matchAll(/^#+ (.*)$/gm)].map(([, heading = '']) => heading);

/** Returns the anchors of a page's headings. */
const anchorsOf = (page: string) =>
  headingsOf(page).map((heading) =>
    heading
      .toLowerCase()
      .replaceAll(/[^\w\- ]/g, '')
      .replaceAll(' ', '-'),
  );

test('every link of a page leads to a file, and to a heading of it', () => {
  const links = list(pages).flatMap((page) =>
    [...read(page).matchAll(/\]\((?!https?:)([^)#]*)#?([^)]*)\)/g)].map(([link, path = '', anchor = '']) => ({
      where: `${page}: ${link}`,
      file: path === '' ? page : join(dirname(page), path),
      anchor,
    })),
  );
  expect(links.length).toBeGreaterThan(80);
  const broken = links.filter(
    ({ file, anchor }) => !existsSync(join(root, file)) || (anchor !== '' && !anchorsOf(file).includes(anchor)),
  );
  expect(broken.map(({ where }) => where)).toEqual([]);
});

test('a section that a page names in quotes is a heading of the page that it links', () => {
  const named = list(pages).flatMap((page) =>
    [...read(page).matchAll(/((?:"[^"\n]+"(?:,| and) ?)*"[^"\n]+") (?:in|of) \[[^\]]+\]\(([\w./-]+\.md)\)/g)].flatMap(
      ([, names = '', path = '']) =>
        [...names.matchAll(/"([^"]+)"/g)].map(([, name = '']) => ({ page, name, file: join(dirname(page), path) })),
    ),
  );
  expect(named.length).toBeGreaterThan(15);
  const missing = named.filter(({ name, file }) => !headingsOf(file).includes(name));
  expect(missing).toEqual([]);
});

test('docs/OPERATIONS.md has each metric, and no other one', () => {
  const sources = ['apps/daemon/src/observe/observer.ts', 'apps/report/src/metrics.ts'].map(read).join('\n');
  const own = [...sources.matchAll(/name: '(keywarden_\w+)'/g)].map(([, name = '']) => name);
  const section = read('docs/OPERATIONS.md').split('### Metrics')[1]?.split('\n### ')[0] ?? '';
  const named = new Set(section.match(/keywarden_\w+/g));
  expect(named.size).toBeGreaterThan(20);
  expect([...named].toSorted()).toEqual([...new Set([...own, ...Object.keys(gauges)])].toSorted());
});

test('the pages have each setting of keywarden.yaml, and docs/REFERENCE.md no variable that is read nowhere', () => {
  const text = ['POLICY', 'ROTATION', 'OPERATIONS'].map((page) => read(`docs/${page}.md`)).join('\n');
  const settings = namesIn(configJsonSchema());
  expect(settings.length).toBeGreaterThan(60);
  expect(settings.filter((name) => !new RegExp(`\\b${name}\\b`).test(text))).toEqual([]);
  const table = read('docs/REFERENCE.md').split('## Environment variables')[1] ?? '';
  const variables = [...table.matchAll(/`([A-Z]+_[A-Z_]+)`/g)].map(([, name = '']) => name);
  expect(variables.length).toBeGreaterThan(30);
  const sources = list(['{apps,packages}/*/src/**/*.ts', 'vitest.config.ts']).map(read).join('\n');
  // The library of traces reads its own.
  const unread = variables.filter((name) => !sources.includes(name) && !name.startsWith('OTEL_EXPORTER_OTLP_'));
  expect(unread).toEqual([]);
});

/** Returns the names of all properties that a JSON Schema describes. */
function namesIn(schema: object): string[] {
  return Object.entries(schema).flatMap(([key, value]: [string, unknown]) =>
    typeof value !== 'object' || value === null
      ? []
      : [...(key === 'properties' ? Object.keys(value) : []), ...namesIn(value)],
  );
}

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
