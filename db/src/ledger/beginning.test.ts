import { createTestStore, type TestStore } from '@keywarden/testkit/store/test-store';
import { afterAll, beforeAll, expect, inject, test } from 'vitest';
import { listLedgerRowFaults } from './check.ts';

let store: TestStore;
beforeAll(async () => {
  store = await createTestStore(inject('postgresUrl'));
  await store.sql`
    insert into keywarden.pause (paused_by, resumed_at, resumed_by) select 'ada', now(), 'ada' from generate_series(1, 3)`;
  await store.sql`insert into keywarden.pause (paused_by) values ('ada')`;
  await behindTriggers('truncate keywarden.ledger_event, keywarden.ledger_salt');
  // The first row is not the first in the table's file any more.
  await behindTriggers(`update keywarden.pause set reason = 'a test' where number = 1`);
});
afterAll(async () => await store.close());

const behindTriggers = async (statement: string) =>
  await store.sql
    .unsafe(`set session_replication_role = replica; ${statement}; set session_replication_role = default`)
    .simple();

/** Begins the ledger; returns how many events it says that it added. */
async function begin(): Promise<number> {
  const [row] = await store.sql`select keywarden.begin_ledger()::int as added`;
  return Number(row?.added);
}

const listEvents = async () =>
  await store.sql`
    select e.type, e.subject, s.salt from keywarden.ledger_event e left join keywarden.ledger_salt s on s.event_number = e.number
    order by e.number`;

test('a ledger begins with each row that the store has, in the order of their numbers, and with no end that was not', async () => {
  expect(await begin()).toBe((await listEvents()).length);
  const events = await listEvents();
  const subjectsOf = (kind: string) => events.filter(({ type }) => type === kind).map(({ subject }) => String(subject));
  expect(subjectsOf('pause.begun')).toEqual(['pause/1', 'pause/2', 'pause/3', 'pause/4']);
  expect(subjectsOf('pause.ended')).toEqual(['pause/1', 'pause/2', 'pause/3']);
  expect(subjectsOf('store.migrated').length).toBeGreaterThan(0);
  expect(await listLedgerRowFaults(store.sql)).toEqual([]);
});

test('it begins once: later only the rows that have no event are added', async () => {
  expect(await begin()).toBe(0);
  await behindTriggers(`
    delete from keywarden.ledger_salt where event_number in (select number from keywarden.ledger_event where subject = 'pause/2');
    delete from keywarden.ledger_event where subject = 'pause/2' and type = 'pause.begun'`);
  expect(await begin()).toBe(1);
  expect((await listEvents()).at(-1)).toMatchObject({ type: 'pause.begun', subject: 'pause/2' });
});

test('each event with personal data gets a salt that cannot be guessed, and no other event gets one', async () => {
  await behindTriggers('truncate keywarden.ledger_event, keywarden.ledger_salt');
  await begin();
  const first = await listEvents();
  await behindTriggers('truncate keywarden.ledger_event, keywarden.ledger_salt');
  await begin();
  const events = [...first, ...(await listEvents())];
  const salts = events.flatMap(({ salt }) => (salt === null ? [] : [String(salt)]));
  expect(new Set(salts).size).toBe(2 * 7);
  expect(salts).toHaveLength(2 * 7);
  expect(salts.filter((salt) => !/^[\da-f]{64}$/.test(salt))).toEqual([]);
  expect(new Set(events.filter(({ salt }) => salt === null).map(({ type }) => type))).toEqual(
    new Set(['store.migrated']),
  );
});
