import { mkdtempSync, readdirSync, readFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { sized, until } from '@keywarden/testkit';
import { type Controls, createControls } from '@keywarden/testkit/sandbox/controls';
import { afterEach, expect, test } from 'vitest';
import { entry, type Started, start } from './processes.ts';

// A path with a space in it, as on many machines.
const folder = join(mkdtempSync(join(tmpdir(), 'keywarden-start-')), 'data folder');
const operations = sized(140_000);
const settings = {
  KEYWARDEN_DATA: folder,
  SANDBOX_PORT: '0',
  REPORT_PORT: '0',
  SANDBOX_OPERATIONS: String(operations),
};
let latest: Started | undefined;

// A test that fails must not leave its processes to the next one.
afterEach(async () => {
  latest?.child.kill('SIGTERM');
  await latest?.ended;
});

interface Running {
  started: Started;
  report: string;
  controls: Controls;
  token: string;
}

async function startAll(): Promise<Running> {
  const started = start(entry.start, settings, { detached: true });
  latest = started;
  await until(() => {
    if (started.child.exitCode !== null) throw new Error(`npm start ended: ${started.output()}`);
    return started.output().includes('Ctrl-C stops');
  });
  const find = (pattern: RegExp) => pattern.exec(started.output())?.[1] ?? '';
  const sandbox = find(/Sandbox +(http:\S+)/);
  const controls = createControls(sandbox.replace('/api/v2', '/_sandbox'));
  return { started, report: find(/Report +(http:\S+)/), controls, token: find(/First token +(\S+)/) };
}

async function stopAll({ started }: Running): Promise<void> {
  started.child.kill('SIGINT');
  const { code, stdout, stderr } = await started.ended;
  expect(`${stdout}${stderr}`).toContain('Stopped. npm start continues from here.');
  expect(code).toBe(0);
  expect(processes()).toEqual([]);
}

/** Lists the processes that use this test's data folder: the services by their environment, Postgres by its command line. */
function processes(): { pid: number; command: string }[] {
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name) && name !== String(process.pid))
    .flatMap((pid) => {
      try {
        const command = readFileSync(`/proc/${pid}/cmdline`, 'utf8').replaceAll('\0', ' ');
        const environment = readFileSync(`/proc/${pid}/environ`, 'utf8');
        return command.includes(folder) || environment.includes(folder) ? [{ pid: Number(pid), command }] : [];
      } catch {
        return []; // it has just ended
      }
    });
}

function processOf(part: string): number {
  const found = processes().find(({ command }) => command.includes(part));
  if (found === undefined) throw new Error(`there is no process of ${part}: ${JSON.stringify(processes())}`);
  return found.pid;
}

async function get<T>(url: string, token?: string): Promise<T> {
  const response = await fetch(url, { headers: token ? { authorization: `Bearer ${token}` } : {} });
  if (!response.ok) throw new Error(`${url} answered ${response.status}`);
  // The caller names the response type of one of our routes.
  return (await response.json()) as T;
}

async function untilReady({ report, token }: Running): Promise<void> {
  await until(async () => await get(`${report}/v1/keys?limit=1`, token), { toleratesErrors: true });
}

/** Returns every operation of a project that the report has, over the archive's own pages. */
async function archived({ report, token }: Running, project: string): Promise<string[]> {
  const ids: string[] = [];
  for (let cursor = ''; ; ) {
    const page = await get<{ operations: { id: string }[]; pagination?: { cursor: string } }>(
      `${report}/api/v2/projects/${project}/operations?limit=1000${cursor}`,
      token,
    );
    ids.push(...page.operations.map((each) => each.id));
    if (page.pagination === undefined) return ids;
    cursor = `&cursor=${encodeURIComponent(page.pagination.cursor)}`;
  }
}

/** Checks that the store has each of the sandbox's projects exactly once, however often everything was started. */
async function expectOneOfEach({ report, controls, token }: Running): Promise<void> {
  const truth = await controls.projects();
  const { projects } = await get<{ projects: unknown[] }>(`${report}/api/v2/projects?limit=400`, token);
  expect(projects).toHaveLength(truth.length);
}

