import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { type ServerType, serve } from '@hono/node-server';
import type { Hono } from 'hono';
import { documentedLimits, type Limits } from './access/limits.ts';
import { createApp } from './app.ts';
import { createFaults } from './controls/faults.ts';
import { createStats } from './controls/stats.ts';
import { equipOldProjects } from './generate/projects.ts';
import { hashToken, insertKey } from './resources/keys.ts';
import { type Settings, settingsSchema, type Work, workSchema } from './settings.ts';
import type { State } from './state.ts';
import { createClock } from './store/clock.ts';
import { type Database, openDatabase, readSetting, writeSetting } from './store/database.ts';
import { createRandom } from './store/random.ts';

export interface SandboxOptions {
  /** Where the state is stored; in memory if absent. */
  file?: string;
  /** 0 selects a free port, which is the default. */
  port?: number;
  /** The secret of key 1, a personal key of the user who administers every organization; generated if absent. */
  adminKey?: string;
  limits?: Limits;
  /** The rate of the control plane's own work. */
  work?: Partial<Work>;
  /** The options in which services of this shape differ. */
  settings?: Partial<Settings>;
  /** The machine's time in milliseconds; tests may pass their own. */
  realNowMs?: () => number;
  /** Called with each new secret, so that a test can search for leaks. */
  onSecret?: (token: string) => void;
}

export interface Sandbox {
  app: Hono;
  /** The control plane's base URL, including the version: http://127.0.0.1:PORT/api/v2 */
  url: string;
  /** The base URL of the controls: http://127.0.0.1:PORT/_sandbox */
  controlUrl: string;
  adminKey: string;
  /** Identifies this state: a new state has the same projects, with another history. */
  id: string;
  /** True if nothing was ever generated in it. */
  isEmpty: boolean;
  /** Stops the server and its connections; a second call does nothing. */
  close(): Promise<void>;
}

/** Starts a complete local control plane on 127.0.0.1. Rejects with the system's error: EADDRINUSE for a taken port. */
export async function createSandbox(options: SandboxOptions = {}): Promise<Sandbox> {
  const db = openDatabase(options.file ?? ':memory:');
  const clock = createClock(db, options.realNowMs ?? Date.now);
  const newToken = () => {
    const token = `napi_${randomBytes(45).toString('base64url').replace(/[-_]/g, 'x')}`;
    options.onSecret?.(token);
    return token;
  };
  const limits = options.limits ?? documentedLimits;
  const work = workSchema.parse(options.work ?? {});
  const settings = settingsSchema.parse(options.settings ?? {});
  const random = createRandom(randomBytes(4).readUInt32LE());
  const [faults, stats] = [createFaults(), createStats()];
  const closing = new AbortController();
  const { signal } = closing;
  const state: State = { db, clock, faults, stats, limits, work, settings, random, newToken, closing: signal };
  const adminKey = options.adminKey ?? newToken();
  if (/\s/.test(adminKey)) throw new Error("the administrator's key must not contain spaces");
  db.transaction(() => ensureAdministrator(state, adminKey));
  equipOldProjects(db, clock.now());
  const app = createApp(state);
  const running = new Set<Promise<unknown>>();
  let server: ServerType;
  try {
    server = await listen(app, { port: options.port ?? 0, running });
  } catch (error) {
    db.close();
    throw error;
  }
  // A TCP server's address is an object once it listens.
  const origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return {
    app,
    url: `${origin}/api/v2`,
    controlUrl: `${origin}/_sandbox`,
    adminKey,
    id: idOf(db),
    isEmpty: db.get('select 1 from organization limit 1') === undefined,
    async close() {
      if (!server.listening) return;
      await new Promise<void>((resolve) => {
        server.close(() => resolve());
        if ('closeAllConnections' in server) server.closeAllConnections();
      });
      // A request whose client is gone still uses the database.
      closing.abort();
      await Promise.allSettled(running);
      db.close();
    },
  };
}

function idOf(db: Database): string {
  const known = readSetting(db, 'sandbox_id');
  if (known !== undefined) return known;
  const id = randomBytes(4).toString('hex');
  writeSetting(db, 'sandbox_id', id);
  return id;
}

/** Sets the secret of key 1, which belongs to the administrator; a new secret replaces the old one. */
function ensureAdministrator({ db, clock }: State, adminKey: string): void {
  const revive = 'update api_key set token_hash = ?, revoked_at = null where id = 1';
  if (db.run(revive, hashToken(adminKey)) > 0) return;
  const userId = '00000000-0000-4000-a000-000000000001';
  const createdAt = clock.now();
  const email = 'administrator@company.example';
  db.insert('user', { id: userId, name: 'Sandbox Administrator', email, created_at: createdAt });
  insertKey(db, { kind: 'personal', name: 'keywarden', user_id: userId, created_at: createdAt }, adminKey);
}

/** Listens on 127.0.0.1. `running` has the requests that have no response yet. */
async function listen(app: Hono, { port, running }: { port: number; running: Set<Promise<unknown>> }) {
  const fetch: typeof app.fetch = async (...request) => {
    const response = Promise.resolve(app.fetch(...request));
    running.add(response);
    return await response.finally(() => running.delete(response));
  };
  const server = serve({ fetch, hostname: '127.0.0.1', port });
  // Node's default of five seconds closes the connection of a client in this process that was busy for a second before its next request.
  if ('keepAliveTimeout' in server) server.keepAliveTimeout = 60_000;
  await once(server, 'listening');
  return server;
}
