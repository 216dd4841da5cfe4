import { fork } from 'node:child_process';
import { once } from 'node:events';
import { ControlPlaneError } from '@keywarden/core/client';
import { UserError } from '@keywarden/core/process';
import type { Store } from '@keywarden/db/store';
import { createRandom } from '@keywarden/sandbox';
import { crashStdio, realTime } from '@keywarden/testkit';
import type { Steps } from '../sync/project-operations.ts';
import { checkArchive, checkCurrent, type Served, type ServedRow, type Tally, versionOf } from './check.ts';
import { type Subject, syncOnce } from './subject.ts';
import type { Order } from './victim.ts';
import { createWorld, type World } from './world.ts';

export interface Simulation {
  seed: number;
  /** As the daemon's role. */
  store: Store;
  databaseUrl: string;
  /** A process that syncs is killed with kill -9 in each pass. */
  kills?: boolean;
  /** Less history, and one pass or two before the last. */
  isShort?: boolean;
  /** For twins: without a guard. */
  steps?: Steps;
  settleMs?: number;
}

export interface Result extends Tally {
  /** Of `claimed` and `unclaimed`, those of the last check, after a pass that nothing disturbed. */
  claimedAtEnd: number;
  unclaimedAtEnd: number;
  /** Walks that went on where an earlier pass was cut short. */
  resumedWalks: number;
  passes: number;
  failedPasses: number;
  kills: number;
}

const minute = 60;
const day = 86_400;

/**
 * One life of a control plane and its archive, decided by the seed: history, ties, late rows, rows that come while walks go on, pruning,
 * deletions, transfers, faults, and passes that are cut short. Throws what is wrong, with the seed.
 */
export async function simulate(simulation: Simulation): Promise<Result> {
  try {
    return await live(simulation);
  } catch (error) {
    throw new Error(
      `seed ${simulation.seed}${simulation.kills ? ' (with kills)' : ''}: ${error instanceof Error ? error.message : String(error)}`,
      {
        cause: error,
      },
    );
  }
}

async function live({
  seed,
  store,
  databaseUrl,
  kills = false,
  isShort = false,
  steps,
  settleMs,
}: Simulation): Promise<Result> {
  const random = createRandom(seed);
  const pageLimit = random.pick([2, 3, 10, 50, 100, 1000, random.between(2, 1000)]);
  const world = await createWorld({
    seed: seed + 1,
    largestGroup: random.chance(0.15) ? 700 : 20,
    history: Math.min(isShort ? 150 : 600, pageLimit * 10),
  });
  const { url, adminKey: apiKey } = world.sandbox;
  const subject: Subject = {
    name: `simulation-${seed}`,
    url,
    apiKey,
    pageLimit,
    ...(settleMs === undefined ? {} : { settleMs }),
  };
  const served: Served = new Map();
  const result: Result = {
    checks: 0,
    claimed: 0,
    unclaimed: 0,
    versions: 0,
    claimedAtEnd: 0,
    unclaimedAtEnd: 0,
    resumedWalks: 0,
    passes: 0,
    failedPasses: 0,
    kills: 0,
  };
  const check = async () => {
    const tally = await checkArchive(store, world, kills ? null : served);
    for (const key of ['checks', 'claimed', 'unclaimed', 'versions'] as const) result[key] += tally[key];
    [result.claimedAtEnd, result.unclaimedAtEnd] = [tally.claimed, tally.unclaimed];
  };
  try {
    const passes = random.between(1, isShort ? 2 : 3);
    for (let pass = 0; pass < passes; pass += 1) {
      await world.live(random.pick([minute, 20 * minute, 3600, day, 10 * day, 100 * day]));
      const isArmed = random.chance(0.4);
      if (isArmed) await world.breakSomething();
      const abort = new AbortController();
      const fetch = watchedFetch(world, {
        served,
        disturbance: random.pick([0, 0.1, 0.4]),
        abort,
        abortAfter: random.chance(0.3) ? random.below(30) : null,
      });
      result.passes += 1;
      if (kills) {
        result.kills += Number(await killedSync({ databaseUrl, subject }, random.below(250)));
      } else {
        const options = { signal: abort.signal, fetch, ...(steps ? { steps } : {}) };
        const resumed = await syncOnce(store, subject, options).catch((error: unknown) => {
          const isExpected = isForeseen(error) ? isArmed || abort.signal.aborted : isAbort(error, abort.signal);
          if (!isExpected && steps === undefined) throw error;
          result.failedPasses += 1;
          return 0;
        });
        result.resumedWalks += resumed;
      }
      await world.control('PUT', 'faults', []);
      await check();
    }
    const { now: passBeganAt } = await world.control<{ now: string }>('POST', 'clock', { advance_seconds: 3600 });
    const fetch = watchedFetch(world, { served, disturbance: 0, abort: new AbortController(), abortAfter: null });
    result.resumedWalks += await syncOnce(store, subject, { fetch, ...(steps ? { steps } : {}) });
    await check();
    if (settleMs === undefined && steps === undefined) await checkCurrent(store, world, { pageLimit, passBeganAt });
    return result;
  } finally {
    await world.close();
  }
}

/** What faults of the control plane come to; anything else is a defect of ours. */
function isForeseen(error: unknown): boolean {
  return error instanceof UserError || error instanceof ControlPlaneError;
}

function isAbort(error: unknown, { aborted, reason }: AbortSignal): boolean {
  return aborted && (error === reason || (error instanceof Error && error.name === 'AbortError'));
}

/** Notes what is served, disturbs the world between requests, and cuts the pass short after so many. */
function watchedFetch(
  world: World,
  {
    served,
    disturbance,
    abort,
    abortAfter,
  }: { served: Served; disturbance: number; abort: AbortController; abortAfter: number | null },
): typeof fetch {
  let requests = 0;
  return async (input, init) => {
    requests += 1;
    if (requests === abortAfter) abort.abort();
    if (world.random.chance(disturbance)) await world.disturb();
    const response = await fetch(input, init);
    const url = input instanceof Request ? input.url : input.toString();
    if (!url.includes('/operations') || !response.ok) return response;
    const text = await response.text();
    note(served, text);
    return new Response(text, { status: response.status, headers: response.headers });
  };
}

function note(served: Served, text: string): void {
  const { operations, operation } = JSON.parse(text) as { operations?: ServedRow[]; operation?: ServedRow };
  for (const row of operations ?? (operation ? [operation] : [])) {
    const versions = served.get(row.id) ?? new Set();
    served.set(row.id, versions.add(versionOf(row)));
  }
}

/** A pass in a process of its own, ended with kill -9 after some ms. Answers whether it was still alive then. */
async function killedSync(order: Order, afterMs: number): Promise<boolean> {
  const child = fork(new URL('victim.ts', import.meta.url), { stdio: crashStdio() });
  const ended = once(child, 'exit');
  await once(child, 'message'); // ready
  const begun = once(child, 'message');
  child.send(order);
  await Promise.race([begun, ended]);
  await Promise.race([realTime(afterMs, 'the kill may come at any moment of the pass'), ended]);
  const isAlive = child.exitCode === null;
  child.kill('SIGKILL');
  await ended;
  return isAlive;
}
