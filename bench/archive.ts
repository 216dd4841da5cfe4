import { Agent, get, type IncomingMessage, type RequestOptions } from 'node:http';
import { openStore } from '@keywarden/db/store';
import { createTestStore, startTestPostgres } from '@keywarden/testkit/store/test-store';
import { compareRates, count, median, quantile, readNumber, timed } from './measure.ts';
import { fill, startService, stop } from './report.ts';
import { headersOf } from './report-attack.ts';

const readers = 10;
const rows = 1000;
const pages = 300;

/**
 * `archive [--operations N]`: ten concurrent readers read pages of 1000 operations of one project, as a client of the control plane does. The archive
 * holds N operations of 1000 projects, two million by default. The yardstick is only the statement of such a page, on ten connections to Postgres.
 */
export async function benchArchive(args: string[]): Promise<void> {
  const operations = readNumber(args, 'operations', 2_000_000);
  const postgres = await startTestPostgres({ isDurable: true });
  const store = await createTestStore(postgres.url);
  const report = await startService('apps/report/src/main.ts', store.url);
  const alone = await openStore({
    databaseUrl: store.url,
    dataFolder: '',
    applicationName: 'bench',
    role: 'keywarden_report',
    maxConnections: readers,
  });
  try {
    const { sql: daemon } = await store.as('keywarden_daemon');
    await fill({ owner: store.sql, daemon, operations });
    const headers = await headersOf(store, 'bench');
    const agent = new Agent({ keepAlive: true });
    const p99s: number[] = [];
    const overHttp = async (page: number) => {
      const url = `${report.url}/api/v2/projects/project-${1 + (page % 500)}/operations?limit=${rows}`;
      await download(url, { headers, agent });
    };
    const inPostgres = async (page: number) => {
      await alone.sql.unsafe(statement, [String(1 + (page % 500))]);
    };
    const { ours, yardstick, ratio } = await compareRates(
      { turns: 4, warmUps: 1 },
      async () => {
        const { perSecond, p99Ms } = await rateOf(overHttp);
        p99s.push(p99Ms);
        return perSecond;
      },
      async () => (await rateOf(inPostgres)).perSecond,
    );
    const p99 = median(p99s.slice(1));
    console.log(
      `archive    pages of ${count(rows)} rows by ${readers} at once: ${count(ours)} a second, p99 ${p99.toFixed(0)} ms`,
    );
    console.log(
      `yardstick  Postgres writing the same rows as one JSON text each: ${count(yardstick)} pages a second; the archive reaches ${ratio.toFixed(2)} of it`,
    );
  } finally {
    await stop(report.process);
    await alone.close();
    await store.close();
    await postgres.close();
  }
}

/** A page as one text, to measure Postgres without the report. */
const statement = `select string_agg(json_strip_nulls(row_to_json(r))::text, ',') from (
    select o.id, o.project_number, o.branch_id, o.endpoint_id, o.action, o.status, o.error, o.failures_count, o.retry_at, o.created_at,
      o.updated_at, o.total_duration_ms from keywarden.operation o where o.project_number = $1 order by o.created_at desc, o.id desc limit ${rows}) r`;

/** The cost of a page for its reader is not measured: its bytes are counted and discarded. */
async function download(url: string, options: RequestOptions): Promise<void> {
  const response = await new Promise<IncomingMessage>((resolve, reject) => {
    get(url, options, resolve).on('error', reject);
  });
  let bytes = 0;
  for await (const part of response) bytes += (part as Buffer).length;
  if (response.statusCode !== 200 || bytes < rows * 100) throw new Error(`${response.statusCode} and ${bytes} bytes`);
}

async function rateOf(ask: (page: number) => Promise<void>): Promise<{ perSecond: number; p99Ms: number }> {
  const times: number[] = [];
  let sent = 0;
  const { seconds } = await timed(() =>
    Promise.all(
      Array.from({ length: readers }, async () => {
        while (sent < pages) {
          sent += 1;
          const one = await timed(() => ask(sent));
          times.push(one.seconds * 1000);
        }
      }),
    ),
  );
  return { perSecond: pages / seconds, p99Ms: quantile(times, 0.99) };
}
