import { createClient, noLimiter } from '@keywarden/core/client';
import { policySchema } from '@keywarden/core/policy';
import { listLiveKeys, saveConnection } from '@keywarden/db/daemon';
import { connectionOf } from '@keywarden/testkit/daemon/fixture';
import { age, exempt, fault, live } from '@keywarden/testkit/daemon/lineage-fixture';
import {
  ask,
  day,
  fixture,
  liveNames,
  openIncidents,
  organization,
  pass,
  prepare,
  secretOf,
  states,
  store,
  use,
  useRotateFixture,
} from '@keywarden/testkit/daemon/rotate-fixture';
import { expect, test } from 'vitest';
import { rotate } from './rotate.ts';

useRotateFixture();

const quiet = policySchema.parse({ rules: [] });

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

test("T3: the answer to another rotation's mint is not delivered again, while a list does not show its key yet", async () => {
  let first: Response | undefined;
  let isOdd = false;
  const repeating: typeof fetch = async (input, init) => {
    const answer = await fetch(input, init);
    if (!isOdd || !answer.ok) return answer;
    if (init?.method === 'POST') return (first ??= answer).clone();
    const url = input instanceof Request ? input.url : String(input);
    if (!/organizations\/[^/]+\/api_keys$/.test(url)) return answer;
    const rows = (await answer.json()) as { name: string }[];
    return Response.json(
      rows.filter(({ name }) => !name.includes(' kw-')),
      { headers: answer.headers },
    );
  };
  const minted = await prepare(['bot', 'other', 'survivor'], { client: { fetch: repeating }, policy: quiet });
  isOdd = true;
  await ask(['bot', 'other'], 'files');
  isOdd = false;
  const now = (await states()).map((state) => state.replace(/^.*: /, ''));
  expect(now.toSorted()).toEqual(['delivered', 'minting']);
  for (let passes = 0; passes < 4; passes += 1) {
    await age();
    await pass(3700, { acts: false });
    await ask(['bot', 'other'], 'files');
  }
  expect((await states()).toSorted()).toEqual(['bot: overlapping', 'other: overlapping']);
  expect(secretOf(minted.other.id)).not.toBe(secretOf(minted.bot.id));
  expect(await liveNames()).toHaveLength(5);
  expect(await openIncidents()).toEqual([]);
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

test('R7: the scope of a mint is listed by a connection that has listed it at its control plane, and a refused one stops no other mint', async () => {
  await prepare(['a', 'b', 'c', 'd', 'survivor'], { policy: quiet });
  const main = connectionOf(fixture);
  const { identity: baseUrl, accountId, controlPlane } = main;
  for (const name of ['lister', 'moved']) {
    const found = { authMethod: 'api_key_user', ownKeyId: null, isSandbox: true, checkedAt: new Date().toISOString() };
    await saveConnection(store.sql, { name, baseUrl, accountId, ...found, replica: null });
    await store.sql`insert into keywarden.connection_scope (connection, control_plane_number, scope, seen_at)
      select ${name}, ${controlPlane}, ${`organization:${organization}`}, now() + interval '1 year'`;
  }
  await store.sql`delete from keywarden.connection_scope where connection = 'main' and scope like 'organization:%'`;
  const { url, adminKey } = fixture.sandbox;
  const clientOf = (apiKey: string) => createClient({ baseUrl: url, apiKey, limiter: noLimiter, time: main.time });
  const moved = { ...main, name: 'moved', controlPlane: '999', client: clientOf('napi_other') };
  const listBy = async (apiKey: string, names: string[]) => {
    const keys = (await listLiveKeys(fixture.context.store.db)).filter(({ name }) => names.includes(name));
    const lister = { ...main, name: 'lister', isPersonal: false, client: clientOf(apiKey) };
    const connections = [moved, lister, main];
    const done = await rotate(fixture.context, connections, { keys, sink: 'files', by: 'ada' });
    const [last] = await store.sql`select connection from keywarden.key_listing order by number desc limit 1`;
    return [
      last?.connection,
      ...done.moved.map(({ rotation: { state }, waits }) => (state === 'planned' ? waits : state)),
    ];
  };
  expect(await listBy(adminKey, ['a'])).toEqual(['lister', 'delivered']);
  await store.sql`delete from keywarden.connection_scope where connection = 'main' and scope like 'organization:%'`;
  const refused = expect.stringContaining('nothing was minted');
  expect(await listBy('napi_refused', ['b', 'c'])).toEqual(['main', refused, 'delivered']);
  expect(await listBy('napi_refused', ['d'])).toEqual(['main', 'delivered']);
});

test('T2: nothing is minted on a list that lacks the key, or most of the others', async () => {
  let shown: string[] | null = null;
  const lacking: typeof fetch = async (input, init) => {
    const answer = await fetch(input, init);
    const url = input instanceof Request ? input.url : String(input);
    const isList = (init?.method ?? 'GET') === 'GET' && /organizations\/[^/]+\/api_keys$/.test(url);
    if (!isList || shown === null || !answer.ok) return answer;
    const rows = (await answer.json()) as { name: string }[];
    return Response.json(
      rows.filter(({ name }) => shown?.includes(name)),
      { headers: answer.headers },
    );
  };
  const names = ['bot', 'a', 'b', 'c', 'd', 'e'] as const;
  await prepare([...names], { client: { fetch: lacking }, policy: quiet });
  shown = names.filter((name) => name !== 'bot');
  const waits = async () => (await ask(['bot'], 'files')).moved.map(({ waits }) => waits);
  expect(await waits()).toEqual(['the last listing does not show it']);
  shown = ['bot'];
  expect(await waits()).toEqual(['its scope could not be listed completely']);
  expect(await liveNames()).toEqual([...names]);
  shown = null;
  await ask(['bot'], 'files');
  expect(await states()).toEqual(['bot: delivered']);
});
