import { chmodSync, cpSync, mkdirSync, mkdtempSync, readFileSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { root, run } from './processes.ts';

test('an older Node is refused with a sentence, before anything is installed', async () => {
  const older = "Object.defineProperty(process, 'versions', { value: { ...process.versions, node: '18.20.4' } })";
  const command = [process.execPath, `--import=data:text/javascript,${older}`, `${root}scripts/run.mjs`, 'keywarden'];
  const { code, stderr } = await run(command, {});
  expect([code, stderr]).toEqual([1, 'Keywarden needs Node 20 or newer, and this is Node 18.20.4.\n']);
});

test("dependencies are chosen for the pinned Node, not for the caller's, which may be too old for some of their binaries", async () => {
  const fresh = mkdtempSync(join(tmpdir(), 'keywarden-fresh-'));
  mkdirSync(join(fresh, 'scripts'));
  for (const file of ['package.json', 'pnpm-lock.yaml', 'scripts/run.mjs']) cpSync(`${root}${file}`, join(fresh, file));
  const npx = join(fresh, 'npx');
  writeFileSync(npx, '#!/bin/sh\necho "npx $*"\nexit 1\n');
  chmodSync(npx, 0o755);
  const command = [process.execPath, join(fresh, 'scripts/run.mjs'), 'keywarden'];
  const { code, stderr } = await run(command, { PATH: `${fresh}:${process.env.PATH}` });
  const { devDependencies } = JSON.parse(readFileSync(`${root}package.json`, 'utf8')) as {
    devDependencies: { node: string };
  };
  expect([code, stderr]).toEqual([1, expect.stringContaining(` --config.node-version=${devDependencies.node}\n`)]);
});
