import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { gapReasons, incidentItem } from '@keywarden/db/report';
import { parseConfig, sinkKinds } from '@keywarden/runtime/config';
import { expect, test } from 'vitest';
import { parse, stringify } from 'yaml';
import { root } from './processes.ts';

const read = (file: string) => readFileSync(join(root, file), 'utf8');
const pages = globSync(['*.md', 'docs/*.md'], { cwd: root });

/** Returns the names that a pattern finds in a file, from some words of it on until others. */
function namesIn(file: string, name: RegExp, from = '', until = '\n\0'): string[] {
  const text = read(file);
  const rest = text.slice(text.indexOf(from) + from.length);
  return [...new Set([...(rest.split(until)[0] ?? '').matchAll(name)].map(([, each = '']) => each))];
}

/** Returns the names in the first column of the table after a heading of a page, or with these words in its head. */
const firstColumn = (page: string, head: string) =>
  namesIn(`docs/${page}.md`, /^(\|.*)$/gm, `\n${head}`, '\n\n')
    .slice(1)
    .flatMap((row) => (row.split('|')[1] ?? '').match(/[\w.-]+/g) ?? []);

const schedules = Object.entries(parseConfig('{}', 'it').schedules);

test.each([
  ['incidents', firstColumn('OPERATIONS', '| incident |'), incidentItem.shape.kind.options],
  ['alerts', firstColumn('OPERATIONS', '| alert |'), namesIn('deploy/alerts.yaml', /alert: (\w+)/g)],
  ['schedules', firstColumn('OPERATIONS', '| schedule |'), schedules.map(([name]) => name)],
  ['reasons of gaps', firstColumn('OPERATIONS', '| reason |'), Object.keys(gapReasons)],
  ['kinds of sinks', namesIn('docs/ROTATION.md', /^### Sinks of kind `(\w+)`/gm), sinkKinds],
  [
    'conditions',
    namesIn('docs/POLICY.md', /^\| `(\w+): /gm, '| `match.name`', '| `all: '),
    namesIn('packages/core/src/policy/condition-schema.ts', /^ {2}(\w+): /gm, 'const leaves = {', '\n};'),
  ],
  [
    'exports',
    namesIn('docs/REPORT.md', /([a-z-]+)/g, '`GET /v1/exports/{', '}'),
    namesIn('packages/testkit/src/report/openapi-types.ts', /"\/v1\/exports\/((?!sealed)[a-z-]+)": \{/g),
  ],
  [
    'presets',
    firstColumn('POLICY', '| preset |'),
    namesIn('packages/core/src/policy/presets.ts', /^ {2}'(.*)': \{/gm, 'presets = {'),
  ],
  [
    'messages',
    firstColumn('POLICY', '| type |'),
    namesIn('apps/daemon/src/notices/message.ts', /'((?:key|review|ledger)\.[a-z_]+)'/g),
  ],
  [
    'states of a rotation',
    firstColumn('ROTATION', '| state |'),
    namesIn('packages/core/src/rotation/states.ts', /'(\w+)'/g, 'rotationStates = ', ']'),
  ],
  [
    'scripts',
    namesIn('docs/REFERENCE.md', /^\| `npm (?:run )?([\w:]+)/gm),
    namesIn('package.json', /"([\w:]+)": "exec node scripts\/run\.mjs/g),
  ],
  [
    'benchmarks',
    namesIn('docs/REFERENCE.md', /`(\w+)`/g, 'The benchmarks are', '. `simulate`'),
    namesIn('bench/main.ts', /^ {2}(\w+): \[bench/gm),
  ],
])('the docs list the %s, and no others', (_what, page, code) => {
  expect(page.length).toBeGreaterThan(1);
  expect([...new Set(page)].toSorted()).toEqual([...new Set(code)].toSorted());
});

test('the example of docs/POLICY.md has the default of each schedule', () => {
  const { schedules: shown } = parse(yamlIn('docs/POLICY.md')[0] ?? '') as { schedules: Record<string, string> };
  expect(shown).toEqual(Object.fromEntries(schedules));
});

const yamlIn = (page: string) => namesIn(page, /```yaml\n([\s\S]*?)```/g);

test('Keywarden accepts each example of its configuration', () => {
  const examples = pages.flatMap(yamlIn);
  expect(examples.length).toBeGreaterThan(6);
  for (const example of examples) {
    const value = parse(example) as object;
    const config = Array.isArray(value) ? { sinks: value } : value;
    expect(parseConfig(stringify(config), 'it')).toBeDefined();
  }
});

test('the report has each route that a page names', () => {
  const templates = namesIn('packages/testkit/src/report/openapi-types.ts', /^ {4}"?(\/[\w{}/-]*)"?: \{/gm);
  expect(templates.length).toBeGreaterThan(50);
  // A page may name the routes below a path, such as /v1/exports, by that path.
  const routes = templates.map((route) => new RegExp(`^${route.replaceAll(/\{\w+\}/g, '[^/]+')}(/|$)`));
  const isRoute = (path: string) => [...routes, /^\/v1\/exports$/].some((route) => route.test(path));
  const named = pages.flatMap((page) => namesIn(page, /(?<![\w.])(\/v1\/[\w/{},.-]*[\w}])/g).flatMap(expand));
  expect(named.length).toBeGreaterThan(30);
  expect(named.filter((path) => !isRoute(path))).toEqual([]);
});

/** Returns the paths of one with a list in braces. */
function expand(path: string): string[] {
  const [braces = '', names = ''] = /\{(\w+(?:,\w+)+)\}/.exec(path) ?? [];
  return names.split(',').map((name) => path.replace(braces, name));
}
