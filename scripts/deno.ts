// The entry of the daemon and the report under Deno. If a permission is missing while they load, it reports that in one sentence, as runMain does
// later.
import process from 'node:process';
import { deniedByDeno } from '../packages/runtime/src/errors.ts';

const apps = { daemon: '../apps/daemon/src/main.ts', report: '../apps/report/src/main.ts' } as const;
const [name = '', ...args] = process.argv.slice(2);
if (name !== 'daemon' && name !== 'report') {
  console.error('scripts/deno.ts takes daemon, with a command of keywarden, or report.');
  process.exit(2);
}
const endWith = (error: unknown): never => {
  const denied = deniedByDeno(error);
  if (denied === null) throw error;
  console.error(denied);
  process.exit(2);
};
// The error of a server that may not listen comes after its call has returned.
process.on('uncaughtException', endWith);
process.argv.splice(2, process.argv.length, ...args);
try {
  await import(apps[name]);
} catch (error) {
  endWith(error);
}
