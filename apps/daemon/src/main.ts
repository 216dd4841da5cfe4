import { runMain } from '@keywarden/core/process';
import { runCommandLine } from './command-line.ts';

await runMain(async () => await runCommandLine(process.argv.slice(2)));
