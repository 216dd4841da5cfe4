import { createServer, type RequestListener } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { BudgetRows } from '@keywarden/core/client';
import { type ClientOptions, ControlPlaneError, createClient } from '@keywarden/core/client';
import { createSandbox, type SandboxOptions } from '@keywarden/sandbox';
import { expect, onTestFinished } from 'vitest';
import { createControls } from '../sandbox/controls.ts';

/** Returns a sandbox for one test and a client that records its waits, in ms, instead of waiting. */
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

/** Returns a clock with real time whose sleeps are only recorded. */
function writtenDown(slept: number[]) {
  return { now: Date.now, sleep: async (ms: number) => void slept.push(ms) };
}

/** Starts a server for one test that responds as `listener` decides. Returns its base URL. */
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

/** Returns the typed error of a call that must fail. */
export async function failure(call: Promise<unknown>): Promise<ControlPlaneError> {
  const error = await call.then(
    () => undefined,
    (reason: unknown) => reason,
  );
  expect(error).toBeInstanceOf(ControlPlaneError);
  // The previous line has checked the type.
  return error as ControlPlaneError;
}

/** Returns rows that behave like a database's: each read and each save is a separate step. A save is refused if another save came in between. */
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
