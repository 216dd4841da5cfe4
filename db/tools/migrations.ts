import { readFileSync, writeFileSync } from 'node:fs';
import { type DrizzleSnapshotJSON, generateDrizzleJson, generateMigration } from 'drizzle-kit/api';
import * as schema from '../src/schema/index.ts';

// `check` fails if the tables of db/src/schema differ from what the migrations create. `generate NAME` writes the migration for the
// difference. Read it before you commit it, and complete what drizzle cannot express (partitions, storage parameters). Views are not
// compared: db/functions creates them.

interface Journal {
  entries: { idx: number; version: string; when: number; tag: string; breakpoints: boolean }[];
}

const folder = new URL('../migrations/', import.meta.url);
const at = (name: string) => new URL(name, folder);
const [mode = 'check', name] = process.argv.slice(2);
const journal = JSON.parse(readFileSync(at('meta/_journal.json'), 'utf8')) as Journal;
const last = journal.entries.at(-1);
const previous: DrizzleSnapshotJSON =
  last === undefined
    ? generateDrizzleJson({})
    : (JSON.parse(readFileSync(at(snapshotOf(last.idx)), 'utf8')) as DrizzleSnapshotJSON);
const current = generateDrizzleJson(schema, previous.id);
const statements = await generateMigration({ ...previous, views: {} }, { ...current, views: {} });

if (statements.length === 0) {
  console.log('The migrations make the tables of db/src/schema.');
} else if (mode === 'generate' && name !== undefined) {
  const idx = journal.entries.length;
  const tag = `${String(idx).padStart(4, '0')}_${name}`;
  const text = statements.map((each) => each.trim()).join('\n--> statement-breakpoint\n');
  writeFileSync(at(`${tag}.sql`), `${text}\n`);
  writeFileSync(at(snapshotOf(idx)), `${JSON.stringify(current, null, 2)}\n`);
  const when = Math.max(Date.now(), (last?.when ?? 0) + 1);
  journal.entries.push({ idx, version: '7', when, tag, breakpoints: true });
  writeFileSync(at('meta/_journal.json'), `${JSON.stringify(journal, null, 2)}\n`);
  console.log(`Wrote db/migrations/${tag}.sql: read it before you commit it.`);
} else {
  console.error('The tables of db/src/schema are not what the migrations make; they lack:');
  console.error(statements.join('\n'));
  console.error('Run npx node db/tools/migrations.ts generate NAME, and read what it writes.');
  process.exitCode = 1;
}

function snapshotOf(idx: number): string {
  return `meta/${String(idx).padStart(4, '0')}_snapshot.json`;
}
