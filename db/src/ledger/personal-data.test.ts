import { fillEveryTable } from '@keywarden/testkit/store/fill-every-table';
import { createTestStore, type TestStore } from '@keywarden/testkit/store/test-store';
import { afterAll, beforeAll, expect, inject, test } from 'vitest';
import type { Sql } from '../sql.ts';
import type { Store } from '../store.ts';

let store: TestStore;
let report: Store;
beforeAll(async () => {
  store = await createTestStore(inject('postgresUrl'));
  report = await store.as('keywarden_report');
  await store.sql.begin(async (tx) => void (await fillEveryTable(tx as unknown as Sql, 'ada')));
});
afterAll(async () => await store.close());

/** Returns what the report reads of the first event about a row. */
async function personalDataOf(type: string, subject: string): Promise<unknown> {
  const [row] = await report.sql`
    select keywarden.personal_data_of(number) as data from keywarden.ledger_event
    where type = ${type} and subject = ${subject} order by number limit 1`;
  return row?.data;
}

test('the report reads the personal data of each event, but never the hash of a token', async () => {
  const events = await report.sql`
    select type, array(select jsonb_object_keys(keywarden.personal_data_of(number))) as names from keywarden.ledger_event where leaf like '{%'`;
  const kinds = await store.sql`select kind, personal from keywarden.ledger_kinds()`;
  const personalOf = new Map(kinds.map(({ kind, personal }) => [kind, personal as string[]]));
  expect(new Set(events.map(({ type }) => type)).size).toBeGreaterThan(30);
  for (const { type, names } of events)
    expect((names as string[]).toSorted(), `data of ${String(type)}`).toEqual(
      personalOf
        .get(type)
        ?.filter((name) => name !== 'token_hash')
        .toSorted(),
    );
});

test('personal data is that of the row of its event alone, as the row has it now', async () => {
  const [{ rotation } = {}] = await store.sql`select rotation_number::text as rotation from keywarden.rotation_event`;
  const of = (sequence: number) => `rotation_event/${String(rotation)}/${sequence}`;
  await store.sql`
    insert into keywarden.rotation_event (rotation_number, sequence, state, at, why)
    select rotation_number, s, state, at, 'step ' || s from keywarden.rotation_event, unnest('{101,102}'::int[]) s`;
  expect(await personalDataOf('rotation.moved', of(101))).toEqual({ why: 'step 101' });
  expect(await personalDataOf('rotation.moved', of(102))).toEqual({ why: 'step 102' });
});

test('a row without a value, or without itself, has no personal data', async () => {
  const [pause] = await store.sql`
    insert into keywarden.pause (paused_by, resumed_at) values ('ada', now()) returning number::text`;
  const subject = `pause/${String(pause?.number)}`;
  expect(await personalDataOf('pause.ended', subject)).toEqual({});
  expect(await personalDataOf('pause.begun', subject)).toEqual({ paused_by: 'ada' });
  await store.sql`delete from keywarden.operation_drop`;
  const [event] = await store.sql`select subject from keywarden.ledger_event where type = 'retention.dropped'`;
  expect(await personalDataOf('retention.dropped', String(event?.subject))).toEqual({});
});

test('each event with personal data has a salt of its own, and no other event has one', async () => {
  const events = await store.sql`
    select e.type, count(*) = count(distinct s.salt) as has_own, k.personal <> '{}' as is_personal
    from keywarden.ledger_event e join keywarden.ledger_kinds() k on k.kind = e.type
      left join keywarden.ledger_salt s on s.event_number = e.number
    where e.leaf like '{%' and e.content <> '{"deleted":"true"}' group by e.type, k.personal`;
  expect(events.filter((event) => event.has_own !== event.is_personal)).toEqual([]);
  const [all] = await store.sql`select count(*) = count(distinct salt) as differ from keywarden.ledger_salt`;
  expect(all?.differ).toBe(true);
});
