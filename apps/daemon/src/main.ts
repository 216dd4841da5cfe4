import { runMain } from '@keywarden/runtime';
import { runCommandLine } from './command-line.ts';

await runMain(async () => await runCommandLine(process.argv.slice(2)));
