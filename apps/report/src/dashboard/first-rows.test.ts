import { type Fixture, makeFixture } from '@keywarden/testkit/report/fixture';
import { afterAll, beforeAll, expect, inject, test } from 'vitest';

let fixture: Fixture;
beforeAll(async () => {
  fixture = await makeFixture(inject('postgresUrl'));
});
afterAll(async () => await fixture.close());

test('a table of the first rows of a list says so if there are more', async () => {
  const key = String((await fixture.ask('/v1/keys')).body.items[0]?.number);
  const use = async (hours: number) =>
    await fixture.store.sql`
      insert into keywarden.key_use (key_number, hour, address, last_used_at, first_used_at)
      select ${key}::bigint, hour, '203.0.113.7', hour, hour
      from generate_series('2026-01-01'::timestamptz, '2026-12-31', interval '1 hour') hour limit ${hours} on conflict do nothing`;
  const page = async () => (await fixture.ask(`/keys/${key}`, { headers: { accept: 'text/html' } })).text;
  await use(50);
  expect(await page()).not.toContain('are shown');
  await use(51);
  expect(await page()).toContain('Only the first 50 are shown.');
});
