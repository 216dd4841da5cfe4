import { type Fixture, makeFixture } from '@keywarden/testkit/report/fixture';
import { afterAll, beforeAll, expect, inject, test } from 'vitest';

let fixture: Fixture;
beforeAll(async () => {
  fixture = await makeFixture(inject('postgresUrl'));
});
afterAll(async () => await fixture.close());

test('requests are counted by route and status, never by path; reading metrics requires a token that sees all organizations', async () => {
  expect((await fixture.ask('/v1/keys')).status).toBe(200);
  expect((await fixture.ask('/v1/keys/31415926535')).status).toBe(404);
  expect((await fixture.ask('/v1/nothing/secret-looking-path')).status).toBe(404);
  expect((await fixture.ask('/metrics', { as: null })).status).toBe(401);
  expect((await fixture.ask('/metrics', { as: 'acme' })).status).toBe(403);
  const answer = await fixture.app.request('/metrics', {
    headers: { authorization: `Bearer ${fixture.tokens.viewer}` },
  });
  expect(answer.status).toBe(200);
  const text = await answer.text();
  expect(text).toMatch(/keywarden_report_request_seconds_count\{method="GET",route="\/v1\/keys",status="200"\} 1/);
  expect(text).toMatch(/route="none",status="404"/);
  expect(text).not.toContain('31415926535');
  expect(text).not.toContain('secret-looking');
});
