import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { fileURLToPath } from 'node:url';
import { sealDays } from '@keywarden/db/daemon';
import type { Sql } from '@keywarden/db/store';
import { createTestStore, startTestPostgres, type TestStore } from '@keywarden/testkit/store/test-store';
import { count, median, readNumber, timed } from './measure.ts';
import { startSandbox } from './start-sandbox.ts';

interface Used {
  cpuSeconds: number;
  peakMb: number;
}

/**
 * `ingest [--operations N] [--rounds N]`: `keywarden sync operations` of N operations of 200 projects, a million by default, from a sandbox without limits
 * into embedded Postgres. Each runs in a separate process. One yardstick is COPY of the same rows from memory into the same tables, which is the limit.
 * Another is a plain script as a user would write it, which ignores ties, versions and coverage. The cost of sealing is the processor time of sealing what a
 * pass has read that sealed nothing, beside that of this pass, with the server's and the sandbox's. The median of three rounds by default counts. A pass that
 * seals and one that does not differ more by chance than by their sealing.
 */
export async function benchIngest(args: string[]): Promise<void> {
  const operations = readNumber(args, 'operations', 1_000_000);
  const rounds = readNumber(args, 'rounds', 3);
  const folder = mkdtempSync(join(tmpdir(), 'keywarden-bench-'));
  const postgres = await startTestPostgres({ isDurable: true });
  const company = { organizations: 4, projects: 200, keys: 0, operations, months: 5 };
  const sandbox = await startSandbox({ file: join(folder, 'sandbox.sqlite'), company });
  const stores: TestStore[] = [];
  const addStore = async () => {
    const store = await createTestStore(postgres.url);
    stores.push(store);
    // What earlier passes wrote reaches the disk before, not during this one.
    await store.sql`checkpoint`;
    return store;
  };
  const run = async (store: TestStore, file: string, args: string[] = []): Promise<Used> =>
    await runProcess(file, args, environmentOf(store, sandbox, folder));
  const sealApart = async () => {
    const store = await addStore();
    const server = await findServer(store.sql);
    const usedByOthers = async () => readServerCpu(server) + (await sandbox.used()).cpuSeconds;
    const before = await usedByOthers();
    const { cpuSeconds } = await run(store, 'bench/sync-pass.ts');
    const passed = cpuSeconds + (await usedByOthers()) - before;
    const { sql } = await store.as('keywarden_daemon');
    // Without what the server does in the background, such as to vacuum what the pass has stored.
    const usedForSealing = async () => {
      const { user, system } = process.cpuUsage();
      const sessions =
        await store.sql`select pid::text as pid from pg_stat_activity where datname = current_database() and backend_type = 'client backend'`;
      return (user + system) / 1e6 + sessions.reduce((sum, { pid }) => sum + readCpu(String(pid)), 0);
    };
    const start = await usedForSealing();
    const { days } = await sealDays(sql, { signal: new AbortController().signal });
    const sealing = (await usedForSealing()) - start;
    for (const each of stores.splice(0)) await each.close();
    return { days, passed, sealing };
  };
  try {
    await sandbox.generate();
    const archive = await addStore();
    const before = await sandbox.used();
    const ours = await run(archive, 'apps/daemon/src/main.ts', ['sync', 'operations']);
    const seconds = await readSeconds(archive.sql);
    const served = (await sandbox.used()).cpuSeconds - before.cpuSeconds;
    const rows = await rowsOf(archive.sql);
    const rate = rows / seconds;
    const million = rows / 1_000_000;
    console.log(
      `ingest     ${count(rows)} operations in ${seconds.toFixed(1)} s, with sealing: ${count(rate)} a second; for a million: daemon ${(ours.cpuSeconds / million).toFixed(1)} CPU s, sandbox ${(served / million).toFixed(1)}`,
    );
    console.log(`resident   ${ours.peakMb} MB at most, the daemon alone`);
    const limit = await copyRate(archive, await addStore());
    console.log(
      `yardstick  COPY of the same rows from memory: ${count(limit)} a second; ingest reaches ${(rate / limit).toFixed(2)} of it`,
    );
    const plain = await addStore();
    const script = await timed(() => runProcess('bench/plain-script.ts', [], environmentOf(plain, sandbox, folder)));
    const plainRows = await rowsOf(plain.sql);
    const plainRate = plainRows / script.seconds;
    console.log(
      `yardstick  a plain script: ${count(plainRows)} operations, ${count(plainRate)} a second, ${script.result.peakMb} MB; ingest is ${(rate / plainRate).toFixed(2)} times as fast, and has ${count(rows - plainRows)} operations more`,
    );
    await printSizes(archive.sql, rows);
    for (const store of stores.splice(0)) await store.close();
    const apart: Awaited<ReturnType<typeof sealApart>>[] = [];
    for (let round = 0; round < rounds; round += 1) apart.push(await sealApart());
    const costs = apart.map(({ passed, sealing }) => (100 * sealing) / passed);
    const medianOf = (name: keyof (typeof apart)[0]) => median(apart.map((each) => each[name]));
    console.log(
      `sealing    ${count(medianOf('days'))} days of projects: ${medianOf('sealing').toFixed(1)} CPU s after a pass of ${medianOf('passed').toFixed(1)} CPU s without; ${median(costs).toFixed(1)} percent more (${costs.map((cost) => cost.toFixed(1)).join(', ')})`,
    );
  } finally {
    await sandbox.stop();
    for (const store of stores) await store.close();
    await postgres.close();
    rmSync(folder, { recursive: true, force: true });
  }
}

