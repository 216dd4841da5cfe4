import { sized } from '@keywarden/testkit';
import { createTestStore } from '@keywarden/testkit/store/test-store';
import { expect, inject, test } from 'vitest';
import { compareDerivations } from '../governance/derivations.ts';
import { govern } from '../governance/live.ts';
import { checkSealed } from './check.ts';
import { simulate } from './simulate.ts';

const runs = sized(30);

/** Runs three seeds at once, because each waits for Postgres part of its time. */
async function eachSeed(first: number, run: (seed: number) => Promise<void>): Promise<void> {
  const seeds = Array.from({ length: runs }, (_, index) => first + index).values();
  const lane = async () => {
    for (const seed of seeds) await run(seed);
  };
  await Promise.all([lane(), lane(), lane()]);
}

test(`A1 to A9: ${runs} archives of a hostile control plane claim nothing that they lack, and are complete a day after it is calm; no day differs from its seal`, async () => {
  const store = await createTestStore(inject('postgresUrl'));
  const daemon = await store.as('keywarden_daemon');
  const total = { claimed: 0, failedPasses: 0 };
  const struck = new Set<string>();
  await eachSeed(1, async (seed) => {
    const result = await simulate({ seed, store: daemon, databaseUrl: store.url, isShort: true, isHostile: true });
    total.claimed += result.claimed;
    total.failedPasses += result.failedPasses;
    for (const kind of result.struck.keys()) struck.add(kind);
  });
  expect(total.claimed).toBeGreaterThan(runs * 50);
  expect(total.failedPasses).toBeGreaterThan(runs / 10);
  expect(struck.size).toBeGreaterThan(Math.min(10, 2 * runs));
  expect(await checkSealed(daemon)).toBeGreaterThan(runs);
  await store.close();
});

test(`R1 to R8, T1, T2: ${runs} companies under a hostile control plane lose no key that they should keep, and the others a day after it is calm; the report shows what the policy judges`, async () => {
  const total = { revoked: 0, rotated: 0, failedPasses: 0, compared: 0, comparedBetween: 0 };
  const struck = new Set<string>();
  await eachSeed(1, async (seed) => {
    const store = await createTestStore(inject('postgresUrl'));
    const end = await govern({
      seed,
      store,
      // That takes as long as the passes themselves.
      ...(seed % 6 === 0
        ? { betweenPasses: async () => void (total.comparedBetween += await compareDerivations(store)) }
        : {}),
    });
    for (const name of ['revoked', 'rotated', 'failedPasses'] as const) total[name] += end[name];
    for (const kind of end.struck.keys()) struck.add(kind);
    const compared = await compareDerivations(store);
    total.compared += compared;
    await store.close();
  });
  expect(total.compared).toBeGreaterThan(runs);
  expect(total.comparedBetween).toBeGreaterThanOrEqual(30 * Math.floor(runs / 6));
  expect(total.revoked).toBeGreaterThanOrEqual(runs / 2);
  expect(total.rotated).toBeGreaterThanOrEqual(runs / 2);
  expect(total.failedPasses).toBeGreaterThan(runs / 10);
  expect(struck.size).toBeGreaterThan(Math.min(10, 2 * runs));
});
