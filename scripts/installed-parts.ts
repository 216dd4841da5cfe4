import { readdirSync, readFileSync } from 'node:fs';

// Prints a CycloneDX document without the parts that a folder of packages (node_modules/.pnpm) does not have:
// npx node scripts/installed-parts.ts DOCUMENT FOLDER

interface Part {
  'bom-ref': string;
  group?: string;
  name: string;
  version: string;
}

interface Parts {
  components: Part[];
  dependencies: { ref: string; dependsOn?: string[] }[];
}

const [file = '', folder = ''] = process.argv.slice(2);
const document = JSON.parse(readFileSync(file, 'utf8')) as Parts;
// A folder is named @group+name@version, and what follows names its peers.
const installed = new Set(readdirSync(folder).map((name) => /^@?[^@_]+@[^_(]+/.exec(name)?.[0] ?? name));
const nameOf = ({ group, name, version }: Part) => `${group ? `${group}+` : ''}${name}@${version}`;
const isInstalled = (part: Part) => installed.has(nameOf(part));
const components = document.components.filter(isInstalled);
if (components.length === 0) throw new Error(`no part of ${file} is in ${folder}`);
const left = new Set(document.components.filter((part) => !isInstalled(part)).map((part) => part['bom-ref']));
const dependencies = document.dependencies
  .filter(({ ref }) => !left.has(ref))
  .map(({ ref, dependsOn = [] }) => ({ ref, dependsOn: dependsOn.filter((each) => !left.has(each)) }));
console.log(JSON.stringify({ ...document, components, dependencies }, null, 2));
const missing = [...installed].filter((name) => /@\d/.test(name) && !components.some((part) => nameOf(part) === name));
for (const name of missing) console.error(`${name} is installed and not in the document`);
if (missing.length > 0) process.exitCode = 1;
