import { type ChildProcess, fork } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { makeOperationPartitions, saveKeyListing } from '@keywarden/db/daemon';
import type { Sql } from '@keywarden/db/store';
import { makeControlPlane, makeWireKey } from '@keywarden/testkit/store/rows';
import { createTestStore, startTestPostgres, type TestStore } from '@keywarden/testkit/store/test-store';
import { compareRates, count, median, quantile, readNumber, residentOf, timed } from './measure.ts';
import { type Headers, headersOf, printAttack } from './report-attack.ts';

const projects = 1000;
const months = 24;
const first = '2024-06-01T00:00:00Z';

interface Service {
  url: string;
  process: ChildProcess;
}

/**
 * `report [--operations N] [--exported N] [--attack]`: pages and exports of the report in embedded Postgres. It holds N operations, ten million by default, of
 * 1000 projects in two years. One yardstick is a bare Hono handler that runs the same statement with the same driver. The other is Postgres's own
 * COPY of the same fields in the same order. With --attack, it measures one reader while another token sends heavy requests and drops them.
 */
export async function benchReport(args: string[]): Promise<void> {
  const operations = readNumber(args, 'operations', 10_000_000);
  const exported = Math.min(readNumber(args, 'exported', 1_000_000), operations);
  const postgres = await startTestPostgres({ isDurable: true });
  const store = await createTestStore(postgres.url);
  const services: Service[] = [];
  const start = async (file: string) => {
    const service = await startService(file, store.url);
    services.push(service);
    return service;
  };
  try {
    const { sql: daemon } = await store.as('keywarden_daemon');
    const made = await timed(() => fill({ owner: store.sql, daemon, operations }));
    console.log(
      `store      ${count(operations)} operations of ${count(projects)} projects in ${months} months, made in ${made.seconds.toFixed(0)} s`,
    );
    const headers = await headersOf(store, 'bench');
    const report = await start('apps/report/src/main.ts');
    if (args.includes('--attack')) {
      await printAttack(report.url, { honest: headers, attacker: await headersOf(store, 'attacker') });
      return;
    }
    const bare = await start('bench/bare-handler.ts');
    const pages = `${report.url}/v1/operations?limit=100`;
    const deep = `${pages}&cursor=${await deepCursor(store.sql, { pages, headers, depth: Math.floor(operations / 2) })}`;
    await printLatency('first page', pages, headers);
    await printLatency(`${count(Math.floor(operations / 2))} deep`, deep, headers);
    // Eight requests of a token run at once.
    const readers = [headers, await headersOf(store, 'second')];
    const operationPages = `${bare.url}/operations`;
    await printRates('first pages of operations', { ours: pages, bare: operationPages, headers: readers });
    await printRates('lists of 100 keys', {
      ours: `${report.url}/v1/keys`,
      bare: `${bare.url}/keys`,
      headers: readers,
    });
    for (const path of ['/coverage', '/'])
      await printRates(`the page ${path}`, { ours: `${report.url}${path}`, bare: operationPages, headers: readers });
    await printExport({ report, headers, store, exported });
  } finally {
    for (const { process } of services) await stop(process);
    await store.close();
    await postgres.close();
  }
}

