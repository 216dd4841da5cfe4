import { createServer, type RequestListener } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { BudgetRows } from '@keywarden/core/client';
import { type ClientOptions, ControlPlaneError, createClient } from '@keywarden/core/client';
import { createSandbox, type SandboxOptions } from '@keywarden/sandbox';
import { expect, onTestFinished } from 'vitest';
import { createControls } from '../sandbox/controls.ts';

/** A sandbox for one test, with a client whose waits are only written down, in ms. */
export async function clientFixture(options: SandboxOptions = {}) {
  const sandbox = await createSandbox(options);
  onTestFinished(async () => await sandbox.close());
  const slept: number[] = [];
  const client = (change: Partial<ClientOptions> = {}) =>
    createClient({
      baseUrl: sandbox.url,
      apiKey: sandbox.adminKey,
      random: () => 1,
      ...change,
      time: writtenDown(slept),
    });
  return { sandbox, slept, client, controls: createControls(sandbox.controlUrl) };
}

/** Real time, but waiting is only written down. */
function writtenDown(slept: number[]) {
  return { now: Date.now, sleep: async (ms: number) => void slept.push(ms) };
}

/** A server that answers as it is told, for one test; answers with its base URL. */
export async function answering(listener: RequestListener): Promise<string> {
  const server = createServer(listener);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(async () => {
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  });
  // A TCP server's address is an object once it listens.
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}/api/v2`;
}

/** The typed error of a call that must fail. */
export async function failure(call: Promise<unknown>): Promise<ControlPlaneError> {
  const error = await call.then(
    () => undefined,
    (reason: unknown) => reason,
  );
  expect(error).toBeInstanceOf(ControlPlaneError);
  // The line above has just checked it.
  return error as ControlPlaneError;
}

/** Rows as a database has them: read and saved in turns of their own, refused where another saved meanwhile. */
export function memoryRows(now: () => number, trip: () => Promise<void> = () => Promise.resolve()) {
  const saved = new Map<string, { version: number; text: string }>();
  const counts = { reads: 0, writes: 0, refused: 0 };
  const rows: BudgetRows = {
    async read(keys) {
      counts.reads += 1;
      await trip();
      const found = keys.flatMap((key) => {
        const row = saved.get(key);
        return row === undefined ? [] : [[key, { version: String(row.version), state: JSON.parse(row.text) }] as const];
      });
      return { nowMs: now(), rows: new Map(found) };
    },
    async save(changed) {
      await trip();
      const isCurrent = changed.every(({ key, version }) => String(saved.get(key)?.version ?? 0) === version);
      if (!isCurrent) {
        counts.refused += 1;
        return false;
      }
      counts.writes += 1;
      for (const { key, version, state } of changed)
        saved.set(key, { version: Number(version) + 1, text: JSON.stringify(state) });
      return true;
    },
  };
  return { rows, counts };
}
