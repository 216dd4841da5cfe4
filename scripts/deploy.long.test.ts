import { spawnSync } from 'node:child_process';
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, relative } from 'node:path';
import { gauges } from '@keywarden/db/report';
import { createSandbox, noLimits } from '@keywarden/sandbox';
import { createTestStore } from '@keywarden/testkit/store/test-store';
import { expect, inject, test } from 'vitest';
import { parse } from 'yaml';
import { root, run, settingsFor } from './processes.ts';

const read = (file: string) => readFileSync(join(root, file), 'utf8');

interface Rule {
  alert: string;
  expr: string;
  labels: { severity: string };
  annotations: { summary: string };
}

/** Returns the names of metrics that our sources register. */
function knownMetrics(): Set<string> {
  const sources = ['apps/daemon/src/observe/observer.ts', 'apps/report/src/metrics.ts'].map(read).join('\n');
  const names = [...sources.matchAll(/name: '(keywarden_\w+)'/g)].map(([, name = '']) => name);
  const parts = names.flatMap((name) => [name, `${name}_count`, `${name}_sum`, `${name}_bucket`]);
  return new Set([...parts, ...Object.keys(gauges)]);
}

test('every alert uses existing metrics, and docs/OPERATIONS.md has its remedy', () => {
  const { groups } = parse(read('deploy/alerts.yaml')) as { groups: { rules: Rule[] }[] };
  const rules = groups.flatMap((group) => group.rules);
  const known = knownMetrics();
  const cures = read('docs/OPERATIONS.md');
  expect(rules.length).toBeGreaterThan(8);
  for (const { alert, expr, labels, annotations } of rules) {
    for (const [name] of expr.matchAll(/keywarden_\w+/g)) expect(known).toContain(name);
    expect(['warning', 'critical']).toContain(labels.severity);
    expect(annotations.summary).toMatch(/\.$/);
    expect(cures).toContain(`| ${alert} |`);
  }
});

/** The answers of one daemon: series begin at zero on one route, and end with a first refusal on another one. */
const refusedOnce = (status: string) =>
  [
    ['GET /auth', '0x60'],
    ['GET /projects', '_x10 1x50'],
  ].map(([route, values]) => ({
    series: `keywarden_control_plane_requests_total{job="keywarden",instance="a",connection="main",route="${route}",status="${status}"}`,
    values,
  }));

test('the first refused request fires its alert on any route', () => {
  const file = join(root, 'deploy/alerts.yaml');
  const { groups } = parse(read('deploy/alerts.yaml')) as { groups: { rules: Rule[] }[] };
  const folder = mkdtempSync(join(tmpdir(), 'keywarden-alerts-'));
  const cases = [
    { alertname: 'KeywardenRefused', status: '401', labels: { status: '401' } },
    { alertname: 'KeywardenRateLimited', status: '429', labels: {} },
  ].map(({ alertname, status, labels }) => {
    const rule = groups.flatMap(({ rules }) => rules).find(({ alert }) => alert === alertname);
    // A machine without promtool checks the form only.
    expect(rule?.expr).toContain(
      `increase(sum without (route) (keywarden_control_plane_requests_total{status="${status}"})[`,
    );
    const summary = rule?.annotations.summary
      .replace('{{ $labels.connection }}', 'main')
      .replace('{{ $labels.status }}', status);
    const fired = { exp_labels: { severity: 'warning', connection: 'main', ...labels }, exp_annotations: { summary } };
    const expected = [
      { eval_time: '5m', alertname, exp_alerts: [] },
      { eval_time: '15m', alertname, exp_alerts: [fired] },
    ];
    return { interval: '1m', input_series: refusedOnce(status), alert_rule_test: expected };
  });
  writeFileSync(join(folder, 'test.yaml'), JSON.stringify({ rule_files: [file], tests: cases }));
  const tested = spawnSync('promtool', ['test', 'rules', join(folder, 'test.yaml')], { encoding: 'utf8' });
  rmSync(folder, { recursive: true, force: true });
  expect(tested.error === undefined ? [tested.status, tested.stdout + tested.stderr] : [0, 'SUCCESS']).toEqual([
    0,
    expect.stringContaining('SUCCESS'),
  ]);
});

interface Service {
  image: string;
  read_only?: boolean;
  cap_drop?: string[];
  environment?: Record<string, string>;
  depends_on?: Record<string, unknown>;
  secrets?: string[];
  env_file?: string[];
  volumes?: string[];
  stop_grace_period?: string;
}

test('every file that the compose file names exists, and all of our services are hardened', () => {
  const compose = parse(read('deploy/compose.yaml'), { merge: true }) as {
    services: Record<string, Service>;
    secrets: Record<string, unknown>;
    volumes: Record<string, unknown>;
  };
  const { services, secrets, volumes } = compose;
  expect(Object.keys(services)).toEqual(['postgres', 'migrate', 'daemon', 'report']);
  const variables = new Set(
    [...read('packages/runtime/src/environment.ts').matchAll(/^ {2}([A-Z_]+):/gm)].map(([, name]) => name),
  );
  for (const [name, service] of Object.entries(services)) {
    for (const other of Object.keys(service.depends_on ?? {})) expect(services).toHaveProperty(other);
    for (const secret of service.secrets ?? []) expect(secrets).toHaveProperty(secret);
    for (const volume of service.volumes ?? []) expect(volumes).toHaveProperty(volume.split(':')[0] ?? '');
    if (name === 'postgres') continue;
    expect([service.read_only, service.cap_drop]).toEqual([true, ['ALL']]);
    for (const variable of Object.keys(service.environment ?? {})) expect(variables).toContain(variable);
  }
  // Each service has its own login, and the report has no control-plane key.
  expect(['migrate', 'daemon', 'report'].map((name) => services[name]?.env_file)).toEqual([
    ['owner.env'],
    ['keywarden.env'],
    ['report.env'],
  ]);
  // Longer than the daemon takes to hand back its work.
  expect(Number.parseInt(services.daemon?.stop_grace_period ?? '', 10)).toBeGreaterThan(30);
});

