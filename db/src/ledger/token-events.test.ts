import { createTestStore, type TestStore } from '@keywarden/testkit/store/test-store';
import { afterEach, beforeEach, expect, inject, test } from 'vitest';
import { createToken, revokeToken } from '../tokens/tokens.ts';
import { listLedgerRowFaults } from './check.ts';

let store: TestStore;
beforeEach(async () => {
  store = await createTestStore(inject('postgresUrl'));
});
afterEach(async () => await store.close());

test('the events of a token name, as salted hashes, who created and who revoked it', async () => {
  const { db } = await store.as('keywarden_admin');
  const { number } = await createToken(db, { name: 'eve', role: 'viewer', organizationIds: null, createdBy: 'ada' });
  await revokeToken(db, { number, by: 'bob' });
  const events = await store.sql`
    select e.type, (e.leaf::jsonb ->> 'actor') = keywarden.ledger_salted(s.salt, w.name, w.value) as is_actor,
      e.content::jsonb -> w.name ->> 'salted' = keywarden.ledger_salted(s.salt, w.name, w.value) as is_recorded
    from keywarden.ledger_event e join keywarden.ledger_salt s on s.event_number = e.number
      join (values ('token.created', 'created_by', 'ada'), ('token.revoked', 'revoked_by', 'bob')) w(type, name, value) using (type)
    where e.subject = ${`report_token/${number}`} order by e.number`;
  expect(events).toEqual([
    { type: 'token.created', is_actor: true, is_recorded: true },
    { type: 'token.revoked', is_actor: true, is_recorded: true },
  ]);
  expect(await listLedgerRowFaults(store.sql)).toEqual([]);
});

test('events of tokens from before their creators were recorded stay valid, and such a token cannot get a creator afterwards', async () => {
  store.isTampered();
  const [token] = await store.sql`
    insert into keywarden.report_token (name, token_hash, role) values ('first', 'a hash', 'viewer') returning number::text`;
  const subject = `report_token/${String(token?.number)}`;
  // As an earlier version recorded the end: without a salt.
  await store.sql.begin(async (tx) => {
    await tx`set local session_replication_role = replica`;
    await tx`update keywarden.report_token set revoked_at = now()`;
    await tx`
      select keywarden.append_event('token.revoked', array[${subject}, at, null,
        '{"number":"' || number || '","revoked_at":"' || at || '"}'], null)
      from keywarden.report_token, keywarden.ledger_time(revoked_at) at`;
  });
  const [created] = await store.sql`select content from keywarden.ledger_event where type = 'token.created'`;
  expect(Object.keys(JSON.parse(String(created?.content)) as object)).toEqual([
    'created_at',
    'expires_at',
    'name',
    'number',
    'organization_ids',
    'role',
    'token_hash',
  ]);
  expect(await listLedgerRowFaults(store.sql)).toEqual([]);
  await store.sql`update keywarden.report_token set created_by = 'mallory'`;
  expect(await listLedgerRowFaults(store.sql)).toEqual([{ type: 'token.created', subject, fault: 'altered' }]);
  await store.sql`set session_replication_role = replica`;
  for (const by of ['mallory', 'erased; was ada']) {
    await store.sql`update keywarden.report_token set created_by = null, revoked_by = ${by}`;
    expect(await listLedgerRowFaults(store.sql)).toEqual([{ type: 'token.revoked', subject, fault: 'altered' }]);
  }
});

test('an event that says that a token was deleted excuses no change of it', async () => {
  store.isTampered();
  const { db } = await store.as('keywarden_admin');
  await createToken(db, { name: 'eve', role: 'viewer', organizationIds: null, createdBy: 'ada' });
  await store.sql`
    select keywarden.append_event('token.created', array['report_token/' || number, keywarden.ledger_time(created_at), null, '{"deleted":"true"}'], null)
    from keywarden.report_token`;
  await store.sql
    .unsafe(
      `set session_replication_role = replica; update keywarden.report_token set role = 'operator'; set session_replication_role = default`,
    )
    .simple();
  expect(await listLedgerRowFaults(store.sql)).toMatchObject([{ type: 'token.created', fault: 'altered' }]);
});

