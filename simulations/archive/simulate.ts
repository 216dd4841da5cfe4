import { fork } from 'node:child_process';
import { once } from 'node:events';
import { ControlPlaneError } from '@keywarden/core/client';
import type { Steps } from '@keywarden/daemon';
import type { Store } from '@keywarden/db/store';
import { UserError } from '@keywarden/runtime';
import { createRandom } from '@keywarden/sandbox';
import { copy, crashStdio, createHostileControlPlane, type Mask, realTime } from '@keywarden/testkit';
import { checkArchive, checkCurrent, type Served, type ServedRow, type Tally, versionOf } from './check.ts';
import type { Order } from './crash-process.ts';
import { createScenario, type Scenario } from './scenario.ts';
import { type Subject, syncOnce } from './subject.ts';

export interface Simulation {
  seed: number;
  /** The store in the daemon's role. */
  store: Store;
  databaseUrl: string;
  /** Whether each pass is a process that is killed with kill -9. */
  kills?: boolean;
  /** Whether the run has less history, and only one or two passes before the last. */
  isShort?: boolean;
  /** Whether a hostile control plane that deviates from its description is in between. */
  isHostile?: boolean;
  /** Only these distortions; all by default. */
  only?: readonly string[];
  /** For counter-tests: a mask between the daemon and everything else that hides what a guard checks. */
  mask?: (scenario: Scenario) => Mask;
  /** For counter-tests: steps without a guard. */
  steps?: Steps;
  settleMs?: number;
}

export interface Result extends Tally {
  /** The parts of `claimed` and `unclaimed` from the last check, after a pass that nothing disturbed. */
  claimedAtEnd: number;
  unclaimedAtEnd: number;
  /** Walks that resumed where an earlier pass was cut short. */
  resumedWalks: number;
  passes: number;
  failedPasses: number;
  kills: number;
  /** How often each distortion was applied. */
  struck: Map<string, number>;
}

const minute = 60;
const day = 86_400;

/**
 * Simulates a control plane and its archive, as the seed decides: history, ties, pruning, deletions, transfers and faults. Rows come late or during
 * walks, and passes are cut short. Throws what is wrong, with the seed.
 */
export async function simulate(simulation: Simulation): Promise<Result> {
  const doing: string[] = [];
  try {
    return await live(simulation, doing);
  } catch (error) {
    const what = error instanceof Error ? error.message : String(error);
    const how = simulation.kills ? ' (with kills)' : '';
    throw new Error([`seed ${simulation.seed}${how}: ${what}`, ...doing.slice(-4)].join('\n  '), { cause: error });
  }
}

