import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Store } from '@keywarden/db/store';
import { type Environment, readEnvironment } from '@keywarden/runtime';
import { afterEach, beforeEach, inject } from 'vitest';
import { createTestStore, type TestStore } from '../store/test-store.ts';

/** A machine with a data folder of its own, on the same store as others. */
export interface Machine {
  store: Store;
  environment: Environment;
  folder: string;
  now: () => number;
  signal: AbortSignal;
}

/** Machines that share the ledger of one store. */
export interface Machines {
  owner: TestStore;
  create(variables?: Record<string, string>): Promise<Machine>;
  /** Adds governed rows: each is two events. */
  addEvent(by?: string): Promise<void>;
  /** Runs statements of the owner that no trigger sees. */
  behindTriggers(statements: string): Promise<void>;
  close(): Promise<void>;
}

/** The machines of the running test, and the owner of their store; `useMachines` sets them before each test. */
export let machines: Machines;
export let owner: TestStore;

/** Makes machines for each test of a file, and closes them after it. */
export function useMachines(): void {
  beforeEach(async () => {
    machines = await createMachines(inject('postgresUrl'));
    ({ owner } = machines);
  });
  afterEach(async () => await machines.close());
}

async function createMachines(postgresUrl: string): Promise<Machines> {
  const owner = await createTestStore(postgresUrl);
  const folders: string[] = [];
  return {
    owner,
    async create(variables = {}) {
      const folder = mkdtempSync(join(tmpdir(), 'keywarden-ledger-'));
      folders.push(folder);
      return {
        store: await owner.as('keywarden_daemon'),
        environment: readEnvironment({ KEYWARDEN_DATA: folder, ...variables }),
        folder,
        now: () => Date.parse('2026-05-01T00:00:00Z'),
        signal: new AbortController().signal,
      };
    },
    async addEvent(by = 'ada') {
      await owner.sql`insert into keywarden.pause (paused_by, resumed_at) values (${by}, now())`;
    },
    async behindTriggers(statements) {
      owner.isTampered();
      await owner.sql
        .unsafe(`set session_replication_role = replica; ${statements}; set session_replication_role = default`)
        .simple();
    },
    async close() {
      await owner.close();
      for (const folder of folders) rmSync(folder, { recursive: true });
    },
  };
}

/** Returns a machine whose store runs something before its transaction of this number. */
export function interrupt(place: Machine, at: number, run: () => Promise<unknown>): Machine {
  let begins = 0;
  const { sql } = place.store;
  const begin = async (...words: Parameters<typeof sql.begin>) => {
    begins += 1;
    if (begins === at) await run();
    return await sql.begin(...words);
  };
  const interrupted = new Proxy(sql, { get: (target, name) => (name === 'begin' ? begin : Reflect.get(target, name)) });
  return { ...place, store: { ...place.store, sql: interrupted } };
}
