// Runs on any Node from 20 on: installs what is missing, then runs the sources with the pinned Node.
import { spawn, spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';

const root = fileURLToPath(new URL('..', import.meta.url));
const at = (...parts) => join(root, ...parts);
const pinnedNode = at('node_modules', 'node', 'bin', 'node');
const stampFile = at('node_modules', '.keywarden-installed');
// A small young generation and an old one that may not grow lazily halve a service's resident size. They cost a tenth of its time.
const nodeFlags = [
  '--disable-warning=ExperimentalWarning',
  '--max-semi-space-size=6',
  '--max-old-space-size=1024',
  `--import=${pathToFileURL(at('scripts/preload.mjs')).href}`,
];
const turbo = ['turbo', 'run', '--output-logs=errors-only', '--log-prefix=none'];
const checks = [...turbo, 'types', 'lint', 'formatting', 'unused', 'schema', 'openapi', 'prose'];
const vitest = [pinnedNode, at('node_modules/vitest/vitest.mjs'), 'run'];
const source = (file) => [pinnedNode, ...nodeFlags, at(file)];

/**
 * The steps of each script of package.json, in order. The caller's arguments go to the last step, which then runs alone: a named test file runs
 * without the other steps.
 */
const scripts = {
  start: [source('scripts/start.ts')],
  test: [checks, vitest],
  'test:long': [vitest],
  check: [checks],
  format: [['biome', 'format', '--write', '.']],
  keywarden: [source('apps/daemon/src/main.ts')],
  report: [source('apps/report/src/main.ts')],
  sandbox: [source('packages/sandbox/src/main.ts')],
  bench: [source('bench/main.ts')],
};

/** Runs one script of package.json to its end and exits with its code. */
export async function run(name, args) {
  install();
  const steps = scripts[name];
  if (!steps) {
    console.error(`There is no script named ${name}; use one of ${Object.keys(scripts).join(', ')}.`);
    process.exit(2);
  }
  if (args.length > 0 && ['start', 'report', 'sandbox'].includes(name)) {
    console.error(
      `The script ${name} takes no options; its settings are environment variables, which docs/REFERENCE.md lists.`,
    );
    process.exit(2);
  }
  const suite = name === 'test:long' ? { TEST_SUITE: 'long' } : {};
  for (const step of args.length > 0 ? [[...(steps.at(-1) ?? []), ...args]] : steps) {
    const code = await runStep(step, suite);
    if (code !== 0) process.exit(code);
  }
}

const oldestNode = 20;

function install() {
  if (Number.parseInt(process.versions.node, 10) < oldestNode) {
    console.error(`Keywarden needs Node ${oldestNode} or newer, and this is Node ${process.versions.node}.`);
    process.exit(1);
  }
  const lockfile = readFileSync(at('pnpm-lock.yaml'));
  const stamp = createHash('sha256').update(lockfile).digest('hex');
  if (existsSync(pinnedNode) && existsSync(stampFile) && readFileSync(stampFile, 'utf8') === stamp) return;
  const { packageManager, devDependencies } = JSON.parse(readFileSync(at('package.json'), 'utf8'));
  console.error('Installing dependencies (once for each lockfile) ...');
  const command = [
    '--yes',
    '--loglevel=error',
    // corepack reads the hash after the plus; npx takes the version alone.
    packageManager.split('+')[0],
    'install',
    '--frozen-lockfile',
    '--reporter=append-only',
    // Otherwise pnpm leaves out binaries that the caller's Node is too old for, and the pinned Node cannot load them.
    `--config.node-version=${devDependencies.node}`,
  ];
  const result = spawnSync('npx', command, { cwd: root, encoding: 'utf8', stdio: ['ignore', 'pipe', 'pipe'] });
  if (result.status !== 0) {
    console.error(`${result.stdout ?? ''}${result.stderr ?? ''}${result.error?.message ?? ''}`);
    console.error(
      'The dependencies could not be installed; the lines above show the reason. Check the network, then run the same command again.',
    );
    process.exit(1);
  }
  writeFileSync(stampFile, stamp);
}

/**
 * Runs one command with the pinned Node first on its PATH; stops it when this process is stopped or loses its parent.
 */
function runStep([command, ...args], env = {}) {
  const PATH = [at('node_modules', 'node', 'bin'), at('node_modules', '.bin'), process.env.PATH].join(delimiter);
  const isOurs = command === pinnedNode;
  const child = spawn(command, args, {
    cwd: isOurs ? process.cwd() : root,
    env: { ...process.env, ...env, PATH, TURBO_TELEMETRY_DISABLED: '1', DO_NOT_TRACK: '1' },
    stdio: ['inherit', 'inherit', 'inherit', ...(isOurs ? ['ipc'] : [])],
  });
  const forward = (signal) => child.kill(signal);
  for (const signal of ['SIGTERM', 'SIGINT', 'SIGHUP']) process.on(signal, forward);
  const parent = process.ppid;
  const orphaned = setInterval(() => {
    if (process.ppid === parent) return;
    // Only once: a second signal would end it at once.
    clearInterval(orphaned);
    child.kill('SIGTERM');
  }, 1000);
  return new Promise((resolve) => {
    const ended = (code) => {
      clearInterval(orphaned);
      for (const signal of ['SIGTERM', 'SIGINT', 'SIGHUP']) process.off(signal, forward);
      resolve(code);
    };
    child.on('error', (error) => {
      console.error(
        `${command} could not be started: ${error.message}. Remove node_modules and run the same command again.`,
      );
      ended(1);
    });
    child.on('exit', (code, signal) => ended(code ?? (signal === 'SIGINT' ? 130 : 1)));
  });
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  await run(process.argv[2], process.argv.slice(3));
}
