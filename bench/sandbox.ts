import { mkdtempSync, rmSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { count, timed } from './measure.ts';
import { startSandbox } from './start-sandbox.ts';

const operations = 1_000_000;
const pageSize = 1000;

/**
 * Lists a million operations of a sandbox that stores them in a file, page by page over HTTP. The sandbox runs in a separate process. The yardstick
 * is a bare HTTP server that sends one such page from memory as often: the cost of HTTP and the reader.
 */
export async function benchSandbox(): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), 'keywarden-bench-'));
  const company = { organizations: 1, projects: 20, keys: 0, operations, months: 5 };
  const sandbox = await startSandbox({ file: join(folder, 'sandbox.sqlite'), company });
  try {
    const generated = await timed(sandbox.generate);
    const made = await sandbox.used();
    console.log(
      `generate   ${count(operations)} operations in ${generated.seconds.toFixed(1)} s: ${count(operations / generated.seconds)} rows/s, ${count(made.residentMb)} MB resident`,
    );
    const { page, rows, seconds } = await listAll(sandbox);
    const listed = await sandbox.used();
    const cpuSeconds = listed.cpuSeconds - made.cpuSeconds;
    const rate = rows / seconds;
    console.log(
      `list       ${count(rows)} rows in ${seconds.toFixed(1)} s: ${count(rate)} rows/s, ${count(rows / cpuSeconds)} rows for a second of the sandbox's processor time`,
    );
    const bare = await bareRate(page, Math.ceil(rows / pageSize));
    console.log(
      `yardstick  a bare server with the same page: ${count(bare)} rows/s; the sandbox reaches ${(rate / bare).toFixed(2)} of it`,
    );
    console.log(`resident   ${count(listed.residentMb)} MB, the sandbox alone`);
  } finally {
    await sandbox.stop();
    rmSync(folder, { recursive: true, force: true });
  }
}

async function listAll({ url, controls, adminKey }: Awaited<ReturnType<typeof startSandbox>>) {
  const projects = await controls.projects();
  let page = '';
  const { result: rows, seconds } = await timed(async () => {
    let seen = 0;
    for (const { id } of projects) {
      for (let cursor = ''; ; ) {
        const response = await fetch(`${url}/projects/${id}/operations?limit=${pageSize}${cursor}`, {
          headers: { authorization: `Bearer ${adminKey}` },
        });
        const text = await response.text();
        seen += text.split('"created_at"').length - 1;
        const next = /"cursor":"([^"]+)"/.exec(text)?.[1];
        if (next === undefined) break;
        page = text;
        cursor = `&cursor=${encodeURIComponent(next)}`;
      }
    }
    return seen;
  });
  return { page, rows, seconds };
}

async function bareRate(page: string, pages: number): Promise<number> {
  const server = createServer((_request, response) => response.setHeader('content-type', 'application/json').end(page));
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  // A TCP server's address is an object once it listens.
  const { port } = server.address() as AddressInfo;
  const { seconds, result } = await timed(async () => {
    let rows = 0;
    for (let index = 0; index < pages; index += 1) {
      const text = await (await fetch(`http://127.0.0.1:${port}/`)).text();
      rows += text.split('"created_at"').length - 1;
    }
    return rows;
  });
  server.close();
  return result / seconds;
}
