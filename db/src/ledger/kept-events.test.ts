import { fillEveryTable } from '@keywarden/testkit/store/fill-every-table';
import { createTestStore, type TestStore } from '@keywarden/testkit/store/test-store';
import { afterAll, beforeAll, expect, inject, test } from 'vitest';
import type { Sql } from '../sql.ts';
import { listLedgerRowFaults } from './check.ts';

let store: TestStore;
beforeAll(async () => {
  store = await createTestStore(inject('postgresUrl'));
  await store.sql.begin(async (tx) => void (await fillEveryTable(tx as unknown as Sql, 'ada')));
});
afterAll(async () => await store.close());

test('no place can be given to an event but the next one, by the sequencer', async () => {
  const daemon = await store.as('keywarden_daemon');
  await expect(daemon.sql`update keywarden.ledger_event set leaf_index = 9000000000`).rejects.toMatchObject({
    code: '42501',
  });
  const [placed] = await store.sql`select number, leaf_index from keywarden.ledger_event where leaf_index is not null`;
  const next = Number(placed?.leaf_index) + 1;
  const place = async (size: number, ...numbers: unknown[]) =>
    await daemon.sql.unsafe(`select keywarden.place_events(${size}, '{${numbers.join()}}')`);
  const refused = { code: '40001' };
  // Over another event, or after a hole.
  await expect(place(next - 1, 1)).rejects.toMatchObject(refused);
  await expect(place(next + 1, 1)).rejects.toMatchObject(refused);
  // No event, one that has its place, and one that is named twice.
  await expect(place(next, 999_999)).rejects.toMatchObject(refused);
  await expect(place(next, placed?.number)).rejects.toMatchObject(refused);
  await expect(place(next, 1, 1)).rejects.toMatchObject(refused);
  await place(next, 2, 1);
  expect(
    await store.sql`select number::int, leaf_index::int from keywarden.ledger_event where number < 3 order by number`,
  ).toEqual([
    { number: 1, leaf_index: next + 1 },
    { number: 2, leaf_index: next },
  ]);
});

test('the first event gets the first place', async () => {
  const fresh = await createTestStore(inject('postgresUrl'));
  await expect(fresh.sql`select keywarden.place_events(1, '{1}')`).rejects.toMatchObject({ code: '40001' });
  await fresh.sql`select keywarden.place_events(0, '{1}')`;
  await fresh.close();
});

test('rows match their events under any settings of a session of the daemon', async () => {
  const daemon = await store.as('keywarden_daemon');
  await daemon.sql.begin(async (tx) => {
    await tx`set local intervalstyle = iso_8601`;
    await tx`set local datestyle = 'SQL, DMY'`;
    await tx`set local timezone = 'Asia/Kathmandu'`;
    expect(await listLedgerRowFaults(tx)).toEqual([]);
  });
});

test('the time of recording is that of the statement, also in a long transaction', async () => {
  const [project] = await store.sql`select number, project from keywarden.operation_seal`;
  const daemon = await store.as('keywarden_daemon');
  await daemon.sql.begin(async (tx) => {
    await tx`insert into keywarden.pause (paused_by) values ('ada')`;
    await tx`
      insert into keywarden.operation_seal (project_number, project, day, operations, root, covered, gaps)
      select project_number, project, day + 1, operations, root, covered, gaps from keywarden.operation_seal where number = ${project?.number}`;
    expect(
      await tx`
        select type, recorded_at > now() and (leaf::jsonb ->> 'recorded')::timestamptz = recorded_at as is_later
        from keywarden.ledger_event where type in ('pause.begun', 'archive.sealed') order by number desc limit 2`,
    ).toEqual([
      { type: 'archive.sealed', is_later: true },
      { type: 'pause.begun', is_later: true },
    ]);
  });
});

