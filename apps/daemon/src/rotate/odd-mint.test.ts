import { age, exempt, fault, live } from '@keywarden/testkit/daemon/lineage-fixture';
import {
  day,
  fixture,
  liveNames,
  openIncidents,
  pass,
  prepare,
  states,
  use,
  useRotateFixture,
} from '@keywarden/testkit/daemon/rotate-fixture';
import { expect, test } from 'vitest';

useRotateFixture();

test("T1: a mint answered with another live key's id retires nothing by that key's use, and ends with the right successor", async () => {
  let survivor: { id: number; key: string } | undefined;
  let isOdd = true;
  const oddly: typeof fetch = async (input, init) => {
    const answer = await fetch(input, init);
    if (init?.method !== 'POST' || survivor === undefined || !isOdd) return answer;
    const body = (await answer.json()) as object;
    return Response.json({ ...body, id: survivor.id }, { headers: { date: answer.headers.get('date') ?? '' } });
  };
  const minted = await prepare(['bot', 'survivor'], { client: { fetch: oddly } });
  await exempt('survivor');
  survivor = minted.survivor;
  for (let days = 0; days < 14; days += 1) {
    await age();
    await pass(day);
    await use(minted.survivor.key);
    expect(await use(minted.bot.key)).toBe(200);
  }
  expect((await states()).join()).not.toContain('retired');
  isOdd = false;
  await live(minted.bot, 24, 24);
  expect(await liveNames()).toContain('survivor');
  expect((await states()).join()).toContain('bot: retired');
  expect(await use(minted.bot.key)).toBe(401);
});

test('T2: a mint with a lost response, at a service that normalizes names, leaves no unreported orphan', async () => {
  const name = 'cafe\u0301';
  const normalising: typeof fetch = async (input, init) => {
    const answer = await fetch(input, init);
    const url = input instanceof Request ? input.url : input.toString();
    if (!url.endsWith('/api_keys') || !answer.ok) return answer;
    // The service began to do so recently: the old key still has its original name.
    const text = (await answer.text()).replaceAll(/"name":"([^"]*)"/g, (field, each: string) =>
      each === name ? field : field.normalize('NFC'),
    );
    return new Response(text, { status: answer.status, headers: answer.headers });
  };
  await prepare([name, 'survivor'], { client: { fetch: normalising } });
  await exempt('survivor');
  await fixture.controls.setFaults([{ ...fault, kind: 'lose_response' }]);
  await pass();
  await fixture.controls.setFaults([]);
  for (let days = 0; days < 2; days += 1) {
    await age();
    await pass(day);
  }
  expect((await openIncidents()).map(([kind]) => kind)).toEqual(['orphan']);
});
