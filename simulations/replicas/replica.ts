import { createSharedStore, type LimiterStore } from '@keywarden/core/client';
import { policySchema } from '@keywarden/core/policy';
import type { Context } from '@keywarden/daemon';
import { armMachine, startDaemon } from '@keywarden/daemon';
import { createBudgetRows } from '@keywarden/db/daemon';
import { openStore } from '@keywarden/db/store';
import { createLogger, readEnvironment } from '@keywarden/runtime';
import type { ChannelConfig, ConnectionConfig } from '@keywarden/runtime/config';
import { realTime } from '@keywarden/testkit';
import { makeContext } from '@keywarden/testkit/daemon/fixture';
import { createControls } from '@keywarden/testkit/sandbox/controls';

// One replica of the daemon in a separate process, on a sandbox's clock. It ticks on request. It exits when its parent exits, or when it is killed.

export interface Order {
  databaseUrl: string;
  connection: ConnectionConfig;
  channels: ChannelConfig[];
  policy: object;
  dataFolder: string;
  replica: string;
  /** The sandbox's own controls. */
  controlUrl: string;
  /** Counts no requests: for a test's counter-test. */
  isUnlimited: boolean;
}

process.on('disconnect', () => process.exit());
process.once('message', (order: Order) => void run(order));
process.send?.('ready');

async function run(order: Order): Promise<void> {
  const options = { dataFolder: '.', applicationName: `replica ${order.replica}`, role: 'keywarden_daemon' } as const;
  const store = await openStore({ ...options, databaseUrl: order.databaseUrl });
  const clock = await followClock(order.controlUrl);
  const budgets = createSharedStore(createBudgetRows(store.connect({ max: 1 })), {
    localMs: () => performance.now(),
    now: clock.now,
    sleep: async (ms: number) => await realTime(ms, 'the shared limiter waits in real time'),
  });
  const stop = new AbortController();
  const context: Context = {
    ...makeContext(store, {
      connections: [order.connection],
      channels: order.channels,
      policy: policySchema.parse(order.policy),
    }),
    log: createLogger(order.replica, { LOG_LEVEL: 'fatal', LOG_FORMAT: 'json' }),
    environment: { ...readEnvironment({}), KEYWARDEN_DATA: order.dataFolder },
    budgets: order.isUnlimited ? unlimited : budgets,
    replica: order.replica,
  };
  await armMachine(context, 'the simulation');
  const daemon = await startDaemon(context, {
    replica: order.replica,
    now: clock.now,
    superviseSeconds: 2,
    pollSeconds: 5,
    onFatal: (error) => {
      throw error;
    },
  });
  process.on('message', (message) => {
    if (message === 'stop') stop.abort();
    if (message === 'measure') {
      // Only live objects count.
      globalThis.gc?.();
      process.send?.({ heapMb: process.memoryUsage().heapUsed / 2 ** 20 });
    }
    // The next tick does what a failed tick did not do.
    if (message === 'tick')
      void clock
        .read()
        .then(() => daemon.tick())
        .catch(() => undefined);
  });
  process.send?.('begun');
  await new Promise((resolve) => stop.signal.addEventListener('abort', resolve));
  await daemon.stop();
  await store.close();
  process.exit(0);
}

const unlimited: LimiterStore = {
  take: () => 0,
  add: () => undefined,
  left: () => 700,
  limited: () => undefined,
  slowness: () => ({ blockedMs: 0, pace: 1 }),
};

/** Follows the sandbox's time, which jumps. */
async function followClock(controlUrl: string) {
  let offsetMs = 0;
  const read = async () => {
    offsetMs = Date.parse(await createControls(controlUrl).now()) - Date.now();
  };
  await read();
  const follow = async () => {
    for (;;) {
      await realTime(200, 'a clock is followed');
      await read().catch(() => undefined); // the sandbox may have ended first
    }
  };
  void follow();
  return { read, now: () => Date.now() + offsetMs };
}
