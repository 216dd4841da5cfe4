import { createClient } from '@keywarden/core/client';
import { compareRates, count, timed } from './measure.ts';
import { startSandbox } from './start-sandbox.ts';

const operations = 100_000;
const rounds = 15;

/**
 * Reads pages of a thousand operations with the client, and the same pages with bare `fetch` and `JSON.parse`, alternately. The difference is the
 * cost of types and checks. Then it sends small requests, one after another. The sandbox runs in a separate process.
 */
export async function benchClient(): Promise<void> {
  const company = { organizations: 1, projects: 1, keys: 0, operations, months: 5 };
  const sandbox = await startSandbox({ company });
  try {
    await sandbox.generate();
    const [project] = await sandbox.controls.projects();
    const client = createClient({ baseUrl: sandbox.url, apiKey: sandbox.adminKey });
    const bare = bareReader(sandbox);
    const id = project?.id ?? '';
    await compare(
      'rows',
      async () => await readRows(client, id),
      async () => await bare.rows(id),
    );
    await compare(
      'requests',
      async () => await repeat(500, async () => await client.auth()),
      async () => await repeat(500, async () => await bare.json('/auth')),
    );
  } finally {
    await sandbox.stop();
  }
}

async function compare(unit: string, ours: () => Promise<number>, bare: () => Promise<number>): Promise<void> {
  const rateOf = async (work: () => Promise<number>) => {
    const { result, seconds } = await timed(work);
    return result / seconds;
  };
  const rates = await compareRates(
    { turns: rounds },
    async () => await rateOf(ours),
    async () => await rateOf(bare),
  );
  console.log(
    `${unit.padEnd(10)} client ${count(rates.ours)}/s, bare fetch and JSON.parse ${count(rates.yardstick)}/s: ${rates.ratio.toFixed(2)} of it`,
  );
}

async function readRows(client: ReturnType<typeof createClient>, projectId: string): Promise<number> {
  let rows = 0;
  for await (const page of client.operations(projectId)) rows += page.items.length;
  return rows;
}

function bareReader({ url, adminKey }: { url: string; adminKey: string }) {
  const headers = { authorization: `Bearer ${adminKey}` };
  const json = async (path: string): Promise<unknown> =>
    JSON.parse(await (await fetch(`${url}${path}`, { headers })).text());
  return {
    json,
    async rows(projectId: string): Promise<number> {
      let rows = 0;
      for (let cursor = ''; ; ) {
        const path = `/projects/${projectId}/operations?limit=1000${cursor}`;
        // The sandbox responds in this shape.
        const page = (await json(path)) as { operations: unknown[]; pagination?: { cursor: string } };
        rows += page.operations.length;
        if (page.pagination === undefined) return rows;
        cursor = `&cursor=${encodeURIComponent(page.pagination.cursor)}`;
      }
    },
  };
}

async function repeat(times: number, work: () => Promise<unknown>): Promise<number> {
  for (let index = 0; index < times; index += 1) await work();
  return times;
}
