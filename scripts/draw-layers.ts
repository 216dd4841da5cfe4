import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

// Draws the imports between packages into docs/ARCHITECTURE.md, from the imports themselves. It is not part of the checks: the tool is downloaded
// each time, with a TypeScript version that still has an API.

const root = fileURLToPath(new URL('..', import.meta.url));
const page = join(root, 'docs/ARCHITECTURE.md');
const tools = ['dependency-cruiser@18.7.2', 'typescript@5.9.3'];
const folders = [
  'packages/core/src',
  'packages/runtime/src',
  'packages/sandbox/src',
  'packages/testkit/src',
  'db/src',
  'apps/daemon/src',
  'apps/report/src',
  'simulations',
  'bench',
];
const config = {
  options: {
    tsPreCompilationDeps: true,
    doNotFollow: { path: 'node_modules' },
    includeOnly: '^(packages|apps|db|simulations|bench)/',
    exclude: { path: '\\.test\\.ts$' },
    enhancedResolveOptions: { exportsFields: ['exports'], conditionNames: ['import', 'default'], extensions: ['.ts'] },
  },
};

interface Cruise {
  modules: { source: string; dependencies: { resolved: string; circular: boolean }[] }[];
}

const folder = mkdtempSync(join(tmpdir(), 'keywarden-layers-'));
writeFileSync(join(folder, 'config.json'), JSON.stringify(config));
/** Runs a command and returns what it prints. */
function run(command: string, args: string[]): string {
  const result = spawnSync(command, args, { cwd: root, encoding: 'utf8', maxBuffer: 1e9 });
  if (result.status !== 0) throw new Error(`${command} failed: ${result.stderr}`);
  return result.stdout;
}

// In a folder of its own: the tool looks for TypeScript beside itself, and the project's own has no API.
run('npm', ['install', '--silent', '--no-save', '--prefix', folder, ...tools]);
const asked = ['--config', join(folder, 'config.json'), '--output-type', 'json', ...folders];
const printed = run(process.execPath, [join(folder, 'node_modules/.bin/depcruise'), ...asked]);
rmSync(folder, { recursive: true });
const committed = new Set(run('git', ['ls-files']).split('\n'));
// The documented fields of the tool's JSON. Files that are not committed are no part of the figure.
const modules = (JSON.parse(printed) as Cruise).modules.filter(({ source }) => committed.has(source));
if (modules.length < 100) throw new Error(`only ${modules.length} files were read; the tool found no TypeScript`);

const packageOf = (path: string) => /^(?:packages|apps)\/(\w+)|^(\w+)/.exec(path)?.slice(1).find(Boolean) ?? path;
const edges = new Map<string, number>();
let circular = 0;
for (const { source, dependencies } of modules)
  for (const { resolved, circular: isCircular } of dependencies) {
    if (isCircular) circular += 1;
    const [from, to] = [packageOf(source), packageOf(resolved)];
    if (from !== to) edges.set(`${from} --> ${to}`, (edges.get(`${from} --> ${to}`) ?? 0) + 1);
  }
const lines = [...edges].map(([edge, count]) => `  ${edge.replace('-->', `-->|${count}|`)}`).toSorted();
const figure = ['```mermaid', 'graph TD', ...lines, '```'].join('\n');
const text = readFileSync(page, 'utf8');
const drawn = text.replace(/(<!-- layers -->\n)[\s\S]*?(\n<!-- end of layers -->)/, `$1${figure}$2`);
writeFileSync(page, drawn);
console.log(`${modules.length} files, ${edges.size} imports between packages, ${circular} circular imports`);
