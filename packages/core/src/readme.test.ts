import { execFile } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { createSandbox, noLimits, type Sandbox } from '@keywarden/sandbox';
import { createControls } from '@keywarden/testkit/sandbox/controls';
import { afterAll, beforeAll, expect, test } from 'vitest';

const home = fileURLToPath(new URL('..', import.meta.url));
const readme = readFileSync(join(home, 'README.md'), 'utf8');
const examples = [...readme.matchAll(/^## (.+)\n[^#]*?```ts\n([\s\S]*?)```/gm)].map(([, title = '', code = '']) => ({
  title,
  code,
}));

/** What each example prints for a company of one seed. */
const printed: Record<string, RegExp> = {
  'Find unused keys': /^(stale: \d+ .+\n)+$/,
  'Stay inside the limits': /^2 organizations read in 5 requests\n$/,
  'Rotate a key': /^(\d+) took the place of \d+: true\n$/,
  'Create a branch and wait for it': /^preview-\d+: finished, finished\n$/,
  'Read a history and continue later': /^10 newest operations, \d{2,} before them\n$/,
};

let sandbox: Sandbox;
let folder: string;

beforeAll(async () => {
  sandbox = await createSandbox({ limits: noLimits });
  const company = { organizations: 2, projects: 2, keys: 60, operations: 400 };
  await createControls(sandbox.controlUrl).generate(company);
  // Inside the package, so that the package can import itself by name.
  folder = mkdtempSync(join(home, '.readme-'));
});
afterAll(async () => {
  rmSync(folder, { recursive: true });
  await sandbox.close();
});

test('the README has an example for each known output', () => {
  expect(examples.map(({ title }) => title)).toEqual(Object.keys(printed));
});

test.each(examples)('the example works: $title', async ({ title, code }) => {
  const file = join(folder, `${title.replaceAll(/\W+/g, '-')}.ts`);
  writeFileSync(file, code);
  const runtime = 'Deno' in globalThis ? ['run', '--allow-all', '--no-prompt'] : [];
  const { PATH, LD_PRELOAD } = process.env;
  const env = { PATH, LD_PRELOAD, CONTROL_PLANE_URL: sandbox.url, CONTROL_PLANE_API_KEY: sandbox.adminKey };
  const { stdout, stderr } = await promisify(execFile)(process.execPath, [...runtime, file], { env });
  expect(stderr).toBe('');
  expect(stdout).toMatch(printed[title] ?? /^$/);
});
