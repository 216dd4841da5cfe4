import { type ChildProcess, fork } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Order } from './replica.ts';

/** A machine that runs one replica, and after a kill a new one. */
interface Machine {
  folder: string;
  process: ChildProcess;
  replica: string;
}

/** Replicas in separate processes. Their standard error is kept; it should be empty. */
export interface Fleet {
  /** Returns the process id that each machine runs now. */
  pids(): number[];
  /** All replicas that ever ran, by machine. */
  replicas: string[][];
  complaints: string[];
  tick(): void;
  /** Returns the live heap of each machine's replica, in MB. */
  heaps(): Promise<number[]>;
  /** Kills a machine's replica with kill -9 and starts another in its place. */
  kill(machine: number): Promise<void>;
  close(): Promise<void>;
}

export async function startFleet(
  size: number,
  order: Omit<Order, 'dataFolder' | 'replica'>,
  { nodeOptions = [] as string[] } = {},
): Promise<Fleet> {
  const machines: Machine[] = [];
  const replicas: string[][] = [];
  const complaints: string[] = [];
  const start = async (folder: string): Promise<Machine> => {
    const replica = randomUUID();
    const child = fork(new URL('replica.ts', import.meta.url), {
      execArgv: [...nodeOptions, '--expose-gc'],
      stdio: ['ignore', 'ignore', 'pipe', 'ipc'],
    });
    child.stderr?.setEncoding('utf8').on('data', (text: string) => complaints.push(text));
    await once(child, 'message'); // ready
    const begun = once(child, 'message');
    child.send({ ...order, dataFolder: folder, replica } satisfies Order);
    await begun;
    return { folder, process: child, replica };
  };
  for (let index = 0; index < size; index += 1) {
    const machine = await start(mkdtempSync(join(tmpdir(), 'keywarden-replica-')));
    machines.push(machine);
    replicas.push([machine.replica]);
  }
  return {
    pids: () => machines.map(({ process: { pid } }) => pid ?? 0),
    replicas,
    complaints,
    tick() {
      for (const { process } of machines) if (process.connected) process.send('tick');
    },
    async heaps() {
      const answers = machines.map(async ({ process }) => {
        const answered = once(process, 'message');
        process.send('measure');
        const [{ heapMb }] = (await answered) as [{ heapMb: number }];
        return heapMb;
      });
      return await Promise.all(answers);
    },
    async kill(index) {
      const machine = machines[index];
      if (machine === undefined) throw new RangeError(`there is no machine ${index}`);
      const ended = once(machine.process, 'exit');
      machine.process.kill('SIGKILL');
      await ended;
      const next = await start(machine.folder);
      machines[index] = next;
      replicas[index]?.push(next.replica);
    },
    async close() {
      for (const { process, folder } of machines) {
        if (process.connected) {
          const ended = once(process, 'exit');
          process.send('stop');
          await ended;
        }
        rmSync(folder, { recursive: true, force: true });
      }
    },
  };
}
