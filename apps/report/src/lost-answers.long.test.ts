import { openStore } from '@keywarden/db/store';
import { makeApp } from '@keywarden/testkit/report/app';
import { type Fixture, makeFixture } from '@keywarden/testkit/report/fixture';
import { type CutLine, openCutLine } from '@keywarden/testkit/store/cut-line';
import { afterAll, beforeAll, expect, inject, test } from 'vitest';

// The report loses its connection to the store at each message of a request.

let fixture: Fixture;
let line: CutLine;
let served: Awaited<ReturnType<typeof makeApp>>;
beforeAll(async () => {
  fixture = await makeFixture(inject('postgresUrl'));
  line = await openCutLine(fixture.store.url);
  const options = { databaseUrl: line.url, dataFolder: '', applicationName: 'a report whose line is cut' };
  served = await makeApp({ as: async (role) => await openStore({ ...options, role, maxConnections: 2 }) });
});
afterAll(async () => {
  await served.sql.end();
  await line.close();
  await fixture.close();
});

const send = async (path: string, body: object, as = 'operator') =>
  await served.app.request(path, {
    method: 'POST',
    headers: { authorization: `Bearer ${fixture.tokens[as]}`, 'content-type': 'application/json' },
    body: JSON.stringify(body),
  });

test.each([
  ['exemption', '/v1/exemptions', (of: number) => ({ keys: [fixture.keys['12']], reason: `test ${of}`, for: '30d' })],
  ['review', '/v1/reviews', (of: number) => ({ title: `test ${of}`, keys: { organization_id: 'other' } })],
])(
  'an answer that asks to try again later never follows a new %s; the answer says if there may be one',
  async (table, path, bodyOf) => {
    const count = async () =>
      Number((await fixture.store.sql`select count(*)::int as n from keywarden.${fixture.store.sql(table)}`)[0]?.n);
    let sent = 0;
    const statuses = new Set<number>();
    await line.cutEach(async (at) => {
      const before = await count();
      sent += 1;
      const { status } = await send(path, bodyOf(sent));
      statuses.add(status);
      const made = (await count()) - before;
      const asExpected = { 201: [1], 503: [0], 500: [0, 1] }[status] ?? [];
      expect(asExpected, `${at}, answered ${status}`).toContain(made);
    });
    expect(statuses).toEqual(new Set([201, 500, 503]));
  },
);

test('no answer to a request that is refused before its action says that the action may have been done', async () => {
  const statuses = new Set<number>();
  await line.cutEach(async () => {
    const granted = { keys: [fixture.keys['12']], reason: 'not permitted', for: '30d' };
    statuses.add((await send('/v1/exemptions', granted, 'viewer')).status);
  });
  expect(statuses).toEqual(new Set([403, 503]));
});

test('an action is not said to have failed if a disk is full from then on, for its mark and for the record of its request', async () => {
  const { sql } = fixture.store;
  const tables = ['high_water_mark', 'access_log'];
  await sql.unsafe(`
    create function keywarden.fill_disk() returns trigger language plpgsql security definer as $$
    begin
      if exists (select from keywarden.exemption where reason = 'the last that fits') then
        raise 'disk full' using errcode = 'disk_full';
      end if;
      return new;
    end $$`);
  for (const table of tables)
    await sql.unsafe(
      `create trigger full_disk before insert on keywarden.${table} for each row execute function keywarden.fill_disk()`,
    );
  const granted = { keys: [fixture.keys['12']], reason: 'the last that fits', for: '30d' };
  const answer = await send('/v1/exemptions', granted);
  await sql`drop function keywarden.fill_disk cascade`;
  expect(await answer.json()).toMatchObject({ status: 500, title: 'May have been done' });
});

test('a sign-in that fails is recorded with the status of its answer', async () => {
  const { sql } = fixture.store;
  const statuses = new Set<number>();
  await line.cutEach(async (at) => {
    await sql`delete from keywarden.access_log where event = 'sign_in_failed'`;
    const { status } = await served.app.request('/sign-in', {
      method: 'POST',
      headers: { origin: 'http://localhost', host: 'localhost', accept: 'text/html' },
      body: new URLSearchParams({ token: fixture.tokens.operator ?? '' }),
    });
    statuses.add(status);
    for (const failed of await sql`select status from keywarden.access_log where event = 'sign_in_failed'`)
      expect([at, failed.status]).toEqual([at, status]);
  });
  expect(statuses).toEqual(new Set([303, 503]));
});

test('an action is not said to have failed if its record is then read too slowly', async () => {
  const { sql } = fixture.store;
  await sql.unsafe(`
    create function keywarden.be_slow() returns boolean language plpgsql security definer as $$
    begin
      if exists (select from keywarden.kept_exemption where reason = 'read slowly') then
        raise 'statement timeout' using errcode = 'query_canceled';
      end if;
      return true;
    end $$;
    alter table keywarden.exemption rename to kept_exemption;
    create view keywarden.exemption as select * from keywarden.kept_exemption where keywarden.be_slow();
    grant all on keywarden.exemption to keywarden_report`);
  const granted = { keys: [fixture.keys['12']], reason: 'read slowly', for: '30d' };
  const answer = await send('/v1/exemptions', granted);
  await sql.unsafe(`
    drop function keywarden.be_slow cascade;
    alter table keywarden.kept_exemption rename to exemption`);
  expect(await sql`select from keywarden.exemption where reason = 'read slowly'`).toHaveLength(1);
  expect(await answer.json()).toMatchObject({ status: 500, title: 'May have been done' });
});