test('the end of a row says only that, and a month that was announced and never dropped has none', async () => {
  await store.sql`
    insert into keywarden.operation_drop (month, operations, bytes, dropped_at, dropped_by)
    values ('2020-01-01', 1, 1, '2026-05-01', 'ada'), ('2020-02-01', 1, 1, null, null)`;
  await store.sql`update keywarden.operation_drop set operations = 2 where month = '2020-02-01'`;
  await store.sql`delete from keywarden.operation_drop where month < '2021-01-01'`;
  const events = await store.sql`
    select e.subject, e.content, e.leaf::jsonb ->> 'actor' as actor, e.leaf::jsonb ->> 'at' = e.leaf::jsonb ->> 'recorded' as is_now, s.salt
    from keywarden.ledger_event e left join keywarden.ledger_salt s on s.event_number = e.number
    where e.subject like 'operation_drop/2020-%' order by e.number`;
  expect(events.slice(1)).toEqual([
    { subject: 'operation_drop/2020-01-01', content: '{"deleted":"true"}', actor: null, is_now: true, salt: null },
  ]);
});

test('no role can change, delete or invent an event, and an event gets its place once', async () => {
  for (const role of ['keywarden_daemon', 'keywarden_report', 'keywarden_admin'] as const) {
    const { sql } = await store.as(role);
    for (const statement of [
      `update keywarden.ledger_event set leaf = 'x'`,
      'delete from keywarden.ledger_event',
      'delete from keywarden.ledger_salt',
      `insert into keywarden.ledger_event (type, subject, leaf, content, recorded_at) values ('x', 'x', 'x', 'x', now())`,
      `select keywarden.append_event('x', '{x,x,x,x}', 'x')`,
    ])
      await expect(sql.unsafe(statement)).rejects.toMatchObject({ code: '42501' });
  }
  // Not even the owner changes one before it has its place.
  for (const change of [
    'number = default',
    `type = 'x'`,
    `subject = 'x'`,
    `leaf = 'x'`,
    `content = 'x'`,
    `recorded_at = now()`,
  ])
    await expect(
      store.sql.unsafe(`update keywarden.ledger_event set ${change} where leaf_index is null`),
    ).rejects.toMatchObject({ code: '42501' });
  await store.sql`update keywarden.ledger_event set leaf_index = number + 1000 where leaf_index is null`;
  await expect(store.sql`update keywarden.ledger_event set leaf_index = number + 5000`).rejects.toMatchObject({
    code: '42501',
  });
  await expect(store.sql`delete from keywarden.ledger_event`).rejects.toMatchObject({ code: '42501' });
});

test.each(['infinity', '-infinity', '10000-01-01', '1044-03-15 BC'])(
  'a login of the daemon adds no row whose event no verifier could read: one of %s',
  async (at) => {
    const { sql } = await store.as('keywarden_daemon');
    const incident = sql`insert into keywarden.incident (kind, scope, detail, opened_at) values ('breaker', 'x', '{}', ${at})`;
    await expect(incident).rejects.toMatchObject({ code: '22008' });
  },
);

test.each([
  ['22008', `'x', now(), 'infinity'`],
  ['22008', `'x', now(), '20000-01-01'`],
  ['22001', `repeat('x', 4000001), now(), now() + interval '1 day'`],
])('an exemption that no verifier could compare is refused with %s: %s', async (code, values) => {
  const { sql } = await store.as('keywarden_daemon');
  const granted = sql.unsafe(`
    select keywarden.insert_exemption('ada', array(select number from keywarden.credential limit 1), null, null, ${values})`);
  await expect(granted).rejects.toMatchObject({ code });
});

test('an incident with a number that no verifier can read is refused', async () => {
  const { sql } = await store.as('keywarden_daemon');
  const open = async (detail: string) =>
    await sql`insert into keywarden.incident (kind, scope, detail) values ('breaker', ${detail}, ${detail}::text::jsonb)`;
  await open('{"percent": 50.5, "of": [9007199254740993]}');
  await expect(open('{"percent": 1e309}')).rejects.toMatchObject({ code: '22003' });
});
