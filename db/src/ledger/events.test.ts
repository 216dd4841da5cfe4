import { readFileSync } from 'node:fs';
import { canonicalJson, sha256 } from '@keywarden/core/values';
import { fillEveryTable } from '@keywarden/testkit/store/fill-every-table';
import { createTestStore, type TestStore } from '@keywarden/testkit/store/test-store';
import { afterAll, beforeAll, expect, inject, test } from 'vitest';
import { migrateStore } from '../migrate.ts';
import { readRepeatable } from '../repeatables.ts';
import type { Sql, Tx } from '../sql.ts';
import { listLedgerRowFaults } from './check.ts';

let store: TestStore;
/** Texts that canonical JSON writes in its own way. */
const hostile = `a"b\\c/d\b\f\n\r\t\u001f\u007f\u2028é😀'`;
beforeAll(async () => {
  store = await createTestStore(inject('postgresUrl'));
  // In one transaction, as an exemption and a review are made with their keys.
  await store.sql.begin(async (tx) => void (await fillEveryTable(tx as unknown as Sql, hostile)));
});
afterAll(async () => await store.close());

const ledgerPage = readFileSync(new URL('../../../docs/LEDGER.md', import.meta.url), 'utf8');

interface Kind {
  kind: string;
  relation: string;
  fields: string[];
  hashed: string[];
  personal: string[];
  at: string | null;
}

const listKinds = async () => (await store.sql`select * from keywarden.ledger_kinds()`) as unknown as Kind[];

test('each kind of event was recorded, with leaf and content as canonical JSON', async () => {
  const events = await store.sql`select type, leaf, content from keywarden.ledger_event where leaf like '{%'`;
  const kinds = (await listKinds()).map(({ kind }) => kind);
  expect(kindNames).toEqual(kinds);
  expect(kinds.filter((kind) => !ledgerPage.includes(`\`${kind}\``))).toEqual([]);
  expect(new Set(events.map(({ type }) => type))).toEqual(new Set(kinds));
  for (const { type, leaf, content } of events) {
    const [read, held] = [JSON.parse(String(leaf)), JSON.parse(String(content))] as Record<string, unknown>[];
    expect(canonicalJson(read ?? {})).toBe(leaf);
    expect(canonicalJson(held ?? {})).toBe(content);
    expect(read).toMatchObject({ type, content: sha256(String(content)), v: '1' });
    expect(String(read?.at) + String(read?.recorded)).toMatch(/^\d{4}-\d\d-\d\dT[\d:.]+Z\d{4}-\d\d-\d\dT[\d:.]+Z$/);
  }
});

test('no personal data is in a leaf or its content, only a hash with a salt', async () => {
  const kinds = await listKinds();
  const events = await store.sql`
    select e.type, e.content, s.salt from keywarden.ledger_event e join keywarden.ledger_salt s on s.event_number = e.number where e.leaf like '{%'`;
  for (const { kind, personal } of kinds.filter((each) => each.personal.length > 0)) {
    const own = events.filter(({ type }) => type === kind);
    expect(own.length, `events of ${kind}`).toBeGreaterThan(0);
    for (const { content } of own) {
      const held = JSON.parse(String(content)) as Record<string, { salted: string } | null>;
      for (const name of personal)
        expect(held[name] === null || /^[\da-f]{64}$/.test(held[name]?.salted ?? ''), `${kind} ${name}`).toBe(true);
    }
  }
  const [approval] = events.filter(({ type }) => type === 'plan.approved');
  const by = (JSON.parse(String(approval?.content)) as { approved_by: { salted: string } }).approved_by.salted;
  expect(by).toBe(sha256(`${String(approval?.salt)}:approved_by:${hostile}`));
});

test('the rows of a store match its ledger, and none of any kind lacks its event', async () => {
  expect(await listLedgerRowFaults(store.sql)).toEqual([]);
  expect(await store.sql`select keywarden.begin_ledger()::int as added`).toEqual([{ added: 0 }]);
});

/** Makes changes that no trigger sees, as the owner can, and returns the faults; nothing of them stays. */
async function faultsAfter(...changes: string[]): Promise<string[]> {
  let faults: string[] = [];
  await undone(async (tx) => {
    await tx`set local session_replication_role = replica`;
    for (const change of changes) if ((await tx.unsafe(change)).count === 0) throw new Error(`no row: ${change}`);
    faults = (await listLedgerRowFaults(tx)).map(({ type, fault }) => `${type} ${fault}`);
  });
  return faults;
}

