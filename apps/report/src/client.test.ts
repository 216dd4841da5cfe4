import type { components, paths } from '@keywarden/testkit/report/openapi-types';
import { fixture, server, useServedFixture } from '@keywarden/testkit/report/served-fixture';
import createClient from 'openapi-fetch';
import { expect, test } from 'vitest';

// A client whose types are generated from the description: the compiler checks its paths, parameters and bodies, and the test its answers.

useServedFixture();

const clientOf = (token: string) =>
  createClient<paths>({ baseUrl: server.url, headers: { authorization: `Bearer ${fixture.tokens[token]}` } });

test('a generated client pages through keys, approves a plan and gets a typed problem for a refusal', async () => {
  const client = clientOf('operator');
  const keys: components['schemas']['Key'][] = [];
  for (let cursor: string | undefined; ; ) {
    const { data } = await client.GET('/v1/keys', { params: { query: { limit: 2, ...(cursor ? { cursor } : {}) } } });
    keys.push(...(data?.items ?? []));
    if (data?.next_cursor == null) break;
    cursor = data.next_cursor;
  }
  expect(keys.map((key) => key.number).toSorted()).toEqual(Object.values(fixture.keys).toSorted());

  const path = { plan_id: fixture.planId };
  const plan = await client.GET('/v1/plans/{plan_id}', { params: { path } });
  expect(plan.data?.id).toBe(fixture.planId);
  const approved = await client.POST('/v1/plans/{plan_id}/approvals', { params: { path } });
  expect(approved.response.status).toBe(201);

  const refused = await clientOf('viewer').POST('/v1/plans/{plan_id}/approvals', { params: { path } });
  expect(refused.data).toBeUndefined();
  expect(refused.error?.title).toBe('Forbidden');
});

test('the patterns of the description are written as every language reads them', async () => {
  const text = await (await fetch(`${server.url}/openapi.json`)).text();
  const patterns = [...text.matchAll(/"pattern":("(?:[^"\\]|\\.)*")/g)].map(([, each = '']) =>
    String(JSON.parse(each)),
  );
  expect(patterns).toContain(String.raw`^[^\x00]*$`);
  // Lookarounds, references, and octal and Unicode escapes.
  for (const pattern of patterns) expect(pattern).not.toMatch(/\(\?[=!<]|\\[0-9up]/);
});
