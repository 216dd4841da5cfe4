import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { createSandbox, noLimits } from '@keywarden/sandbox';
import { createTestStore, startTestPostgres } from '@keywarden/testkit/store/test-store';
import { count, readNumber, residentOf } from './measure.ts';

const main = fileURLToPath(new URL('../apps/daemon/src/main.ts', import.meta.url));

/** `idle [--seconds N]`: the cost of an idle daemon, in processor time and database transactions. The yardstick is one percent of a core. */
export async function benchIdle(args: string[]): Promise<void> {
  const seconds = readNumber(args, 'seconds', 120);
  const folder = mkdtempSync(join(tmpdir(), 'keywarden-idle-'));
  const postgres = await startTestPostgres();
  const store = await createTestStore(postgres.url);
  const sandbox = await createSandbox({ limits: noLimits });
  const never = ['keys', 'operations', 'credentials', 'sweep', 'enforce', 'rotate', 'retention'].map(
    (name) => `  ${name}: 0 0 29 2 *`,
  );
  writeFileSync(join(folder, 'keywarden.yaml'), `schedules:\n${never.join('\n')}\n`);
  const child = spawn(process.execPath, [...process.execArgv, main, 'run'], {
    env: {
      PATH: process.env.PATH,
      KEYWARDEN_DATA: folder,
      KEYWARDEN_CONFIG: join(folder, 'keywarden.yaml'),
      DATABASE_URL: store.url,
      ALLOW_OWNER_LOGIN: '1',
      CONTROL_PLANE_URL: sandbox.url,
      CONTROL_PLANE_API_KEY: sandbox.adminKey,
      CONTROL_PLANE_KEY_ID: '1',
      DAEMON_PORT: '0',
      LOG_FORMAT: 'json',
    },
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  try {
    await new Promise<void>((resolve) => {
      child.stderr.on('data', (text: Buffer) => text.includes('the daemon runs') && resolve());
    });
    await setTimeout(15_000);
    const look = async () => {
      const [row] = await store.sql`
        select xact_commit + xact_rollback as transactions from pg_stat_database where datname = current_database()`;
      return { run: runSeconds(child.pid ?? 0), transactions: Number(row?.transactions) };
    };
    const before = await look();
    await setTimeout(seconds * 1000);
    const after = await look();
    const part = (after.run - before.run) / seconds;
    const perMinute = ((after.transactions - before.transactions) * 60) / seconds;
    console.log(
      `idle   ${(part * 100).toFixed(2)} % of a core (1 % is the yardstick), ${count(perMinute)} transactions a minute, ${residentOf(child.pid)} MB resident, over ${seconds} s`,
    );
    if (part >= 0.01) process.exitCode = 1;
  } finally {
    const ended = once(child, 'exit');
    child.kill('SIGTERM');
    await ended;
    await sandbox.close();
    await store.close();
    await postgres.close();
    rmSync(folder, { recursive: true, force: true });
  }
}

/** Returns the seconds that the threads of a process have run, by the scheduler's own count: ticks would be too coarse. */
function runSeconds(pid: number): number {
  const tasks = readdirSync(`/proc/${pid}/task`);
  const nanoseconds = tasks.map((task) =>
    Number(readFileSync(`/proc/${pid}/task/${task}/schedstat`, 'utf8').split(' ')[0]),
  );
  return nanoseconds.reduce((sum, each) => sum + each, 0) / 1e9;
}
