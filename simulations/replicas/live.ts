import { jobKinds } from '@keywarden/runtime';
import { parseConfig } from '@keywarden/runtime/config';
import { createRandom, createSandbox, documentedLimits, type Random } from '@keywarden/sandbox';
import { realTime, until } from '@keywarden/testkit';
import { neverUsedRule } from '@keywarden/testkit/daemon/fixture';
import { createControls } from '@keywarden/testkit/sandbox/controls';
import type { TestStore } from '@keywarden/testkit/store/test-store';
import { Cron } from 'croner';
import { checkSimulation, type Lived, type Scene } from './check.ts';
import { type Fleet, startFleet } from './fleet.ts';
import { startReceiver } from './receiver.ts';

export interface Life {
  store: TestStore;
  seed: number;
  replicas: number;
  /** Simulated days. */
  days: number;
  /** Ends earlier, after this many real minutes. */
  minutes?: number;
  /** How many times a replica is killed during the run. */
  kills: number;
  /** The number of projects. One more than a route's burst makes each pass wait for permits. */
  projects?: number;
  /** Counts no requests: for a test's counter-test. */
  isUnlimited?: boolean;
  /** Called after each simulated day. */
  onDay?: (day: number, fleet: Fleet) => Promise<void>;
  nodeOptions?: string[];
}

const dayMs = 86_400_000;
const { schedules } = parseConfig('{}', 'no file');
const crons = jobKinds.map((kind) => [kind, new Cron(schedules[kind], { paused: true, timezone: 'UTC' })] as const);

/** Notifications, a canary and revocations, all within days. */
const policy = {
  enforcement: { organizations: { '*': { mode: 'enforce' } }, canary_wait: '1h' },
  rules: [{ ...neverUsedRule, mode: 'enforce', notices: ['2d', '1d'] }],
};

/** Limits that replicas without a limiter exceed on a slow machine too. Faster ones exceed the documented limits. */
const reachableLimits = { ...documentedLimits, per_second_per_route: 10 };

/**
 * Runs replicas through simulated days of schedules beside a sandbox with rate limits. The clock advances to each time of a schedule, and all
 * replicas tick at once. The next time follows when the work is done.
 */
export async function live({
  store,
  seed,
  replicas,
  days,
  minutes,
  kills,
  onDay,
  nodeOptions,
  projects: count = 9,
  isUnlimited = false,
}: Life): Promise<Lived> {
  const random = createRandom(seed);
  const sandbox = await createSandbox({ limits: isUnlimited ? reachableLimits : documentedLimits });
  const receiver = await startReceiver();
  const controls = createControls(sandbox.controlUrl);
  await controls.generate({ organizations: 3, projects: count, keys: 60, operations: 2000, months: 8, seed });
  // The work of a killed replica is taken over sooner than in production.
  await store.sql`update keywarden_jobs.queue set heartbeat_seconds = 10, retry_delay = 1, retry_backoff = false`;
  const { url, adminKey: apiKey, controlUrl } = sandbox;
  const connection = { name: 'main', url, identity: url, apiKey, keyId: '1', keyFile: null, share: 0.9 };
  const order = { databaseUrl: store.url, connection, channels: [receiver.channel], policy, controlUrl, isUnlimited };
  const fleet = await startFleet(replicas, order, { nodeOptions: nodeOptions ?? process.execArgv });
  const scene: Scene = { store, sandbox, receiver, fleet, controls, times: new Map(), beganMs: 0, kills: 0 };
  // One answer shows the harm, and replicas that go on would wait after each.
  const isOver = async () => isUnlimited && (await controls.stats()).rate_limited > 0;
  try {
    await settled(store, isOver);
    const projects = await controls.projects();
    const beganMs = await nowMs(scene);
    scene.beganMs = beganMs;
    const stopAtMs = performance.now() + (minutes ?? Number.POSITIVE_INFINITY) * 60_000;
    const killsAt = Array.from({ length: kills }, () => beganMs + random.next() * days * dayMs);
    let day = 0;
    for (
      let atMs = beganMs;
      atMs < beganMs + days * dayMs && performance.now() < stopAtMs && !(await isOver());
      atMs = await goOn(scene, atMs)
    ) {
      await addWork(scene, random, projects);
      if (killsAt.some((killMs) => killMs <= atMs)) {
        killsAt.splice(
          killsAt.findIndex((killMs) => killMs <= atMs),
          1,
        );
        // At a random point of the work that the tick has started.
        await realTime(random.below(120), 'the kill may come at any moment of the work');
        await fleet.kill(random.below(replicas));
        scene.kills += 1;
      }
      await settled(store, isOver);
      if (Math.floor((atMs - beganMs) / dayMs) > day) {
        day += 1;
        await onDay?.(day, fleet);
      }
    }
    await settled(store, isOver);
    return await checkSimulation(scene, { days: ((await nowMs(scene)) - beganMs) / dayMs });
  } finally {
    await fleet.close();
    await receiver.close();
    await sandbox.close();
  }
}

/**
 * Advances to the next time of any schedule after the last one, and lets all replicas tick. It does so even if the clock has already reached that
 * time.
 */
async function goOn(scene: Scene, from: number): Promise<number> {
  const next = crons.map(
    ([kind, cron]) => [kind, cron.nextRun(new Date(from))?.getTime() ?? Number.POSITIVE_INFINITY] as const,
  );
  const atMs = Math.min(...next.map(([, time]) => time));
  for (const [kind, time] of next) if (time === atMs) scene.times.set(kind, [...(scene.times.get(kind) ?? []), atMs]);
  const aheadMs = atMs + 1000 - (await nowMs(scene));
  if (aheadMs > 0) await scene.controls.advance(aheadMs / 1000);
  // A tick may fall between two reads of the clock: replicas tick until the time was processed.
  await until(async () => {
    scene.fleet.tick();
    const [taken] = await scene.store.sql`
      select count(distinct schedule)::int as schedules from keywarden.schedule_slot where slot_at = to_timestamp(${atMs / 1000})`;
    return taken?.schedules === next.filter(([, time]) => time === atMs).length;
  });
  return atMs;
}

async function nowMs({ controls }: Pick<Scene, 'controls'>): Promise<number> {
  return Date.parse(await controls.now());
}

/** Adds new operations to some projects; some stay in progress for a while. */
async function addWork({ controls }: Scene, random: Random, projects: { id: string }[]): Promise<void> {
  const groups = [
    {
      count: random.between(1, 4),
      age_seconds: random.below(240),
      late_seconds: 0,
      going_on_seconds: random.chance(0.2) ? 5000 : 0,
    },
  ];
  await controls.addOperations(random.pick(projects).id, groups);
}

/** Waits until no job is waiting or running, or the simulation is over. */
async function settled({ sql }: TestStore, isOver: () => Promise<boolean>): Promise<void> {
  await until(
    async () => {
      const [row] =
        await sql`select count(*)::int as jobs from keywarden_jobs.job where name <> 'failed' and state <= 'active'`;
      return row?.jobs === 0 || (await isOver());
    },
    { everyMs: 15, what: 'all jobs to end' },
  );
}
