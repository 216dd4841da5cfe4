import { hurried } from '@keywarden/testkit/daemon/fixture';
import { everyKey, pass, prepare, store, useRotateFixture } from '@keywarden/testkit/daemon/rotate-fixture';
import { expect, test } from 'vitest';

useRotateFixture();

test('R10: a store that lost the intent of a mint, but not the mark before its pass, is an older one, and mints no other key', async () => {
  let firstMark: string | null = null;
  /** Loses everything since the pass began, as a standby can that becomes the primary. */
  const fetchAndLose: typeof fetch = async (input, init) => {
    const response = await fetch(input, init);
    if (init?.method !== 'POST' || firstMark === null) return response;
    store.isTampered();
    await store.sql.unsafe('truncate keywarden.rotation cascade');
    await store.sql`delete from keywarden.high_water_mark where number > ${firstMark}`;
    firstMark = null;
    throw new Error('the daemon is killed');
  };
  await prepare(['bot', 'survivor'], { client: { time: hurried, fetch: fetchAndLose } });
  const [newest] = await store.sql`select max(number) + 1 as next from keywarden.high_water_mark`;
  firstMark = String(newest?.next);
  await pass();
  const keys = (await everyKey()).length;
  expect(keys).toBe(3);
  expect(await pass()).toMatchObject({ opened: [], why: expect.stringMatching(/is an older copy/) });
  expect((await everyKey()).length).toBe(keys);
});

test('T2: a mint whose intent the store loses before it is not sent', async () => {
  await prepare(['bot', 'survivor']);
  store.isTampered();
  // The failover comes between the intent and the mark after it.
  await store.sql`create function keywarden.fail_over() returns trigger language plpgsql security definer as
    $$ begin if exists (select from keywarden.rotation_mint) then truncate keywarden.rotation cascade; end if; return null; end $$`;
  await store.sql`create trigger fails_over after insert on keywarden.high_water_mark execute function keywarden.fail_over()`;
  const keys = (await everyKey()).length;
  await pass();
  expect((await everyKey()).length).toBe(keys);
});

test('R10: a mint is not sent if a failover right before its intent has brought an older store', async () => {
  await prepare(['bot', 'survivor']);
  store.isTampered();
  // The store has the intent, and lacks the mark that the pass began with.
  await store.sql`create function keywarden.fail_over() returns trigger language plpgsql security definer as
    $$ begin delete from keywarden.high_water_mark; return null; end $$`;
  await store.sql`create trigger fails_over after insert on keywarden.rotation_mint execute function keywarden.fail_over()`;
  const keys = (await everyKey()).length;
  await pass();
  expect((await everyKey()).length).toBe(keys);
});
