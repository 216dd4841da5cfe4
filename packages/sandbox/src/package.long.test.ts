import { execFile, spawn } from 'node:child_process';
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { expect, onTestFinished, test } from 'vitest';

const run = promisify(execFile);
const folder = fileURLToPath(new URL('..', import.meta.url));
const pnpm = fileURLToPath(new URL('../../../node_modules/.bin/pnpm', import.meta.url));

/** Installs the package as its users do, in a folder where only its own dependencies are available. */
async function install(): Promise<{ empty: string; installed: string; manifest: Record<string, unknown> }> {
  const empty = mkdtempSync(join(tmpdir(), 'keywarden-package-'));
  await run(pnpm, ['pack', '--pack-destination', empty], { cwd: folder });
  const tarball = readdirSync(empty).find((name) => name.endsWith('.tgz'));
  const installed = join(empty, 'node_modules/@keywarden/sandbox');
  mkdirSync(installed, { recursive: true });
  await run('tar', ['xzf', join(empty, String(tarball)), '--strip-components=1', '-C', installed]);
  const manifest = JSON.parse(readFileSync(join(installed, 'package.json'), 'utf8'));
  for (const name of Object.keys(manifest.dependencies)) {
    mkdirSync(dirname(join(empty, 'node_modules', name)), { recursive: true });
    symlinkSync(join(folder, 'node_modules', name), join(empty, 'node_modules', name));
  }
  return { empty, installed, manifest };
}

test('the packed sandbox runs in an empty folder: as a command, and inside a test', async () => {
  const { empty, installed, manifest } = await install();
  expect(JSON.stringify(manifest)).not.toContain('workspace:');
  expect(manifest).toMatchObject({ bin: { 'keywarden-sandbox': './dist/main.js' } });
  const files = readdirSync(installed, { recursive: true }).map(String);
  expect(files.filter((name) => /test|src\//.test(name))).toEqual([]);
  expect(files).toEqual(expect.arrayContaining(['README.md', 'routes.txt', 'dist/index.d.ts']));

  const command = spawn(process.execPath, [join(installed, 'dist/main.js'), '--port', '0', '--data', 'state'], {
    cwd: empty,
  });
  onTestFinished(() => void command.kill('SIGKILL'));
  const url = await new Promise<string>((resolve, reject) => {
    let said = '';
    command.stdout.on('data', (part: Buffer) => {
      said += String(part);
      const found = /listens on (\S+)/.exec(said)?.[1];
      if (found !== undefined && said.includes('sandbox-admin-key')) resolve(found);
    });
    command.on('exit', (code) => reject(new Error(`it ended with ${code}: ${said}`)));
  });
  const key = readFileSync(join(empty, 'state/sandbox-admin-key'), 'utf8').trim();
  const answer = await fetch(`${url}/auth`, { headers: { authorization: `Bearer ${key}` } });
  expect(answer.status).toBe(200);
  const ended = new Promise((resolve) => command.once('exit', resolve));
  command.kill('SIGTERM');
  expect(await ended).toBe(0);

  writeFileSync(
    join(empty, 'use.mjs'),
    `import { createSandbox, noLimits } from '@keywarden/sandbox';
     const sandbox = await createSandbox({ limits: noLimits });
     const { status } = await fetch(sandbox.url + '/auth', { headers: { authorization: 'Bearer ' + sandbox.adminKey } });
     await sandbox.close();
     console.log(status);`,
  );
  expect((await run(process.execPath, ['use.mjs'], { cwd: empty })).stdout.trim()).toBe('200');
});

test('the command prints its options, and refuses others', async () => {
  const main = join(folder, 'src/main.ts');
  expect((await run(process.execPath, [main, '--help'])).stdout).toMatch(/^Usage: keywarden-sandbox/);
  const refused = async (...words: string[]) => await run(process.execPath, [main, ...words]).catch((error) => error);
  expect(await refused('--prot', '1')).toMatchObject({
    code: 2,
    stderr: "Unknown option '--prot'; see keywarden-sandbox --help.\n",
  });
  expect(await refused('--port', 'x')).toMatchObject({
    code: 2,
    stderr: expect.stringMatching(/from 0 to 65535, and "x" is not/),
  });
});
