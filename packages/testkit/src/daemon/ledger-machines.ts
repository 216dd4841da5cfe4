import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { builderOver, type Store } from '@keywarden/db/store';
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
  const { sql } = place.store;
  const step = runAt(at, run);
  const begin = async (...words: Parameters<typeof sql.begin>) => {
    await step();
    return await sql.begin(...words);
  };
  return { ...place, store: { ...place.store, sql: replaceIn(sql, { begin }) } };
}

/**
 * Returns a machine whose store runs something at its step of this number: before a transaction or a statement of the query builder outside of one, or before
 * its answer arrives.
 */
export function interruptStep(place: Machine, at: number, run: () => Promise<unknown>): Machine {
  const { sql } = place.store;
  const step = runAt(at, run);
  const around = async <T>(work: () => PromiseLike<T>): Promise<T> => {
    await step();
    const answer = await work();
    await step();
    return answer;
  };
  const begin = async (...words: Parameters<typeof sql.begin>) => await around(async () => await sql.begin(...words));
  // The query builder awaits a statement, or asks for its `values` at once.
  const unsafe = (...words: Parameters<typeof sql.unsafe>) => {
    let asValues = false;
    const run = () => (asValues ? sql.unsafe(...words).values() : sql.unsafe(...words));
    const rows = Promise.resolve().then(async () => await around<unknown>(run));
    const values = async () => {
      asValues = true;
      return await rows;
    };
    return Object.assign(rows, { values });
  };
  const interrupted = replaceIn(sql, { begin, unsafe });
  return { ...place, store: { ...place.store, sql: interrupted, db: builderOver(interrupted) } };
}

function runAt(at: number, run: () => Promise<unknown>): () => Promise<void> {
  let steps = 0;
  return async () => {
    steps += 1;
    if (steps === at) await run();
  };
}

function replaceIn<T extends object>(object: T, members: object): T {
  return new Proxy(object, { get: (target, name) => Reflect.get(name in members ? members : target, name) });
}
