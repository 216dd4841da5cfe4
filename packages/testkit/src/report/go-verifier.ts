import { execFileSync } from 'node:child_process';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

/** Builds docs/verify, which has no code of ours, in a folder, and returns the program. It needs Debian's packages golang-go and golang-golang-x-mod-dev. */
export function buildGoVerifier(folder: string): string {
  const program = join(folder, 'verify');
  const sources = fileURLToPath(new URL('../../../../docs/verify', import.meta.url));
  const go = { GO111MODULE: 'off', GOPATH: '/usr/share/gocode', GOFLAGS: '', GOCACHE: join(folder, 'cache') };
  execFileSync('go', ['build', '-o', program], { cwd: sources, env: { ...process.env, ...go } });
  return program;
}
