#!/usr/bin/env node
import { run } from './run.mjs';

await run('keywarden', process.argv.slice(2));