/** Returns the process id of the server, which is the parent of those that serve connections. */
async function findServer(sql: Sql): Promise<string> {
  const [row] = await sql`select split_part(pg_read_file('postmaster.pid'), E'\\n', 1) as pid`;
  return String(row?.pid);
}

/** Returns the processor time of a Postgres server, in seconds: its own, that of its children that have ended, and of those that run. */
function readServerCpu(server: string): number {
  const running = readdirSync('/proc').filter((name) => /^\d+$/.test(name));
  const children = running.filter((pid) => readFields(pid)[1] === server);
  return children.reduce((sum, pid) => sum + readCpu(pid), readCpu(server, { withEnded: true }));
}

/** Returns the processor time of a process, in seconds, with or without that of its children that have ended. */
function readCpu(pid: string, { withEnded = false } = {}): number {
  return readFields(pid)
    .slice(11, withEnded ? 15 : 13)
    .reduce((sum, field) => sum + Number(field) / 100, 0);
}

/** Returns the fields of proc(5) after a process's name, from its state on, with times in ticks of 10 ms; none if it has ended. */
function readFields(pid: string): string[] {
  try {
    return readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ').at(-1)?.split(' ') ?? [];
  } catch {
    return [];
  }
}

function environmentOf(store: TestStore, { url, adminKey }: { url: string; adminKey: string }, folder: string) {
  return { DATABASE_URL: store.url, CONTROL_PLANE_URL: url, CONTROL_PLANE_API_KEY: adminKey, KEYWARDEN_DATA: folder };
}

/** Runs a file to its end; returns its resource use, which it writes as it exits. */
async function runProcess(file: string, args: string[], env: Record<string, string>): Promise<Used> {
  const report = join(env.KEYWARDEN_DATA ?? '', 'used.json');
  const note = `import { writeFileSync } from 'node:fs'; process.on('exit', () => { const { userCPUTime, systemCPUTime, maxRSS } = process.resourceUsage(); writeFileSync(${JSON.stringify(report)}, JSON.stringify({ cpuSeconds: (userCPUTime + systemCPUTime) / 1e6, peakMb: Math.round(maxRSS / 1024) })); });`;
  const flags = [...process.execArgv, '--import', `data:text/javascript,${encodeURIComponent(note)}`];
  const path = fileURLToPath(new URL(`../${file}`, import.meta.url));
  const child = spawn(process.execPath, [...flags, path, ...args], {
    env: { ...process.env, ...env },
    stdio: ['ignore', 'ignore', 'inherit'],
  });
  const [code] = await once(child, 'exit');
  if (code !== 0) throw new Error(`${file} ended with ${String(code)}`);
  return JSON.parse(readFileSync(report, 'utf8'));
}

async function rowsOf(sql: Sql): Promise<number> {
  const [row] = await sql`select count(*)::int as n from keywarden.operation`;
  return Number(row?.n);
}

/** Returns the rows per second of one COPY into an empty table with the same partitions and indexes. */
async function copyRate(from: TestStore, to: TestStore): Promise<number> {
  const chunks: Buffer[] = [];
  for await (const chunk of await from.sql`copy (select * from keywarden.operation) to stdout`.readable())
    chunks.push(chunk);
  const months = await from.sql`select distinct to_char(created_at, 'YYYY-MM-01') as month from keywarden.operation`;
  await to.sql`select keywarden.make_operation_partitions(${months.map((row) => String(row.month))}::text[]::date[])`;
  const { seconds } = await timed(async () => {
    await pipeline(Readable.from(chunks), await to.sql`copy keywarden.operation from stdin`.writable());
  });
  return (await rowsOf(to.sql)) / seconds;
}

/** Returns how many seconds a pass took, with its sealing. */
async function readSeconds(sql: Sql): Promise<number> {
  const [row] = await sql`
    select extract(epoch from greatest((select max(sealed_at) from keywarden.operation_seal), finished_at) - started_at)::float8 as seconds
    from keywarden.sync_run where kind = 'operations' order by number desc limit 1`;
  return Number(row?.seconds);
}

/** Prints the bytes of a row in the heap and in each index, over all partitions. */
async function printSizes(sql: Sql, rows: number): Promise<void> {
  const sizes = await sql`
    with months as (select inhrelid as oid from pg_inherits where inhparent = 'keywarden.operation'::regclass),
      files as (
        select 'heap' as name, oid from months
        union all
        select regexp_replace(c.relname, '^operation_\\d{4}_\\d\\d_', ''), c.oid
        from pg_index i join months m on m.oid = i.indrelid join pg_class c on c.oid = i.indexrelid
      )
    select name, sum(pg_relation_size(oid))::float8 as bytes from files group by name order by bytes desc`;
  const parts = sizes.map(({ name, bytes }) => `${String(name)} ${Math.round(Number(bytes) / rows)}`);
  console.log(`storage    bytes a row: ${parts.join(', ')}`);
}
