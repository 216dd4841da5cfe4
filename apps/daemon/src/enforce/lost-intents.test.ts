import {
  apply,
  enforced,
  fixture,
  makeStoredPlan,
  openIncidents,
  pass,
  prepare,
  revokedNames,
  store,
  useApplyFixture,
} from '@keywarden/testkit/daemon/apply-fixture';
import { plain, prepareBetween, setBetween } from '@keywarden/testkit/daemon/between-fixture';
import { hurried } from '@keywarden/testkit/daemon/fixture';
import { expect, test } from 'vitest';
import { armMachine } from './high-water-mark.ts';

useApplyFixture();

/** A failover to a standby that lacks everything since the pass began: its first mark is the last row that the standby has. */
async function loseIntents(): Promise<void> {
  store.isTampered();
  await store.sql`alter table keywarden.revocation_intent disable trigger user`;
  await store.sql`alter table keywarden.revocation_outcome disable trigger user`;
  await store.sql`delete from keywarden.revocation_outcome`;
  await store.sql`delete from keywarden.revocation_intent`;
  await store.sql`delete from keywarden.high_water_mark where number > ${firstMark}`;
}

let firstMark = '';

test('R10: a store that lost the intent of a call, but not the mark before its pass, is an older one', async () => {
  let dies = false;
  const client = {
    time: hurried,
    fetch: (async (input, init) => {
      const response = await fetch(input, init);
      if (init?.method !== 'DELETE' || !dies) return response;
      dies = false;
      await loseIntents();
      throw Object.assign(new Error('the server failed over'), { code: 'CONNECTION_CLOSED' });
    }) as typeof fetch,
  };
  await prepare(['one', 'two', 'busy'], { policy: enforced(), client });
  await armMachine(fixture.context, 'ada');
  await pass();
  dies = true;
  const [row] = await store.sql`select max(number) + 1 as next from keywarden.high_water_mark`;
  firstMark = String(row?.next);
  await pass();
  expect(await revokedNames()).toEqual(['one']);
  const next = await pass();
  expect(next).toMatchObject({ automatic: null, why: expect.stringMatching(/is an older copy/) });
  expect(await openIncidents()).toEqual(['high_water_mark']);
  expect(await revokedNames()).toEqual(['one']);
});

test('R4: a call whose intent the store loses before it is not sent', async () => {
  await prepare(['one', 'busy'], { policy: enforced() });
  await armMachine(fixture.context, 'ada');
  await pass();
  store.isTampered();
  await store.sql`alter table keywarden.revocation_intent disable trigger user`;
  // The failover comes between the intent and the mark after it.
  await store.sql`create function keywarden.fail_over() returns trigger language plpgsql security definer as
    $$ begin delete from keywarden.revocation_intent; return null; end $$`;
  await store.sql`create trigger fails_over after insert on keywarden.high_water_mark execute function keywarden.fail_over()`;
  expect(await pass()).toMatchObject({
    automatic: { stopped: expect.stringMatching(/has lost the intent/), hasStoreFailed: true },
  });
  expect(await revokedNames()).toEqual([]);
});

test('R10: a call is not sent if a failover right before its intent has brought an older store', async () => {
  await prepare(['one', 'busy'], { policy: enforced() });
  await armMachine(fixture.context, 'ada');
  await pass();
  store.isTampered();
  // The store has the intent, and lacks the mark that the pass began with.
  await store.sql`create function keywarden.fail_over() returns trigger language plpgsql security definer as
    $$ begin delete from keywarden.high_water_mark; return null; end $$`;
  await store.sql`create trigger fails_over after insert on keywarden.revocation_intent execute function keywarden.fail_over()`;
  await pass();
  expect(await openIncidents()).toEqual(['high_water_mark']);
  expect(await revokedNames()).toEqual([]);
  const outcomes = await store.sql`select outcome from keywarden.revocation_outcome`;
  expect(outcomes.map(({ outcome }) => String(outcome))).toEqual(['not_revoked']);
});

test.each([
  ['no folder', '/proc/keywarden'],
  ['a folder that takes no file', '/proc/self'],
])(
  'R4: an apply whose machine has %s for its mark any more stops before the next call, and reports what it revoked',
  async (_what, other) => {
    await prepareBetween(['one', 'two', 'busy']);
    const plan = await makeStoredPlan();
    const { environment } = fixture.context;
    const folder = environment.KEYWARDEN_DATA;
    setBetween(async ({ method }, forward) => {
      const response = await forward();
      if (method === 'DELETE') environment.KEYWARDEN_DATA = other;
      return response;
    });
    const applied = await apply(plan);
    expect(applied.stopped).toMatch(/ cannot be written \(E\w+\); /);
    expect(applied.items.map(({ outcome }) => outcome)).toEqual(['revoked', 'unknown']);
    expect(await revokedNames()).toHaveLength(1);
    environment.KEYWARDEN_DATA = folder;
    setBetween(plain);
  },
);
