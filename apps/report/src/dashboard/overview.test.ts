import { openRotation } from '@keywarden/db/daemon';
import { breakDownKeys } from '@keywarden/db/report';
import { type Fixture, listKeys, makeFixture } from '@keywarden/testkit/report/fixture';
import { makeWireKey } from '@keywarden/testkit/store/rows';
import { afterAll, beforeAll, expect, inject, test } from 'vitest';

let fixture: Fixture;
beforeAll(async () => {
  fixture = await makeFixture(inject('postgresUrl'));
});
afterAll(async () => await fixture.close());

const chart = /Archived operations by day and action.*?<\/figure>/s;

test('the chart of operations is shared by tokens that see the same organizations, and by no others', async () => {
  await fixture.makeToken('none', 'viewer', ['other']);
  const chartOf = async (as: string) =>
    chart.exec((await fixture.ask('/', { as, headers: { accept: 'text/html' } })).text)?.[0];
  const [acme, other, viewer] = await Promise.all([chartOf('acme'), chartOf('none'), chartOf('viewer')]);
  expect(acme).toContain('data-chart');
  expect(other).toContain('Nothing to show yet.');
  expect(viewer).toContain('data-chart');
  expect(await chartOf('none')).toBe(other);
});

test('keys are broken down by organization and owner, each caller by what they see', async () => {
  const { db } = await fixture.store.as('keywarden_report');
  const of = async (by: 'organization' | 'owner', organizations: string[] | null = null) =>
    (await breakDownKeys(db, by, { organizations, limit: 10 })).map(({ id, keys, idle, planned }) => [
      id,
      keys,
      idle,
      planned,
    ]);
  expect(await of('organization')).toEqual([
    ['acme', 2, 2, 1],
    ['other', 1, 1, 0],
  ]);
  expect(await of('organization', ['other'])).toEqual([['other', 1, 1, 0]]);
  expect(await of('owner')).toEqual([['ada', 3, 3, 1]]);
});

test('a client that goes while its chart is counted takes it from no other client', async () => {
  const own = await makeFixture(inject('postgresUrl'));
  try {
    const gone = new AbortController();
    const headers = { authorization: `Bearer ${own.tokens.auditor}`, accept: 'text/html' };
    const asked = own.app.request('/', { headers, signal: gone.signal });
    const other = own.ask('/', { as: 'viewer', headers: { accept: 'text/html' } });
    gone.abort();
    await Promise.resolve(asked).catch(() => undefined);
    expect((await other).text).toContain('data-chart');
  } finally {
    await own.close();
  }
});

test('of more than twenty open rotations it shows twenty, and how many more there are', async () => {
  const own = await makeFixture(inject('postgresUrl'));
  try {
    const ids = Array.from({ length: 22 }, (_, index) => String(101 + index));
    await listKeys(
      own,
      new Date().toISOString(),
      ids.map((id) => makeWireKey(id)),
    );
    const keys = await own.store.sql`select number, id from keywarden.key where id = any(${ids})`;
    for (const key of keys)
      await openRotation(own.daemon.sql, {
        id: `abcde${String(key.id)}`,
        key: String(key.number),
        rule: null,
        sink: 'file',
        quietForMs: 7 * 86_400_000,
        adoptWithinMs: 14 * 86_400_000,
        via: 'command line',
        requestedBy: 'ada',
        policySha256: 'x',
        at: new Date().toISOString(),
      });
    const { text } = await own.ask('/', { headers: { accept: 'text/html' } });
    expect(text.match(/Rotate <a/g)).toHaveLength(20);
    expect(text).toMatch(/<a href="\/rotations\?open=true">3 more open rotations<\/a>/);
  } finally {
    await own.close();
  }
});

test('the age of the newest listing does not stand for a scope that was not listed for long', async () => {
  const own = await makeFixture(inject('postgresUrl'));
  try {
    await listKeys(own, '2026-06-03T00:00:00Z', [makeWireKey('9007199254740993'), makeWireKey('12')]);
    const listed = async (as: string) =>
      /Keys were last listed .*?<\/p>/s.exec((await own.ask('/', { as, headers: { accept: 'text/html' } })).text)?.[0];
    expect(await listed('viewer')).toMatch(/<a href="\/keys\?as_of=[^"]*">1 scope<\/a> were not listed completely/);
    expect(await listed('acme')).not.toContain('not listed completely');
  } finally {
    await own.close();
  }
});
