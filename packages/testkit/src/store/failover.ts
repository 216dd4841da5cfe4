import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { planLaunch } from '@keywarden/db/embedded';
import postgres from 'postgres';
import { until } from '../until.ts';

type Launch = ReturnType<typeof planLaunch>;

/** A primary and its streaming standby behind one address, as a cloud provider serves them. */
export interface FailoverPair {
  /** The address of the relay, which leads to the primary. */
  url: string;
  /** From now on each commit waits until the standby has it. */
  requireStandby(): Promise<void>;
  /** From now on the standby receives nothing: a promotion loses what is committed meanwhile. First waits until it has everything. */
  cutReplication(): Promise<void>;
  /** Kills the primary, promotes the standby, and lets the relay lead to it. */
  failOver(): Promise<void>;
  close(): Promise<void>;
}

/** Starts both with the embedded programs. Replication is asynchronous, and goes through a relay that a test can cut. */
export async function startFailoverPair(): Promise<FailoverPair> {
  const folders = [
    mkdtempSync(join(tmpdir(), 'keywarden-primary-')),
    mkdtempSync(join(tmpdir(), 'keywarden-standby-')),
  ];
  const [first, second] = folders.map((folder) => planLaunch(folder)) as [Launch, Launch];
  run(first, [
    join(first.programs, 'initdb'),
    '-D',
    first.cluster,
    '-U',
    'keywarden',
    '--auth=trust',
    '-E',
    'UTF8',
    '--locale=C',
    '-N',
  ]);
  run(second, ['cp', '-a', first.cluster, second.cluster]);
  writeFileSync(join(second.cluster, 'standby.signal'), '');
  const primary = await start(first, {});
  const replication = await startRelay(primary.port);
  const standby = await start(second, {
    primary_conninfo: `host=127.0.0.1 port=${replication.port} user=keywarden`,
    wal_retrieve_retry_interval: '100ms',
  });
  const clients = await startRelay(primary.port);
  const ask = async (port: number, query: string) => {
    const sql = postgres(urlOf(port), { max: 1 });
    try {
      return await sql.unsafe(query);
    } finally {
      await sql.end();
    }
  };
  return {
    url: urlOf(clients.port),
    async requireStandby() {
      await ask(primary.port, "alter system set synchronous_standby_names = '*'");
      await ask(primary.port, 'select pg_reload_conf()');
      await until(async () => {
        const [row] = await ask(primary.port, "select from pg_stat_replication where sync_state = 'sync'");
        return row;
      });
    },
    async cutReplication() {
      const [row] = await ask(primary.port, 'select pg_current_wal_flush_lsn()::text as lsn');
      await until(async () => {
        const [has] = await ask(standby.port, `select pg_last_wal_replay_lsn() >= '${row?.lsn}' as has`);
        return has?.has === true;
      });
      replication.lead(null);
    },
    async failOver() {
      clients.lead(null);
      await primary.kill();
      replication.lead(null);
      await ask(standby.port, 'select pg_promote()');
      clients.lead(standby.port);
    },
    async close() {
      await Promise.all([clients.close(), replication.close()]);
      await Promise.all([primary.kill(), standby.kill()]);
      for (const folder of folders) rmSync(folder, { recursive: true, force: true });
    },
  };
}

const urlOf = (port: number) => `postgres://keywarden@127.0.0.1:${port}/postgres`;

function run({ prefix }: Launch, program: string[]): void {
  const [command = '', ...rest] = [...prefix, ...program];
  const { status, stderr } = spawnSync(command, rest, { encoding: 'utf8', cwd: '/' });
  if (status !== 0) throw new Error(`${program[0]} failed: ${stderr}`);
}

/** Starts a postmaster, which must end with this process's test. */
async function start({ programs, prefix, cluster }: Launch, more: Record<string, string>) {
  const free = await startRelay(null);
  const { port } = free;
  await free.close();
  const settings = {
    listen_addresses: '127.0.0.1',
    port: String(port),
    unix_socket_directories: '',
    fsync: 'off',
    ...more,
  };
  const args = Object.entries(settings).flatMap(([name, value]) => ['-c', `${name}=${value}`]);
  const [command = '', ...rest] = [...prefix, join(programs, 'postgres'), '-D', cluster, ...args];
  const child = spawn(command, rest, { stdio: 'ignore', cwd: '/' });
  const ended = once(child, 'exit');
  const kill = async () => {
    child.kill('SIGQUIT');
    await ended;
  };
  await until(async () => {
    if (!existsSync(join(cluster, 'postmaster.pid'))) return false;
    const sql = postgres(urlOf(port), { max: 1 });
    const isReady = await sql`select 1`.then(
      () => true,
      () => false,
    );
    await sql.end();
    return isReady;
  });
  return { port, kill };
}

/** Starts a relay on a free port. It leads to one port, or refuses. A change cuts its connections. */
async function startRelay(target: number | null) {
  let to = target;
  const sockets = new Set<Socket>();
  const server = createServer((client) => {
    if (to === null) {
      client.destroy();
      return;
    }
    const upstream = connect(to, '127.0.0.1');
    for (const [one, other] of [
      [client, upstream],
      [upstream, client],
    ] as const) {
      sockets.add(one);
      one.on('error', () => undefined);
      one.once('close', () => {
        sockets.delete(one);
        other.destroy();
      });
      one.pipe(other);
    }
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const lead = (port: number | null) => {
    to = port;
    for (const socket of sockets) socket.destroy();
  };
  return {
    port: (server.address() as AddressInfo).port,
    lead,
    async close() {
      lead(null);
      server.close();
      await once(server, 'close');
    },
  };
}
