import {
  apply,
  fixture,
  makeStoredPlan,
  outcomes,
  revokedNames,
  use,
  useApplyFixture,
} from '@keywarden/testkit/daemon/apply-fixture';
import { type Answer, prepareBetween, setBetween } from '@keywarden/testkit/daemon/between-fixture';
import { connectionOf } from '@keywarden/testkit/daemon/fixture';
import { expect, test } from 'vitest';
import { syncKeys } from '../sync/keys.ts';

// A cache of nginx before the control plane: it writes its own Date and no Age, and ignores the request's Cache-Control.

useApplyFixture();

/** Returns a cache that keeps every answer to a read, and repeats it with these headers and the current Date. */
function dateWritingCache(more: Record<string, string> = {}): Answer {
  const kept = new Map<string, { body: string; headers: Headers }>();
  return async ({ method, url }, forward) => {
    const answer = await forward();
    if (method !== 'GET') return answer;
    const old = kept.get(url.href) ?? { body: await answer.text(), headers: new Headers(answer.headers) };
    const fresh: Record<string, string> = kept.has(url.href) ? { ...more, date: answer.headers.get('date') ?? '' } : {};
    kept.set(url.href, old);
    for (const [name, value] of Object.entries(fresh)) old.headers.set(name, value);
    return new Response(old.body, { headers: old.headers });
  };
}

/** Makes a plan, lets the cache keep the lists of that moment, and applies the plan after its key was used. */
async function applyBehind(cache: Answer) {
  const { one } = await prepareBetween(['one', 'busy']);
  const plan = await makeStoredPlan();
  setBetween(cache);
  await syncKeys(fixture.context, connectionOf(fixture));
  await use(one?.key ?? '');
  await fixture.reconnect();
  return outcomes(await apply(plan));
}

test('R1: no key is revoked on a list that a cache repeats with a Date of its own', async () => {
  expect(await applyBehind(dateWritingCache())).toEqual({
    one: expect.stringMatching(/its listing is suspect: a cache between answered, as its Age or the id of its request/),
  });
  expect(await revokedNames()).toEqual([]);
});

test('the counter-test of R1: where nothing shows that an answer is repeated, a key in use is revoked on it', async () => {
  expect(await applyBehind(dateWritingCache({ 'x-neon-ret-request-id': 'short' }))).toEqual({ one: 'revoked' });
});