test('an event that says that a token was deleted is found, although a later one says that it is there', async () => {
  store.isTampered();
  const { db } = await store.as('keywarden_admin');
  const { number } = await createToken(db, { name: 'eve', role: 'viewer', organizationIds: null, createdBy: 'ada' });
  await store.sql`
    select keywarden.append_event('token.created', array['report_token/' || number, null, null, '{"deleted":"true"}'], null)
    from keywarden.report_token`;
  await store.sql`update keywarden.report_token set role = 'operator'`;
  const subject = `report_token/${number}`;
  expect(await listLedgerRowFaults(store.sql)).toEqual([{ type: 'token.created', subject, fault: 'altered' }]);
});

test('personal data of a token that is replaced while its salts are there is found, although a later event has the new one', async () => {
  store.isTampered();
  const { db } = await store.as('keywarden_admin');
  const { number } = await createToken(db, { name: 'eve', role: 'viewer', organizationIds: null, createdBy: 'ada' });
  const subject = `report_token/${number}`;
  await store.sql`update keywarden.report_token set name = 'erased', role = 'operator'`;
  expect(await listLedgerRowFaults(store.sql)).toEqual([{ type: 'token.created', subject, fault: 'altered' }]);
  // Both events differ: the row is named once.
  await store.sql`update keywarden.report_token set created_by = 'mallory'`;
  expect(await listLedgerRowFaults(store.sql)).toEqual([{ type: 'token.created', subject, fault: 'altered' }]);
});

test('the role of a token cannot be changed behind its event after its personal data was erased', async () => {
  store.isTampered();
  const { db } = await store.as('keywarden_admin');
  const { number } = await createToken(db, { name: 'eve', role: 'viewer', organizationIds: null, createdBy: 'ada' });
  const subject = `report_token/${number}`;
  await store.sql`delete from keywarden.ledger_salt`;
  await store.sql`update keywarden.report_token set name = 'erased', created_by = 'erased', token_hash = 'erased ' || number`;
  expect(await listLedgerRowFaults(store.sql)).toEqual([]);
  await store.sql`set session_replication_role = replica`;
  await store.sql`update keywarden.report_token set role = 'operator'`;
  expect(await listLedgerRowFaults(store.sql)).toEqual([{ type: 'token.created', subject, fault: 'altered' }]);
});

test('personal data of a token counts as erased only once no event of it has its salt', async () => {
  store.isTampered();
  const { db } = await store.as('keywarden_admin');
  const { number } = await createToken(db, { name: 'eve', role: 'viewer', organizationIds: null, createdBy: 'ada' });
  await store.sql`update keywarden.report_token set role = 'auditor'`;
  const erase = async (events: 'first' | 'all') =>
    await store.sql`
      delete from keywarden.ledger_salt where ${events} = 'all' or event_number = (select min(event_number) from keywarden.ledger_salt)`;
  await erase('first');
  await store.sql`
    update keywarden.report_token set role = 'operator', name = 'erased', created_by = 'erased', token_hash = 'erased ' || number`;
  const subject = `report_token/${number}`;
  expect(await listLedgerRowFaults(store.sql)).toEqual([{ type: 'token.created', subject, fault: 'altered' }]);
  await erase('all');
  expect(await listLedgerRowFaults(store.sql)).toEqual([]);
});

test('a dropped month that comes back behind the triggers is found, although its row says the time of its end', async () => {
  store.isTampered();
  const drop = async () =>
    await store.sql`
      insert into keywarden.operation_drop (month, operations, bytes, dropped_at, dropped_by)
      select '2026-05-01', 1, 1, coalesce(max(recorded_at) filter (where type = 'retention.dropped'), now()), 'ada' from keywarden.ledger_event`;
  await drop();
  await store.sql`delete from keywarden.operation_drop`;
  await store.sql`set session_replication_role = replica`;
  await drop();
  expect(await listLedgerRowFaults(store.sql)).toEqual([
    { type: 'retention.dropped', subject: 'operation_drop/2026-05-01', fault: 'altered' },
  ]);
});
