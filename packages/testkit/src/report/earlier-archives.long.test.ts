import { spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, expect, test } from 'vitest';
import { buildGoVerifier } from './go-verifier.ts';
import { unpack } from './packs.ts';

const archives = fileURLToPath(new URL('../../data/archives', import.meta.url));
const folder = mkdtempSync(join(tmpdir(), 'keywarden-earlier-'));
afterAll(() => rmSync(folder, { recursive: true }));

test('Go proves what earlier versions gave to auditors', () => {
  const verifier = buildGoVerifier(folder);
  for (const version of readdirSync(archives)) {
    const at = (name: string) => join(archives, version, name);
    const unpacked = (name: string) => {
      for (const [file, text] of Object.entries(unpack(readFileSync(at(name))))) {
        const path = join(folder, version, name, file);
        mkdirSync(dirname(path), { recursive: true });
        writeFileSync(path, text);
      }
      return join(folder, version, name);
    };
    const statusOf = (file: string) => spawnSync(verifier, [readFileSync(at('key'), 'utf8'), file]).status;
    const files = [at('event.tlog-proof'), unpacked('operations.zip'), unpacked('evidence.zip')];
    expect(files.map(statusOf)).toEqual([0, 0, 3]);
  }
});
