import { type Fixture, makeFixture } from '@keywarden/testkit/report/fixture';
import { afterAll, beforeAll, expect, inject, test } from 'vitest';

let fixture: Fixture;
beforeAll(async () => {
  fixture = await makeFixture(inject('postgresUrl'));
});
afterAll(async () => await fixture.close());

const post = async (path: string, body: object) => await fixture.ask(path, { as: 'operator', method: 'POST', body });

test('no name that a person gives has a control character, and no reason has one other than tab and line feed', async () => {
  const [key] = Object.values(fixture.keys);
  const exempt = async (reason: string) => (await post('/v1/exemptions', { keys: [key], reason, for: '90d' })).status;
  for (const code of [0x07, 0x0a, 0x1b, 0x7f, 0x9b]) {
    const odd = `a${String.fromCharCode(code)}b`;
    const review = await post('/v1/reviews', { title: odd, filter: {} });
    expect([code, review.status]).toEqual([code, 400]);
    expect(review.text).toContain('has a control character');
    expect([code, await exempt(odd)]).toEqual([code, code === 0x0a ? 201 : 400]);
  }
});
