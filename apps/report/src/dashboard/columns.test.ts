import { type Fixture, makeFixture } from '@keywarden/testkit/report/fixture';
import { afterAll, beforeAll, expect, inject, test } from 'vitest';

let fixture: Fixture;
beforeAll(async () => {
  fixture = await makeFixture(inject('postgresUrl'));
  const post = async (path: string, body: object) => await fixture.ask(path, { as: 'operator', method: 'POST', body });
  await post('/v1/reviews', { title: 'Spring', keys: { organization_id: 'acme' } });
  const due = new Date(Date.now() + 9 * 86_400_000).toISOString();
  await post('/v1/campaigns', { title: 'Autumn', split_by: 'organization', due_at: due });
  await post('/v1/exemptions', { keys: [fixture.keys['12']], reason: 'kept', until: '2030-01-01T00:00:00Z' });
  await fixture.store
    .sql`insert into keywarden.incident (kind, scope, detail) values ('breaker', 'organization:acme', '{}')`;
  await fixture.ledger.sign();
});
afterAll(async () => await fixture.close());

test.each(['plans', 'reviews', 'campaigns', 'exemptions', 'incidents', 'revocations'])(
  'each row of %s links an auditor to its events in the ledger, and shows a viewer no link',
  async (name) => {
    const { text } = await fixture.ask(`/${name}`, { as: 'auditor' });
    const links = [...text.matchAll(/href="(\/ledger\/events\?subject=[^"]+)"/g)].map(([, path = '']) => path);
    const rows = text.match(/<tbody>[^]*?<\/tbody>/)?.[0].match(/<tr/g)?.length;
    expect(links.length).toBe(rows);
    const events = await fixture.ask(links[0] ?? '', { as: 'auditor' });
    expect(events.status).toBe(200);
    expect(events.text).toMatch(/\/ledger\/events\/\d+">proof/);
    expect((await fixture.ask(`/${name}`, { as: 'viewer' })).text).not.toContain('/ledger/events?subject=');
  },
);