async function undone(work: (tx: Tx) => Promise<void>): Promise<void> {
  const undo = new Error('undo');
  await store.sql
    .begin(async (tx) => {
      await work(tx);
      throw undo;
    })
    .catch((error: unknown) => {
      if (error !== undo) throw error;
    });
}

/** Each kind of keywarden.ledger_kinds. Tests are named before a database exists. */
const kindNames = [...readRepeatable('72-ledger_kinds.sql').matchAll(/^ {4}\('([\w.]+)'/gm)].map(
  ([, kind = '']) => kind,
);

test.each(kindNames)(
  '%s: keywarden ledger --check finds a row that is altered, backdated, deleted or added without its event',
  async (kind) => {
    const { relation, fields, hashed, personal, at } = (await listKinds()).find((each) => each.kind === kind) as Kind;
    // Each recorded column, one by one.
    const columns = [...fields, ...hashed, ...personal];
    const types = await store.sql`
    select attname as name, format_type(atttypid, null) as type from pg_attribute
    where attrelid = ${`keywarden.${relation}`}::regclass and attname = any(${columns}::text[])
      and attname not in (select unnest(identity) from keywarden.ledger_kinds() where kind = ${kind})`;
    const otherValue: Record<string, (name: string) => string> = {
      date: (name) => `${name} + 1`,
      text: (name) => `${name} || 'x'`,
      bigint: (name) => `coalesce(${name}, 0) + 1`,
      integer: (name) => `coalesce(${name}, 0) + 1`,
      boolean: (name) => `not ${name}`,
      jsonb: () => `'{"other": 1}'`,
      interval: (name) => `${name} + interval '1 day'`,
      'text[]': () => `'{other}'`,
      'integer[]': () => `'{1,2,3}'`,
      'timestamp with time zone': (name) => `${name} + interval '1 microsecond'`,
    };
    const checks = await store.sql`
    select conname as name from pg_constraint where contype = 'c' and conrelid = ${`keywarden.${relation}`}::regclass`;
    const unchecked = checks.map(({ name }) => `alter table keywarden.${relation} drop constraint ${String(name)}`);
    for (const { name, type } of types) {
      const value = otherValue[String(type)]?.(String(name));
      expect(value, `${String(name)} ${String(type)}`).toBeDefined();
      const change = `update keywarden.${relation} set ${String(name)} = ${value ?? ''}`;
      expect(await faultsAfter(...unchecked, change), `column ${String(name)}`).toContain(`${kind} altered`);
    }
    expect(types.length).toBeGreaterThan(0);
    expect(at === null || fields.includes(at)).toBe(true);
    expect(await faultsAfter(`delete from keywarden.${relation}`)).toContain(`${kind} removed`);
    expect(await faultsAfter(`delete from keywarden.ledger_event where type = '${kind}'`)).toContain(`${kind} added`);
    expect(
      await faultsAfter(`update keywarden.ledger_event set content = content || ' ' where type = '${kind}'`),
    ).toContain(`${kind} altered`);
  },
);

test('the keys of an exemption and the items of a review belong to their events', async () => {
  expect(await faultsAfter('delete from keywarden.exemption_key')).toEqual(['exemption.granted altered']);
  for (const change of [`findings = '[]'`, `key = '{}'`, 'key_number = key_number + 1000000'])
    expect(await faultsAfter(`update keywarden.review_item set ${change}`)).toEqual(['review.opened altered']);
});

test('an event is found whose hash, time or actor is another one, or is missing', async () => {
  const change = `update keywarden.pause set reason = 'another'`;
  const content = `update keywarden.ledger_event e set content = (keywarden.describe_pause_begun(p, s.salt))[4]
    from keywarden.pause p, keywarden.ledger_salt s where e.type = 'pause.begun' and s.event_number = e.number`;
  expect(await faultsAfter(change, content)).toEqual(['pause.begun altered']);
  for (const [kind, member, value] of [
    ['pause.begun', 'content', 'null'],
    ['pause.begun', 'at', 'null'],
    ['pause.begun', 'at', '"2019-01-01T00:00:00Z"'],
    ['pause.begun', 'actor', 'null'],
    ['plan.stored', 'actor', '"mallory"'],
  ]) {
    const leaf = `regexp_replace(leaf, '"${member}":("[^"]*"|null)', '"${member}":${value}')`;
    expect(
      await faultsAfter(`update keywarden.ledger_event set leaf = ${leaf} where type = '${kind}'`),
      `${kind}: ${member} ${value}`,
    ).toEqual([`${kind} altered`]);
  }
});

test('an event that is added to hide a change is found', async () => {
  const again = (kind: string, relation: string) =>
    `select keywarden.append_event('${kind}', keywarden.describe_${kind.replace('.', '_')}(r, 'abc'), 'abc') from keywarden.${relation} r`;
  const change = `update keywarden.plan_approval set approved_by = 'mallory'`;
  expect(await faultsAfter(change, again('plan.approved', 'plan_approval'))).toContain('plan.approved repeated');
  // A kind of event that a row can have twice: only in the columns that change.
  const kind = `update keywarden.incident set kind = 'orphan'`;
  expect(await faultsAfter(kind, again('incident.opened', 'incident'))).toContain('incident.opened altered');
  const name = `update keywarden.report_token set name = 'another'`;
  expect(await faultsAfter(name, again('token.created', 'report_token'))).toContain('token.created altered');
  // Before the newest event.
  expect(
    await faultsAfter(
      `insert into keywarden.ledger_event (number, type, subject, leaf, content, recorded_at) overriding system value
        select -number, type, subject, leaf, content, recorded_at from keywarden.ledger_event where type = 'plan.rejected'`,
    ),
  ).toContain('plan.rejected repeated');
});

test('personal data can be erased with its salt, and everything else is still proven', async () => {
  const erase = `
    delete from keywarden.ledger_salt where event_number in (select number from keywarden.ledger_event where type = 'plan.approved')`;
  expect(await faultsAfter(erase, `update keywarden.plan_approval set approved_by = 'erased'`)).toEqual([]);
  for (const name of ['mallory', 'mallory (erased)'])
    expect(await faultsAfter(erase, `update keywarden.plan_approval set approved_by = '${name}'`)).toEqual([
      'plan.approved altered',
    ]);
  const ofIncidents =
    "delete from keywarden.ledger_salt where event_number in (select number from keywarden.ledger_event where type = 'incident.opened')";
  expect(await faultsAfter(ofIncidents, `update keywarden.incident set detail = '{"erased": true}'`)).toEqual([]);
  const alsoVia = `update keywarden.plan_approval set approved_by = 'erased', via = 'report'`;
  expect(await faultsAfter(erase, alsoVia)).toEqual(['plan.approved altered']);
  expect(await faultsAfter(`update keywarden.plan_approval set approved_by = 'another'`)).toEqual([
    'plan.approved altered',
  ]);
});

test('what the product changes in a governed row is an event, also when an end is taken back or a row is deleted', async () => {
  await undone(async (tx) => {
    const faults = async () => (await listLedgerRowFaults(tx)).map(({ type, fault }) => `${type} ${fault}`);
    // The same part of two plans, a month of an extended retention that is announced again, and a retention that is ended.
    await tx`update keywarden.plan set derived_from = null, held_count = held_count + 1, sha256 = 'other', document = '{}'`;
    await tx`update keywarden.operation_drop set dropped_at = null, dropped_by = null`;
    await tx`update keywarden.incident set detail = '{"why": "a later reason"}'`;
    expect(await faults()).toEqual([]);
    await tx`update keywarden.operation_drop set operations = operations + 1`;
    expect(await faults()).toEqual([]);
    await tx`delete from keywarden.operation_drop`;
    await tx`delete from keywarden.operation_retention`;
    expect(await faults()).toEqual([]);
    await tx`
      insert into keywarden.operation_drop (month, operations, bytes, dropped_at, dropped_by)
      select distinct split_part(subject, '/', 2)::date, 1, 1, now(), 'ada' from keywarden.ledger_event where type = 'retention.dropped'`;
    expect(await faults()).toEqual([]);
    await tx`insert into keywarden.operation_retention (keep) values ('400 days')`;
    expect(await faults()).toEqual([]);
    await tx`set local session_replication_role = replica`;
    await tx`delete from keywarden.operation_retention`;
    expect(await faults()).toEqual(['retention.set removed']);
  });
});

test('an end that is taken back behind its event is found', async () => {
  const kinds = await store.sql`select kind, relation, ends from keywarden.ledger_kinds() where ends is not null`;
  for (const { kind, relation, ends } of kinds)
    expect(await faultsAfter(`update keywarden.${String(relation)} set ${String(ends)} = null`)).toContain(
      `${String(kind)} altered`,
    );
});

test('an event that says that its row was deleted excuses no row that Keywarden never deletes', async () => {
  const claims = `select keywarden.append_event('pause.begun', array[subject, null, null, '{"deleted":"true"}'], null) from (
    select distinct subject from keywarden.ledger_event where type = 'pause.begun') e`;
  expect(await faultsAfter('delete from keywarden.pause', claims)).toContain('pause.begun removed');
});

test.each(['exemption.ended', 'campaign.canceled', 'pause.ended', 'incident.closed', 'token.revoked'])(
  '%s: an end that is set again, or taken back, is found although it is an event',
  async (kind) => {
    const { relation, personal, at } = (await listKinds()).find((each) => each.kind === kind) as Kind;
    const faults = async (...changes: string[]) => {
      let found: string[] = [];
      await undone(async (tx) => {
        // The owner of the database can do this, too.
        if (relation === 'report_token') await tx`alter table keywarden.report_token disable trigger ends_are_kept`;
        for (const each of changes) expect((await tx.unsafe(each)).count, `rows of ${each}`).toBeGreaterThan(0);
        found = (await listLedgerRowFaults(tx)).map(({ type, fault }) => `${type} ${fault}`);
      });
      return found;
    };
    const set = (...values: string[]) => `update keywarden.${relation} set ${values.join()} where ${at} is not null`;
    const [by] = personal;
    expect(await faults(set(`${at} = ${at} + interval '1 day'`))).toEqual([`${kind} altered`]);
    expect(await faults(set(...[at, ...personal].map((name) => `${name} = null`)))).toEqual([`${kind} altered`]);
    if (by === undefined) return;
    for (const value of [`'mallory'`, `'erased'`, 'null'])
      expect(await faults(set(`${by} = ${value}`))).toEqual([`${kind} altered`]);
    // To erase is no change, also column by column, where each statement is an event.
    const erase = `delete from keywarden.ledger_salt where event_number in (select number from keywarden.ledger_event where type = '${kind}')`;
    expect(await faults(erase, set(...personal.map((name) => `${name} = 'erased'`)))).toEqual([]);
    expect(await faults(erase, set(`${by} = 'mallory (erased)'`))).toEqual([`${kind} altered`]);
    for (const value of [`'erased'`, `'(erased)'`, 'null'])
      expect(await faults(erase, ...personal.map((name) => set(`${name} = ${value}`)))).toEqual([]);
  },
);

test('an interrupted upgrade records the rows from before the ledger with its triggers, or neither', async () => {
  const old = await createTestStore(inject('postgresUrl'));
  await old.sql`insert into keywarden.pause (paused_by, resumed_at) values ('ada', now())`;
  const empty = `set session_replication_role = replica; truncate keywarden.ledger_event, keywarden.ledger_salt; set session_replication_role = default`;
  await old.sql.unsafe(empty).simple();
  await old.sql`update keywarden.repeatable set sha256 = 'of another version' where name like '7%'`;
  // The upgrade fails at its last step.
  await old.sql`alter table keywarden.repeatable add constraint fails check (sha256 = 'of another version' or name not like '7%') not valid`;
  await expect(migrateStore(old.sql)).rejects.toThrow(/fails/);
  expect(await old.sql`select 1 from keywarden.ledger_event`).toEqual([]);
  await old.sql`alter table keywarden.repeatable drop constraint fails`;
  await migrateStore(old.sql);
  expect(await listLedgerRowFaults(old.sql)).toEqual([]);
  // A kill between a migration and its event.
  await old.sql.unsafe(empty).simple();
  await migrateStore(old.sql);
  expect(await listLedgerRowFaults(old.sql)).toEqual([]);
  await old.close();
});

test('what cannot be recorded does not happen', async () => {
  await undone(async (tx) => {
    await tx`alter table keywarden.ledger_event rename to elsewhere`;
    await expect(
      tx.savepoint(async (inner) => await inner`insert into keywarden.pause (paused_by) values ('ada')`),
    ).rejects.toMatchObject({ code: '42P01' });
  });
});