/** Fills the store with operations as they occur: of all projects at all times, a few with one instant, with walks that have seen them. */
export async function fill({
  owner: sql,
  daemon,
  operations,
}: {
  owner: Sql;
  daemon: Sql;
  operations: number;
}): Promise<void> {
  const monthOf = (index: number) => new Date(Date.UTC(2024, 5 + index, 1)).toISOString().slice(0, 7);
  await makeOperationPartitions(
    daemon,
    Array.from({ length: months }, (_, index) => monthOf(index)),
  );
  const controlPlane = await makeControlPlane(daemon);
  await sql`
    insert into keywarden.project (control_plane_number, id, organization_id, name, created_at, updated_at, first_seen_at, last_seen_at)
    select ${controlPlane}::bigint, 'project-' || n, 'org-' || n % 20, 'project ' || n, ${first}, ${first}, ${first}, now() from generate_series(1, ${projects}::int) n`;
  const seconds = months * 30.4 * 86_400;
  await sql`
    insert into keywarden.operation (project_number, created_at, id, branch_id, endpoint_id, action, status, failures_count, updated_at,
      total_duration_ms, seen_at)
    select 1 + n % ${projects}::int, ${first}::timestamptz + (n / ${operations}::float8) * ${seconds}::float8 * interval '1 second', gen_random_uuid(),
      'br-quiet-lake-' || n % 3000, 'ep-bold-sun-' || n % 3000,
      (array['start_compute', 'suspend_compute', 'apply_config', 'check_availability', 'create_branch'])[1 + n % 5], 'finished', 0,
      ${first}::timestamptz + (n / ${operations}::float8) * ${seconds}::float8 * interval '1 second', 100 + n % 900, now()
    from generate_series(0, ${operations - 1}::int) n`;
  await sql`
    insert into keywarden.completed_walk (project_number, day, to_end, began_at, reached)
    select number, '2026-06-15', true, '2026-06-15', ${first} from keywarden.project`;
  await sql`
    insert into keywarden.operation_coverage (project_number, known)
    select number, tstzmultirange(tstzrange(${first}, now() + interval '1 day')) from keywarden.project`;
  const at = '2026-05-31T00:00:00Z';
  const keys = Array.from({ length: 200 }, (_, index) => makeWireKey(String(index + 1), { name: `ci-${index}` }));
  const place = {
    controlPlane,
    scope: 'organization:org-1',
    organizationId: 'org-1',
    connection: 'main',
    run: null,
  };
  await saveKeyListing(daemon, { ...place, listedAt: at, begunAt: at, keys });
  await sql.unsafe('vacuum analyze');
}

export async function startService(file: string, databaseUrl: string): Promise<Service> {
  const child = fork(fileURLToPath(new URL(`../${file}`, import.meta.url)), [], {
    env: {
      ...process.env,
      DATABASE_URL: databaseUrl,
      ALLOW_OWNER_LOGIN: '1',
      REPORT_PORT: '0',
      LOG_LEVEL: 'warn',
      REPORT_REQUESTS_PER_MINUTE: '1000000',
    },
    stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
  });
  const url = await new Promise<string>((resolve, reject) => {
    child.once('message', (message) => resolve((message as { ready: { url: string } }).ready.url));
    child.once('exit', (code) => reject(new Error(`${file} ended with ${code}`)));
  });
  return { url, process: child };
}

export async function stop(child: ChildProcess): Promise<void> {
  const ended = new Promise((resolve) => child.once('exit', resolve));
  if (child.connected) child.disconnect();
  child.kill('SIGINT');
  await ended;
}

interface Deep {
  pages: string;
  headers: Record<string, string>;
  depth: number;
}

/** Returns the cursor of a deep page: a first page's cursor with the position of a deep row. */
async function deepCursor(sql: Sql, { pages, headers, depth }: Deep): Promise<string> {
  const page = (await (await fetch(pages, { headers })).json()) as { next_cursor: string };
  const [bound] = JSON.parse(Buffer.from(page.next_cursor, 'base64url').toString()) as string[];
  const [row] = await sql`
    select created_at::text as at, project_number::text as project, id::text from keywarden.operation
    order by created_at desc, project_number desc, id desc offset ${depth} limit 1`;
  return Buffer.from(JSON.stringify([bound, row?.at, row?.project, row?.id])).toString('base64url');
}

const round = (ms: number) => ms.toFixed(1);

/** Prints the latency of requests that are sent one after the other. */
async function printLatency(name: string, url: string, headers: Record<string, string>): Promise<void> {
  const times: number[] = [];
  for (let index = 0; index < 520; index += 1) {
    const { seconds, result } = await timed(async () => await (await fetch(url, { headers })).text());
    if (!result.startsWith('{"items":[{')) throw new Error(`a page of no items: ${result.slice(0, 200)}`);
    if (index >= 20) times.push(seconds * 1000);
  }
  console.log(
    `page       ${name}: p50 ${round(median(times))} ms, p99 ${round(quantile(times, 0.99))} ms (100 rows, one request at a time)`,
  );
}

