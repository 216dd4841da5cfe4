import { type Fixture, makeFixture, plan } from '@keywarden/testkit/report/fixture';
import { afterAll, beforeAll, expect, inject, test } from 'vitest';
import { sessionCookie } from './access/authenticate.ts';

let fixture: Fixture;
beforeAll(async () => {
  fixture = await makeFixture(inject('postgresUrl'));
  await plan(fixture.daemon, {
    rules: [
      { name: 'never-used', never_used_for: '30d', action: 'revoke', match: { organizations: ['acme'] } },
      { name: 'old', older_than: '100d', action: 'report', match: { kinds: ['project'] } },
    ],
  });
});
afterAll(async () => await fixture.close());

/** Returns the ids of the keys in a list of the report, each with the rules that match it. */
async function rulesAt(query: string, as = 'viewer'): Promise<Record<string, string[]>> {
  const { body } = await fixture.ask(`/v1/keys?${query}`, { as });
  return Object.fromEntries(body.items.map(({ id, rules }) => [id, rules])) as Record<string, string[]>;
}

test('the list of keys has the rules of the newest plan that match each key, and can be filtered by one', async () => {
  const [one, both] = [['never-used'], ['never-used', 'old']];
  expect(await rulesAt('')).toEqual({ '9007199254740993': one, '12': both, '13': [] });
  expect(await rulesAt('rule=never-used')).toEqual({ '9007199254740993': one, '12': both });
  expect(await rulesAt('rule=old')).toEqual({ '12': both });
  expect(await rulesAt('rule=old&as_of=2026-06-01T00:00:00Z')).toEqual({ '12': both });
  expect(await rulesAt('rule=ol')).toEqual({});
  expect(await rulesAt('rule=old', 'acme')).toEqual({ '12': both });
  const { text } = await fixture.ask('/v1/exports/keys?format=csv', { as: 'auditor' });
  expect(text).toMatch(/^number,.*,rules\r?\n/);
});

test('the page of keys links each rule of a key to the finding, and suggests the rules of the newest plan', async () => {
  const headers = { cookie: `${sessionCookie}=${await fixture.signIn('viewer')}` };
  const { text } = await fixture.ask('/keys?rule=old', { as: null, headers });
  const [, finding = ''] = /href="(\/findings[^"]*)">never-used</.exec(text) ?? [];
  expect(text).toContain('<option value="never-used">');
  const shown = await fixture.ask(finding.replace('&amp;', '&'), { as: null, headers });
  expect(shown.text).toContain('1 row');
  expect(shown.text).toContain('never used in the 151 days');
});

test('the rules of a former plan match no key', async () => {
  await plan(fixture.daemon, { rules: [{ name: 'older', older_than: '100d', action: 'report' }] });
  expect(await rulesAt('rule=never-used')).toEqual({});
  expect(await rulesAt('rule=older')).toMatchObject({ '12': ['older'] });
});