// Words that would alarm a person; the folder's own name and the tests' kills are removed from the searched text.
const alarming = /error|warn|fail|exception|fatal|panic|refused/i;

/** Checks that the next start works after any end of the last one. It must print nothing alarming and continue with the existing data. */
async function expectNextStartFine(last: Running): Promise<void> {
  const again = await startAll();
  await untilReady(again);
  await expectOneOfEach(again);
  expect(again.started.output()).not.toMatch(alarming);
  expect(again.token).toBe(last.token);
  await stopAll(again);
}

test('npm start makes a company, archives its whole history, makes a token, prints the next commands, and stops without a trace', async () => {
  const began = new Date().toISOString();
  const running = await startAll();
  const keys = await get<{ items: unknown[] }>(`${running.report}/v1/keys?limit=1000`, running.token);
  expect(keys.items.length).toBeGreaterThanOrEqual(120);
  const projects = await running.controls.projects();
  expect(projects.length).toBeGreaterThanOrEqual(40);
  expect(new Set(projects.map((project) => project.organization_id)).size).toBeGreaterThanOrEqual(3);
  let total = 0;
  let unserved = 0;
  for (const { id } of projects) {
    const truth = await running.controls.operations(id, { withTimes: true });
    const ids = await archived(running, id);
    const there = new Set(ids);
    expect(there.size).toBe(ids.length);
    // The control plane works on: every few minutes it makes an operation, which only the next sync reads.
    const expected = truth.served.filter((each) => (truth.created_at[each] ?? '') < began);
    expect(expected.filter((each) => !there.has(each))).toEqual([]);
    total += ids.length;
    unserved += truth.pruned.filter((each) => there.has(each)).length;
  }
  expect(total).toBeGreaterThanOrEqual((100_000 / 140_000) * operations);
  // The first sync saw the company as it was three months ago. The archive has what the control plane no longer serves, and reports it.
  expect(unserved).toBeGreaterThan((30_000 / 140_000) * operations);
  expect(running.started.output()).toMatch(
    /[\d,]+ of them are older than the six months that the control plane serves/,
  );
  // R6: the policy flags dozens of keys, and the daemon has revoked none automatically.
  const findings = await get<{ items: unknown[] }>(`${running.report}/v1/findings?disposition=planned`, running.token);
  expect(findings.items.length).toBeGreaterThan(10);
  const truth = await running.controls.keys();
  expect(truth.filter((key) => key.revoked_at !== null)).toEqual([]);
  expect(running.started.output()).not.toMatch(alarming);
  await stopAll(running);
});

test('kill -9 of the daemon, of the report and of Postgres: each restarts while the others continue', async () => {
  const running = await startAll();
  expect(running.started.output()).not.toContain('Generating a company');
  for (const [part, name] of [
    ['apps/report', 'report'],
    ['apps/daemon', 'daemon'],
  ] as const) {
    const killed = processOf(part);
    process.kill(killed, 'SIGKILL');
    await until(() => running.started.output().includes(`The ${name} ended (SIGKILL); starting it again.`));
    await until(() => processes().some(({ pid, command }) => command.includes(part) && pid !== killed));
  }
  await untilReady(running);
  const server = processOf('/bin/postgres');
  process.kill(server, 'SIGKILL');
  await until(() => processes().some(({ pid, command }) => command.includes('/bin/postgres') && pid !== server));
  await untilReady(running);
  await stopAll(running);
  await expectNextStartFine(running);
});

test('kill -9 of npm start as a whole: the next start works and prints nothing alarming', async () => {
  const running = await startAll();
  const group = running.started.child.pid ?? 0;
  process.kill(-group, 'SIGKILL');
  await running.started.ended;
  await expectNextStartFine(running);
});

test('kill -9 of only its first process: the others notice and end, and the next start works', async () => {
  const running = await startAll();
  process.kill(running.started.child.pid ?? 0, 'SIGKILL');
  await until(() => processes().length === 0);
  await expectNextStartFine(running);
});