const units = readdirSync(join(root, 'deploy/systemd'));

test('systemd accepts the units as they are, and rates them well confined', () => {
  const folder = mkdtempSync(join(tmpdir(), 'keywarden-units-'));
  for (const unit of units) {
    const text = read(`deploy/systemd/${unit}`);
    const { main } = /ExecStart=\/usr\/bin\/node .*\/opt\/keywarden\/(?<main>\S+)/.exec(text)?.groups ?? {};
    expect(existsSync(join(root, main ?? 'missing'))).toBe(true);
    // The path of Node on this machine: verify looks for the program.
    writeFileSync(join(folder, unit), text.replace('/usr/bin/node', process.execPath));
  }
  const files = units.map((unit) => join(folder, unit));
  const analyze = (...args: string[]) => spawnSync('systemd-analyze', args, { encoding: 'utf8' });
  const verified = analyze('verify', '--man=no', ...files);
  // A machine without systemd cannot verify; the names in the units were checked above.
  const said = verified.error === undefined ? verified.stderr : '';
  const ours = said.split('\n').filter((line) => line.includes('keywarden'));
  expect(ours).toEqual([]);
  const exposed = units.filter((unit) => {
    const { error, status } = analyze('security', '--offline=true', '--threshold=20', join(folder, unit));
    return error === undefined && status !== 0;
  });
  expect(exposed).toEqual([]);
  rmSync(folder, { recursive: true, force: true });
});

test('no two units share a user or a state folder', () => {
  const valuesOf = (name: string) =>
    units.map((unit) => new RegExp(`^${name}=(.+)$`, 'm').exec(read(`deploy/systemd/${unit}`))?.[1]);
  for (const name of ['User', 'Group', 'StateDirectory', 'WorkingDirectory'])
    expect(new Set(valuesOf(name)).size).toBe(units.length);
});

test('the image is complete: without write access to it, a database is migrated, checked and synced', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'keywarden-image-'));
  const image = join(folder, 'app');
  const built = spawnSync('sh', [join(root, 'deploy/build-image.sh'), image], { encoding: 'utf8' });
  expect(built.stderr.replaceAll(/^npm (warn|notice).*$/gm, '').trim()).toBe('');
  expect(built.status).toBe(0);
  expect(listTestCode(image)).toEqual([]);
  const dockerfile = read('deploy/Dockerfile');
  expect(dockerfile).toMatch(/^USER 10001:10001$/m);
  expect(dockerfile).toContain(read('package.json').match(/"node": "(24[\d.]+)"/)?.[1]);
  const store = await createTestStore(inject('postgresUrl'));
  const sandbox = await createSandbox({ limits: noLimits });
  const settings = { ...settingsFor(store, sandbox, join(folder, 'data')), NODE_ENV: 'production' };
  spawnSync('chmod', ['-R', 'a-w', image]);
  const main = [process.execPath, '--disable-warning=ExperimentalWarning', join(image, 'apps/daemon/src/main.ts')];
  for (const command of [['migrate'], ['check'], ['sync', '--json']]) {
    const { code, stderr } = await run([...main, ...command], settings);
    // The tests' Postgres is tuned for speed, and check reports it.
    const isUnsafe = /^database +fsync is off/m.test(stderr);
    expect([command[0], code, isUnsafe]).toEqual([command[0], ...(command[0] === 'check' ? [3, true] : [0, false])]);
    expect(stderr).not.toContain('error');
  }
  spawnSync('chmod', ['-R', 'u+w', image]);
  rmSync(folder, { recursive: true, force: true });
  await sandbox.close();
  await store.close();
});

/** Lists the files of an image, without dependencies, that are test code or import it. */
function listTestCode(image: string): string[] {
  const files = readdirSync(image, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && !entry.parentPath.includes('node_modules'))
    .map((entry) => relative(image, join(entry.parentPath, entry.name)));
  expect(files).toContain('apps/daemon/src/main.ts');
  const shipped = /^(apps\/(daemon|report)|db|packages\/(core|runtime))\//;
  // The lockfile lists every package: for those that are not shipped, the image has only the package.json.
  const needed =
    /^(package\.json|pnpm-(lock|workspace)\.yaml|patches\/.*|(packages\/\w+|bench|simulations)\/package\.json)$/;
  const imports = /from '(vitest|fast-check|@keywarden\/(sandbox|testkit|simulations)[^']*)'/;
  return files.filter((file) => {
    if (!shipped.test(file)) return !needed.test(file);
    if (/\.test\.|testing|fixture|crash-process|simulation/.test(file)) return true;
    return file.endsWith('.ts') && imports.test(readFileSync(join(image, file), 'utf8'));
  });
}
