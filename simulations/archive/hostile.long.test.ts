import type { Store } from '@keywarden/db/store';
import { masks } from '@keywarden/testkit';
import { createTestStore, type TestStore } from '@keywarden/testkit/store/test-store';
import { afterAll, beforeAll, expect, inject, test } from 'vitest';
import { type GovernSimulation, govern } from '../governance/live.ts';
import { type Simulation, simulate } from './simulate.ts';

// Counter-tests of the hostile control plane: each disables one guard, and must find harm.
// A run begins with a seed that finds it. If that seed no longer does after a change of the code, the next ones are tried.

const mostRuns = 500;

let store: TestStore;
let daemon: Store;
beforeAll(async () => {
  store = await createTestStore(inject('postgresUrl'));
  daemon = await store.as('keywarden_daemon');
});
afterAll(async () => await store.close());

/** Returns the first harm in this many seeds, or that there was none. */
async function firstHarm(run: (seed: number) => Promise<unknown>, first: number, isHarm: RegExp): Promise<string> {
  for (let seed = first; seed < first + mostRuns; seed += 1) {
    try {
      await run(seed);
    } catch (error) {
      const message = error instanceof Error ? error.message : String(error);
      if (isHarm.test(message)) return message;
    }
  }
  return `no harm in ${mostRuns} runs`;
}

type ArchiveChange = Pick<Simulation, 'only' | 'mask'>;
const falseClaim = /claims .* and lacks operation|which never existed/;

test.each<[string, number, ArchiveChange]>([
  ['the age of answers', 1_000_001, { only: ['cache'], mask: ({ now }) => masks.hideAge(now) }],
  ['empty pages with cursors', 2_000_001, { only: ['empty pages'], mask: () => masks.hideCursorsOfEmptyPages }],
  ['lists that end at round numbers', 3_000_033, { only: ['capped silently'], mask: () => masks.hideRoundNumbers }],
  ['short pages that differ', 4_000_001, { only: ['dropped'], mask: () => masks.hideDifferences }],
  ['rows of other projects', 5_000_001, { only: ['foreign rows'], mask: () => masks.hideProjects }],
  [
    'impossible times',
    6_000_008,
    { only: ['odd creation'], mask: () => masks.hideImpossibleTimes(['operations'], () => '2026-06-14T00:00:00Z') },
  ],
])(
  'A2, counter-test: without a check of %s the archive claims rows that it does not have',
  async (_what, first, change) => {
    const run = async (seed: number) =>
      await simulate({ seed, store: daemon, databaseUrl: store.url, isShort: true, isHostile: true, ...change });
    expect(await firstHarm(run, first, falseClaim)).toMatch(falseClaim);
  },
);

type GovernChange = Omit<GovernSimulation, 'seed' | 'store'>;
const wrongRevocation = /was revoked at .* and|th within a day/;

test.each<[string, number, GovernChange]>([
  ['R1: the age of answers', 1_000_000, { only: ['cache'], mask: ({ now }) => masks.hideAge(now) }],
  [
    'R1: empty pages with cursors',
    2_000_003,
    { only: ['capped', 'empty pages'], mask: () => masks.hideCursorsOfEmptyPages },
  ],
  ['R1: what makes a key another key', 3_000_003, { only: ['reused ids'], mask: () => masks.hideIdentity() }],
  [
    'R1: impossible creation times',
    4_000_006,
    { only: ['odd creation'], mask: () => masks.hideImpossibleTimes(['keys'], () => '2026-01-01T00:00:00Z') },
  ],
  [
    'R1: what happened before a revocation is sent again',
    5_000_006,
    { only: ['busy'], mask: ({ sleep }) => masks.repeatRevocations(sleep) },
  ],
  [
    'R1: the current members',
    6_000_006,
    { only: ['reordered'], mask: ({ now }) => masks.hideChangesOfMembers(now, 100 * 3_600_000) },
  ],
  [
    'R3: calls that may have been carried out',
    7_000_056,
    {
      only: ['any status', 'contrary answers', 'lost lines', 'redirects'],
      betweenPasses: async ({ sql }) => {
        await sql`update keywarden.revocation_outcome set outcome = 'not_revoked' where outcome = 'failed'`;
        await sql`
          insert into keywarden.revocation_outcome (intent_number, outcome)
          select number, 'not_revoked' from keywarden.revocation_intent i
          where not exists (select from keywarden.revocation_outcome o where o.intent_number = i.number)`;
      },
    },
  ],
])('%s: without a check of it a key is wrongly revoked', async (_what, first, change) => {
  const run = async (seed: number) => {
    const own = await createTestStore(inject('postgresUrl'));
    try {
      await govern({ seed, store: own, ...change });
    } finally {
      await own.close();
    }
  };
  expect(await firstHarm(run, first, wrongRevocation)).toMatch(wrongRevocation);
});