/** Prints requests per second by sixteen concurrent clients and by the yardstick. */
async function printRates(
  what: string,
  { ours, bare, headers }: { ours: string; bare: string; headers: Headers[] },
): Promise<void> {
  const rates = await compareRates(
    { turns: 6, warmUps: 1 },
    async () => await rateOf(ours, headers),
    async () => await rateOf(bare, headers),
  );
  console.log(`requests   ${what} by 16 at once: ${count(rates.ours)} a second`);
  console.log(
    `yardstick  a bare Hono handler with the statement of a list: ${count(rates.yardstick)} a second; the report reaches ${rates.ratio.toFixed(2)} of it`,
  );
}

const rateForMs = 2000;

async function rateOf(url: string, headers: Headers[]): Promise<number> {
  let sent = 0;
  const startMs = performance.now();
  const { seconds } = await timed(() =>
    Promise.all(
      Array.from({ length: 16 }, async (_, client) => {
        const own = headers[client % headers.length] ?? {};
        while (performance.now() - startMs < rateForMs) {
          sent += 1;
          const response = await fetch(url, { headers: own });
          await response.arrayBuffer();
          if (response.status !== 200) throw new Error(`a request was answered with ${response.status}`);
        }
      }),
    ),
  );
  return sent / seconds;
}

interface Exporting {
  report: Service;
  headers: Record<string, string>;
  store: TestStore;
  exported: number;
}

/**
 * Prints the export of the newest operations as NDJSON, alternating with COPY of the same fields in the same order. Also prints the report's memory
 * meanwhile.
 */
async function printExport({ report, headers, store, exported }: Exporting): Promise<void> {
  const { sql } = store;
  const [row] = await sql`
    select created_at from keywarden.operation order by created_at desc, project_number desc, id desc offset ${exported - 1} limit 1`;
  const from = new Date(String(row?.created_at)).toISOString();
  const url = `${report.url}/v1/exports/operations?format=ndjson&from=${from}`;
  const { pid } = report.process;
  const before = residentOf(pid);
  const samples: number[] = [];
  const watching = setInterval(() => samples.push(residentOf(pid)), 250);
  const rates = await compareRates(
    { turns: 3 },
    async () => await exportRate(url, headers),
    async () => await copyRate(sql, from),
  ).finally(() => clearInterval(watching));
  console.log(`export     ${count(exported)} operations as NDJSON: ${count(rates.ours)} rows a second`);
  console.log(
    `yardstick  COPY (SELECT row_to_json(...)) TO STDOUT of the same fields and order: ${count(rates.yardstick)} rows a second; the export reaches ${rates.ratio.toFixed(2)} of it`,
  );
  const half = Math.floor(samples.length / 2);
  console.log(
    `resident   the report: ${before} MB before, ${Math.max(...samples.slice(0, half))} MB at most in the first half of the exports, ${Math.max(...samples.slice(half))} MB in the second`,
  );
}

async function exportRate(url: string, headers: Record<string, string>): Promise<number> {
  const { seconds, result } = await timed(async () => {
    const response = await fetch(url, { headers: { ...headers, 'accept-encoding': 'identity' } });
    let tail = '';
    for await (const chunk of response.body ?? []) tail = (tail + Buffer.from(chunk).toString('latin1')).slice(-4000);
    return Number(/"count":(\d+)/.exec(tail)?.[1]);
  });
  if (!(result > 0)) throw new Error('the export has no trailer');
  return result / seconds;
}

async function copyRate(sql: Sql, from: string): Promise<number> {
  const statement = `copy (select row_to_json(r) from (
      select o.id, p.id as project_id, p.organization_id, o.branch_id, o.endpoint_id, o.action, o.status, o.failures_count, o.error, o.retry_at,
        o.created_at, o.updated_at, o.total_duration_ms, o.extra, o.seen_at, (select max(w.began_at) from keywarden.completed_walk w
          where w.project_number = o.project_number and w.began_at >= o.created_at
            and (w.reached < o.created_at or (w.to_end and w.reached = o.created_at))) as last_seen_upstream_at
      from keywarden.operation o join keywarden.project p on p.number = o.project_number where o.created_at >= '${from}'
      order by o.created_at desc, o.project_number desc, o.id desc) r) to stdout`;
  let rows = 0;
  const { seconds } = await timed(async () => {
    const lines = await sql.unsafe(statement).readable();
    for await (const chunk of lines)
      rows += (chunk as Buffer).reduce((found, byte) => (byte === 10 ? found + 1 : found), 0);
  });
  return rows / seconds;
}
