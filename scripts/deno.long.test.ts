import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { createToken } from '@keywarden/db/daemon';
import { createSandbox, noLimits, type Sandbox } from '@keywarden/sandbox';
import { until } from '@keywarden/testkit';
import { createControls } from '@keywarden/testkit/sandbox/controls';
import { createTestStore, type TestStore } from '@keywarden/testkit/store/test-store';
import { afterAll, beforeAll, expect, inject, test } from 'vitest';
import { entry, root, run, settingsFor, start } from './processes.ts';

// Deno's own binary: the package's shim would survive the signal that ends it.
const deno = [`${root}node_modules/deno/deno`, 'run', '--allow-all', '--no-prompt'];
let store: TestStore;
let sandbox: Sandbox;
let settings: Record<string, string>;
let folder: string;

beforeAll(async () => {
  store = await createTestStore(inject('postgresUrl'));
  sandbox = await createSandbox({ limits: noLimits });
  const company = { organizations: 2, projects: 4, keys: 40, operations: 8000 };
  await createControls(sandbox.controlUrl).generate(company);
  // Deno runs a program below /dev, where a scratch folder may be, only with all permissions.
  folder = mkdtempSync('/var/tmp/keywarden-deno-');
  settings = settingsFor(store, sandbox, folder);
});
afterAll(async () => {
  rmSync(folder, { recursive: true, force: true });
  await sandbox.close();
  await store.close();
});

const source = (name: 'keywarden' | 'report') => entry[name].at(-1) ?? '';

test('the tests run Deno 2.9', async () => {
  const { stdout } = await run([`${root}node_modules/deno/deno`, '--version'], {});
  expect(stdout).toMatch(/^deno 2\.9\./);
});

test('sync under Deno archives the same as under Node, and plan makes the same findings', async () => {
  const synced = await run([...deno, source('keywarden'), 'sync', '--json'], settings);
  expect(synced).toMatchObject({ code: 0 });
  const operations = (text: string) => JSON.parse(text).runs[1].counts;
  expect(operations(synced.stdout).inserted).toBeGreaterThan(4000);
  const again = await run([...entry.keywarden, 'sync', '--json'], settings);
  expect(operations(again.stdout)).toMatchObject({ inserted: 0, changed: 0 });

  const plan = await run([...deno, source('keywarden'), 'plan', '--json'], settings);
  expect(plan).toMatchObject({ code: 0 });
  const items = (text: string) => JSON.parse(text).items.map((item: { key: { id: string } }) => item.key.id);
  expect(items(plan.stdout).length).toBeGreaterThan(0);
  const onNode = await run([...entry.keywarden, 'plan', '--json'], settings);
  expect(items(onNode.stdout)).toEqual(items(plan.stdout));
});

test('the report responds under Deno', async () => {
  const { secret } = await createToken((await store.as('keywarden_admin')).db, {
    name: 'deno',
    role: 'viewer',
    organizationIds: null,
    createdBy: 'ada',
  });
  const report = start([...deno, source('report')], settings);
  await until(() => report.output().includes('the report listens'));
  const url = /"url":"([^"]+)"/.exec(report.output())?.[1];
  const response = await fetch(`${url}/v1/operations?limit=3`, { headers: { authorization: `Bearer ${secret}` } });
  expect(response.status).toBe(200);
  expect((await response.json()) as object).toMatchObject({ items: [{}, {}, {}] });
  report.child.kill('SIGTERM');
  expect((await report.ended).code).toBe(0);
});

test('the client passes all of its tests under Deno, including the examples of its README', async () => {
  const files = ['packages/core/src/client', 'packages/core/src/readme.test.ts'];
  const tested = await run([...deno, `${root}node_modules/vitest/vitest.mjs`, 'run', ...files], {
    NO_COLOR: '1',
    TEST_SUITE: 'client',
  });
  const failed = [...tested.stdout.matchAll(/^ *FAIL .*(\n.*){3}/gm)].map(([lines]) => lines);
  expect({ code: tested.code, failed }).toEqual({ code: 0, failed: [] });
  expect(Number(/(\d+) passed, 0 failed, 0 skipped\s*$/.exec(tested.stdout)?.[1])).toBeGreaterThan(90);
});

/** Returns a task of deno.json as `deno task` runs it, but with the test's own data folder. */
function taskOf(name: string): string[] {
  const { tasks } = JSON.parse(readFileSync(`${root}deno.json`, 'utf8')) as { tasks: Record<string, string> };
  const data = settings.KEYWARDEN_DATA ?? '';
  const [, ...words] = (tasks[name] ?? '').split(' ');
  const own = words.map((word) =>
    word.replace('.keywarden', data).replace(/^--allow-read=\.$/, `--allow-read=.,${data}`),
  );
  return [deno[0] ?? '', ...own];
}

test('the tasks of deno.json work with the permissions that they name', async () => {
  expect(await run(taskOf('sync'), settings)).toMatchObject({ code: 0 });
  expect(await run(taskOf('plan'), settings)).toMatchObject({ code: 0 });
  for (const [name, ready] of [
    ['start', 'the daemon runs'],
    ['report', 'the report listens'],
  ] as const) {
    const started = start(taskOf(name), { ...settings, DAEMON_PORT: '0' });
    await until(() => started.output().includes(ready));
    started.child.kill('SIGTERM');
    expect([name, (await started.ended).code]).toEqual([name, 0]);
  }
});

test.each(['env', 'read', 'net', 'sys'])(
  'without --allow-%s a task ends with one sentence that names it',
  async (what) => {
    const words = taskOf('plan').filter((word) => !word.startsWith(`--allow-${what}`));
    const { code, stdout, stderr } = await run(words, settings);
    expect([code, stdout]).toEqual([2, '']);
    expect(stderr).toMatch(
      new RegExp(`^Deno does not allow ${what} access to .*: start again with --allow-${what}=.*\\n$`),
    );
  },
);

test('a server that Deno does not allow to listen reports it in one sentence', async () => {
  const words = taskOf('report').map((word) =>
    word.startsWith('--allow-net') ? `--allow-net=${new URL(store.url).host}` : word,
  );
  const { code, stderr } = await run(words, { ...settings, REPORT_PORT: '8820' });
  expect([code, stderr.split('\n').length]).toEqual([2, 2]);
  expect(stderr).toMatch(/start again with --allow-net=127\.0\.0\.1:8820/);
});
