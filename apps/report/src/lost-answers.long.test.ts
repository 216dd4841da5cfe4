import { openStore } from '@keywarden/db/store';
import { makeApp } from '@keywarden/testkit/report/app';
import { type Fixture, makeFixture } from '@keywarden/testkit/report/fixture';
import { type CutLine, openCutLine, sides } from '@keywarden/testkit/store/cut-line';
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

const send = async (path: string, body: object) =>
  await served.app.request(path, {
    method: 'POST',
    headers: { authorization: `Bearer ${fixture.tokens.operator}`, 'content-type': 'application/json' },
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
    for (const side of sides) {
      for (let nth = 1; ; nth += 1) {
        const before = await count();
        sent += 1;
        line.cutAt(nth, side);
        const { status } = await send(path, bodyOf(sent));
        statuses.add(status);
        const made = (await count()) - before;
        const asExpected = { 201: [1], 503: [0], 500: [0, 1] }[status] ?? [];
        expect(asExpected, `a line cut ${side} ${nth}, answered ${status}`).toContain(made);
        if (!line.hasCut()) break;
      }
    }
    expect(statuses).toEqual(new Set([201, 500, 503]));
  },
);
