import { guardedSteps, type Steps, type WalkedPage, walkOperations } from '@keywarden/daemon';
import { saveOperationPage } from '@keywarden/db/daemon';
import type { Store } from '@keywarden/db/store';
import { sized } from '@keywarden/testkit';
import { createTestStore, type TestStore } from '@keywarden/testkit/store/test-store';
import { afterAll, beforeAll, expect, inject, test } from 'vitest';
import { checkSealed } from './check.ts';
import { type Simulation, simulate } from './simulate.ts';

const runs = sized(100);
const killedRuns = sized(6);
/** The most runs of a counter-test: if none of them loses a row, it does not show what its guard prevents. */
const counterTestRuns = 60;

let store: TestStore;
let daemon: Store;
beforeAll(async () => {
  store = await createTestStore(inject('postgresUrl'));
  daemon = await store.as('keywarden_daemon');
});
afterAll(async () => await store.close());

const run = async (simulation: Omit<Simulation, 'store' | 'databaseUrl'>) =>
  await simulate({ ...simulation, store: daemon, databaseUrl: store.url });

test(`A1 to A9: ${runs} seeded simulations of a control plane and its archive; what coverage claims is stored as it was served, and as it is sealed`, async () => {
  const total = { claimed: 0, resumedWalks: 0, failedPasses: 0 };
  let mostlyClaimed = 0;
  const seeds = Array.from({ length: runs }, (_, index) => index + 1).values();
  const lane = async () => {
    for (const seed of seeds) {
      const result = await run({ seed, isShort: true });
      if (result.claimedAtEnd > result.unclaimedAtEnd) mostlyClaimed += 1;
      for (const name of ['claimed', 'resumedWalks', 'failedPasses'] as const) total[name] += result[name];
    }
  };
  await Promise.all([lane(), lane(), lane()]);
  // The simulation would prove nothing if coverage claimed hardly anything, or if nothing ever failed.
  expect(mostlyClaimed).toBeGreaterThan(runs / 2);
  expect(total.failedPasses).toBeGreaterThan(runs / 50);
  expect(total.resumedWalks).toBeGreaterThan(0);
  expect(await checkSealed(daemon)).toBeGreaterThan(runs);
});

test(`A3: ${killedRuns} simulations in which each pass is a process that is killed with kill -9`, async () => {
  const total = { kills: 0, resumedWalks: 0 };
  for (let seed = 1_000_001; seed <= 1_000_000 + killedRuns; seed += 1) {
    const { kills, resumedWalks } = await run({ seed, isShort: true, kills: true });
    total.kills += kills;
    total.resumedWalks += resumedWalks;
  }
  expect(total.kills).toBeGreaterThan(0);
  expect(await checkSealed(daemon)).toBeGreaterThan(killedRuns);
});

/** Returns the first loss in seeded runs without a guard, or null. Each counter-test has its own seeds, because projects are named by them. */
async function firstLoss(first: number, change: { steps?: Steps; settleMs?: number }): Promise<string | null> {
  for (let seed = first; seed < first + counterTestRuns; seed += 1) {
    try {
      await run({ seed, isShort: true, ...change });
    } catch (error) {
      const message = error instanceof Error ? error.message : String(error);
      if (message.includes('claims')) return message;
    }
  }
  return null;
}

test('A8, counter-test: coverage up to the very start of a walk claims late rows that are not stored', async () => {
  expect(await firstLoss(2_000_000, { settleMs: 0 })).toMatch(/claims .* and lacks operation/);
});

test('A2, counter-test: a walk that follows cursors alone and takes the instants between pages as proved loses rows', async () => {
  expect(await firstLoss(3_000_000, { steps: { ...guardedSteps, walkOperations: naiveWalk } })).toMatch(
    /claims .* and lacks operation/,
  );
});

test('A3, counter-test: if the proof commits before the rows, a process that ends in between leaves claims without rows', async () => {
  let pages = 0;
  const steps: Steps = {
    ...guardedSteps,
    async saveOperationPage(sql, page) {
      await saveOperationPage(sql, { ...page, operations: [] });
      pages += 1;
      if (pages % 7 === 0) throw new Error('the process ends here');
      return await saveOperationPage(sql, { project: page.project, operations: page.operations });
    },
  };
  expect(await firstLoss(4_000_000, { steps })).toMatch(/claims .* and lacks operation/);
});

/** Walks by cursors alone: each page is taken to prove its last instant too. */
async function* naiveWalk(
  client: Parameters<typeof walkOperations>[0],
  walk: Parameters<typeof walkOperations>[1],
): AsyncGenerator<WalkedPage> {
  let cursor: string | undefined;
  let below: string | null = null;
  let beganAt: string | undefined;
  for (;;) {
    const page = await client.operationsPage(walk.projectId, { limit: walk.maxLimit, cursor, signal: walk.signal });
    const answeredAt = walk.datedAt(page, walk.now());
    beganAt ??= answeredAt;
    const last = page.items.at(-1)?.createdAt;
    const isEnd = page.cursor === null || last === undefined;
    const reached: string = last ?? below ?? beganAt;
    const place: WalkedPage['resumeAt'] = isEnd ? null : { cursor: page.cursor ?? '', below: justAbove(reached) };
    yield {
      operations: page.items,
      rejected: [],
      unread: [],
      isWhole: true,
      beganAt,
      answeredAt,
      floor: null,
      below,
      isEnd,
      isDone: isEnd,
      resumeAt: place,
      reached,
      provedFrom: reached,
      unprovedAt: null,
    };
    if (place === null) return;
    cursor = place.cursor;
    below = place.below;
  }
}

/** Returns the time one microsecond later, so that the instant itself is inside. */
function justAbove(at: string): string {
  const micros = Number((/\.(\d+)/.exec(at)?.[1] ?? '').padEnd(6, '0').slice(0, 6)) + 1;
  const carry = micros === 1_000_000 ? 1000 : 0;
  const seconds = new Date(Date.parse(`${at.slice(0, 19)}Z`) + carry).toISOString().slice(0, 19);
  return `${seconds}.${String(micros % 1_000_000).padStart(6, '0')}Z`;
}