async function live(
  {
    seed,
    store,
    databaseUrl,
    kills = false,
    isShort = false,
    isHostile = false,
    only,
    mask,
    steps,
    settleMs,
  }: Simulation,
  doing: string[],
): Promise<Result> {
  const random = createRandom(seed);
  const pageLimit = random.pick([2, 3, 10, 50, 100, 1000, random.between(2, 1000)]);
  const scenario = await createScenario({
    seed: seed + 1,
    largestGroup: random.chance(0.15) ? 700 : 20,
    history: Math.min(isShort ? 150 : 600, pageLimit * 10),
    hasReplicas: isHostile,
    isFrozen: isHostile,
  });
  const { url, adminKey: apiKey } = scenario.sandbox;
  const subject: Subject = {
    name: `simulation-${seed}`,
    url,
    apiKey,
    pageLimit,
    ...(settleMs === undefined ? {} : { settleMs }),
  };
  const masked = mask?.(scenario) ?? ((fetch) => fetch);
  const served: Served = new Map();
  let way = scenario.fetch;
  const hostile = createHostileControlPlane({
    random,
    now: scenario.now,
    forward: async (input, init) => await way(input, init),
    topics: ['identity', 'organizations', 'projects', 'operations', 'operation'],
    ...(only === undefined ? {} : { only }),
  });
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
    struck: hostile.struck,
  };
  const check = async () => {
    const tally = await checkArchive(store, scenario, kills ? null : served);
    for (const key of ['checks', 'claimed', 'unclaimed', 'versions'] as const) result[key] += tally[key];
    [result.claimedAtEnd, result.unclaimedAtEnd] = [tally.claimed, tally.unclaimed];
  };
  /** Makes one pass, during which the scenario is disturbed between requests. */
  const sync = async ({ disturbance, abort, abortAfter }: Disturbed): Promise<number> => {
    way = disturbed(scenario, { disturbance, abort, abortAfter });
    const fetch = noting(served, isHostile ? masked(hostile.fetch) : way);
    const time = isHostile ? { time: { now: scenario.now, sleep: scenario.sleep } } : {};
    return await syncOnce(store, subject, { signal: abort.signal, fetch, ...time, ...(steps ? { steps } : {}) });
  };
  try {
    const passes = isHostile ? random.between(2, 5) : random.between(1, isShort ? 2 : 3);
    for (let pass = 0; pass < passes; pass += 1) {
      await scenario.live(random.pick([minute, 20 * minute, 3600, day, 10 * day, 100 * day]));
      if (isHostile) {
        way = scenario.fetch;
        await hostile.refresh();
        hostile.worsen();
        doing.push(`pass ${pass}: ${hostile.describe()}`);
        await scenario.live(random.below(4 * minute));
      }
      const isArmed = random.chance(0.4);
      if (isArmed) await scenario.breakSomething();
      const abort = new AbortController();
      const disturbance = random.pick([0, 0.1, 0.4]);
      const abortAfter = random.chance(0.3) ? random.below(30) : null;
      result.passes += 1;
      if (kills) {
        result.kills += Number(await killedSync({ databaseUrl, subject }, random.below(250)));
      } else {
        result.resumedWalks += await sync({ disturbance, abort, abortAfter }).catch((error: unknown) => {
          const isTroubled = isArmed || isHostile || abort.signal.aborted;
          const isExpected = isForeseen(error) ? isTroubled : isAbort(error, abort.signal);
          if (!isExpected && steps === undefined) throw error;
          result.failedPasses += 1;
          return 0;
        });
      }
      await scenario.controls.setFaults([]);
      await check();
    }
    hostile.calm();
    doing.push('calm');
    const undisturbed = async () => await sync({ disturbance: 0, abort: new AbortController(), abortAfter: null });
    // A later walk of the same day fetches what a resumed walk leaves out. A walk of the next day fetches the gaps that were searched.
    if (isHostile) await undisturbed();
    await scenario.sleep(isHostile ? day * 1000 : 3_600_000);
    const passBeganAt = new Date(scenario.now()).toISOString();
    result.resumedWalks += await undisturbed();
    await check();
    if (settleMs === undefined && steps === undefined)
      await checkCurrent(store, scenario, { pageLimit, passBeganAt, isHostile });
    return result;
  } finally {
    await scenario.close();
  }
}

/** Returns whether an error is an expected result of control-plane faults; any other error is a defect of ours. */
function isForeseen(error: unknown): boolean {
  return error instanceof UserError || error instanceof ControlPlaneError;
}

function isAbort(error: unknown, { aborted, reason }: AbortSignal): boolean {
  return aborted && (error === reason || (error instanceof Error && error.name === 'AbortError'));
}

interface Disturbed {
  /** The chance of an event between two requests. */
  disturbance: number;
  abort: AbortController;
  /** The number of requests after which the pass is cut short. */
  abortAfter: number | null;
}

/** Disturbs the scenario between requests, and cuts the pass short after the configured number of requests. */
function disturbed(scenario: Scenario, { disturbance, abort, abortAfter }: Disturbed): typeof fetch {
  let requests = 0;
  return async (input, init) => {
    requests += 1;
    if (requests === abortAfter) abort.abort();
    if (scenario.random.chance(disturbance)) await scenario.disturb();
    return await scenario.fetch(input, init);
  };
}

/** Records what is served. */
function noting(served: Served, way: typeof fetch): typeof fetch {
  return async (input, init) => {
    const response = await way(input, init);
    const url = input instanceof Request ? input.url : input.toString();
    if (!url.includes('/operations') || !response.ok) return response;
    const text = await response.text();
    note(served, text);
    return copy(response, text);
  };
}

function note(served: Served, text: string): void {
  let page: { operations?: ServedRow[]; operation?: ServedRow } | null;
  try {
    page = JSON.parse(text) as typeof page;
  } catch {
    return; // a response that cannot be stored
  }
  for (const row of page?.operations ?? (page?.operation ? [page.operation] : [])) {
    const versions = served.get(row.id) ?? new Set();
    served.set(row.id, versions.add(versionOf(row)));
  }
}

/** Makes a pass in a separate process and ends it with kill -9 after some ms. Returns whether it was still running then. */
async function killedSync(order: Order, afterMs: number): Promise<boolean> {
  const child = fork(new URL('crash-process.ts', import.meta.url), { stdio: crashStdio() });
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
