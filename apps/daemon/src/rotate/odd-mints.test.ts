import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { policySchema } from '@keywarden/core/policy';
import { advanceRotation, listLiveKeys, listOpenRotations } from '@keywarden/db/daemon';
import { until } from '@keywarden/testkit';
import { age, exempt, fault, path, writeScript } from '@keywarden/testkit/daemon/lineage-fixture';
import {
  ask,
  day,
  everyKey,
  fixture,
  folder,
  liveNames,
  type Minted,
  openIncidents,
  organization,
  parseSinks,
  pass,
  prepare,
  project,
  rotating,
  secretOf,
  states,
  store,
  use,
  useRotateFixture,
} from '@keywarden/testkit/daemon/rotate-fixture';
import { expect, test } from 'vitest';
import { disarmMachine } from '../enforce/high-water-mark.ts';
import { rotate } from './rotate.ts';

// Mints whose answers, or whose keys, are not what was requested; and requests that must not mint.

useRotateFixture();

const quiet = policySchema.parse({ rules: [] });
const keysOf = () => path.replace('{org_id}', organization);

/** Returns a fetch whose next POST is answered by `answer`, once it is turned on. */
function oddPost(answer: (input: Parameters<typeof fetch>[0], init: RequestInit) => Promise<Response>) {
  const odd = {
    isOn: false,
    fetch: (async (input, init) => {
      if (init?.method !== 'POST' || !odd.isOn) return await fetch(input, init);
      odd.isOn = false;
      return await answer(input, init);
    }) as typeof fetch,
  };
  return odd;
}

test('a key of a project gets no successor that has the permissions of the whole organization', async () => {
  const odd = oddPost(async (input, init) => {
    const text = typeof init.body === 'string' ? init.body : '';
    return await fetch(input, { ...init, body: text.replace(/,?"project_id":"[^"]*"/, '') });
  });
  await prepare(['survivor'], { client: { fetch: odd.fetch }, policy: quiet });
  const scoped = await fixture.ask<Minted>('POST', keysOf(), { key_name: 'scoped', project_id: project });
  await pass(100 * day, { acts: false });
  odd.isOn = true;
  await ask(['scoped'], 'files');
  expect(existsSync(join(folder, `key-${scoped.id}`))).toBe(false);
  for (let passes = 0; passes < 4; passes += 1) {
    await age();
    await pass(3700, { acts: false });
    await ask(['scoped'], 'files');
  }
  const kinds = (await listLiveKeys(fixture.context.store.db)).map(({ name, kind }) => `${name}: ${kind}`);
  expect(kinds.filter((key) => key.startsWith('scoped')).toSorted()).toEqual([
    expect.stringMatching(/^scoped kw-\w+-2: project$/),
    'scoped: project',
  ]);
});

test('T1: the use of a key whose id a mint was answered with, and that somebody else created, retires no key', async () => {
  let colleague: Minted | undefined;
  const odd = oddPost(async (input, init) => {
    colleague = await fixture.ask<Minted>('POST', keysOf(), { key_name: 'colleague' });
    const answer = await fetch(input, init);
    const body = { ...((await answer.json()) as object), id: colleague.id };
    return Response.json(body, { headers: { date: answer.headers.get('date') ?? '' } });
  });
  const { bot } = await prepare(['bot', 'survivor'], { client: { fetch: odd.fetch } });
  await exempt('survivor');
  odd.isOn = true;
  for (let days = 0; days < 12; days += 1) {
    await age();
    await pass(day);
    await use(colleague?.key ?? '');
  }
  expect(await use(bot.key)).toBe(200);
  expect((await openIncidents()).length).toBeGreaterThan(0);
});

test('T1: a successor whose record has changed retires no key until a person has checked it', async () => {
  let successor: string | undefined;
  const changing: typeof fetch = async (input, init) => {
    const answer = await fetch(input, init);
    const url = input instanceof Request ? input.url : String(input);
    const isList = (init?.method ?? 'GET') === 'GET' && /organizations\/[^/]+\/api_keys$/.test(url);
    if (!isList || successor === undefined || !answer.ok) return answer;
    const rows = (await answer.json()) as { id: unknown; created_by: object }[];
    const usedAt = new Date(answer.headers.get('date') ?? '').toISOString();
    const change = (row: (typeof rows)[number]) => ({
      ...row,
      created_by: { ...row.created_by, id: '00000000-0000-4000-a000-00000000abcd' },
      last_used_at: usedAt,
    });
    return Response.json(
      rows.map((row) => (String(row.id) === successor ? change(row) : row)),
      { headers: answer.headers },
    );
  };
  const { bot } = await prepare(['bot', 'survivor'], { client: { fetch: changing } });
  await exempt('survivor');
  for (let passes = 0; passes < 2; passes += 1) await pass();
  successor = String((await everyKey()).find(({ name }) => name.startsWith('bot kw-'))?.id);
  for (let days = 0; days < 12; days += 1) {
    await age();
    await pass(day);
  }
  expect(await use(bot.key)).toBe(200);
});

test('T2: a machine that is not armed revokes the orphan of a rotation that a person requested, and no other', async () => {
  const { bot } = await prepare(['bot', 'two'], { policy: quiet });
  disarmMachine(fixture.context);
  await fixture.controls.setFaults([{ ...fault, kind: 'lose_response' }]);
  await ask(['bot'], 'files');
  await fixture.controls.setFaults([]);
  await age();
  await pass(3700);
  await ask(['two'], 'files');
  expect(await liveNames()).toContainEqual(expect.stringMatching(/^bot kw-\w+-1$/));
  for (let passes = 0; passes < 5; passes += 1) {
    await age();
    await pass(3700);
    await ask(['bot'], 'files');
  }
  expect(await states()).toContain('bot: overlapping');
  expect((await liveNames()).filter((name) => name.startsWith('bot'))).toEqual([
    'bot',
    expect.stringMatching(/^bot kw-\w+-2$/),
  ]);
  expect(await use(secretOf(bot.id))).toBe(200);
});

test('R6: a rule that no longer enforces mints no successor for a rotation that it planned', async () => {
  await prepare(['bot', 'survivor']);
  await exempt('survivor');
  await fixture.controls.setFaults([{ ...fault, times: 20, kind: 'status', status: 423 }]);
  await pass();
  await fixture.controls.setFaults([]);
  expect(await states()).toEqual(['bot: planned']);
  const { config } = fixture.context;
  config.policy = policySchema.parse({
    rules: [{ name: 'old', older_than: '90d', action: 'rotate', rotation: { sink: 'files' } }],
  });
  await pass();
  expect(await states()).toEqual(['bot: planned']);
  // Without a connection that can mint, the rotation fails, unless an unusable connection may be the one.
  config.policy = rotating();
  const cannotMint = fixture.connections.map((each) => ({ ...each, isPersonal: false }));
  config.connections.push(...config.connections.map((each) => ({ ...each, name: 'unusable' })));
  await rotate(fixture.context, cannotMint);
  expect(await states()).toEqual(['bot: planned']);
  config.connections.pop();
  await rotate(fixture.context, cannotMint);
  expect(await states()).toEqual(['bot: failed']);
  expect(await liveNames()).toEqual(['bot', 'survivor']);
});

test('R7: a refused credential mints once in a pass, and a pause ends a pass before its next delivery', async () => {
  await prepare(['a', 'b', 'survivor'], { policy: quiet });
  await fixture.controls.setFaults([{ ...fault, times: 20, kind: 'status', status: 401 }]);
  const { moved } = await ask(['a', 'b'], 'files');
  expect(moved.map(({ waits }) => waits)).toEqual([
    expect.stringContaining('nothing was minted'),
    'the credential of connection main was refused',
  ]);
  await fixture.controls.setFaults([]);
  const order = join(folder, 'order');
  const go = join(folder, 'go');
  const script = writeScript(
    'store.sh',
    `cat > /dev/null; echo "$KEYWARDEN_LINE" >> "${order}"; while ! [ -e "${go}" ]; do sleep 0.05; done`,
  );
  fixture.context.config.sinks = parseSinks([{ name: 'files', kind: 'command', command: [script] }]);
  const running = ask(['a', 'b'], 'files');
  await until(() => Promise.resolve(existsSync(order)));
  await store.sql`insert into keywarden.pause (paused_by, reason) values ('ada', 'the sink is wrong')`;
  writeScript('go', '');
  expect((await running).why).toContain('paused by ada');
  expect(readFileSync(order, 'utf8').trim().split('\n')).toHaveLength(1);
});

test('a requested rotation uses the sink of no rule that is about other keys', async () => {
  const policy = policySchema.parse({
    rules: [
      {
        name: 'old',
        match: { organizations: ['another'] },
        older_than: '90d',
        action: 'rotate',
        rotation: { sink: 'theirs' },
      },
    ],
  });
  const sinks = parseSinks([{ name: 'theirs', kind: 'file', path: join(folder, 'theirs-{lineage}') }]);
  await prepare(['bot', 'survivor'], { policy, sinks });
  const { opened } = await ask(['bot']);
  expect(opened.map(({ whyNot }) => whyNot)).toEqual([
    expect.stringMatching(/^no rule of the policy names a sink for it/),
  ]);
});

test('T2: a secret is not delivered if another process has advanced the rotation during its mint', async () => {
  const odd = oddPost(async (input, init) => {
    const answer = await fetch(input, init);
    const [begun] = await listOpenRotations(fixture.context.store.db);
    if (begun === undefined) throw new Error('nothing was begun');
    const move = { to: 'planned', why: null, isIncident: false } as const;
    await advanceRotation(store.sql, begun, { event: 'decided', move, at: begun.since });
    return answer;
  });
  const { bot } = await prepare(['bot', 'survivor'], { client: { fetch: odd.fetch }, policy: quiet });
  odd.isOn = true;
  await ask(['bot'], 'files');
  expect(await liveNames()).toEqual(['bot', 'survivor', expect.stringMatching(/^bot kw-\w+-1$/)]);
  expect(existsSync(join(folder, `key-${bot.id}`))).toBe(false);
});

test('a late answer to an earlier mint is not recorded for a later one', async () => {
  await prepare(['bot', 'survivor'], { policy: quiet });
  await fixture.controls.setFaults([{ ...fault, kind: 'drop' }]);
  await ask(['bot'], 'files');
  const [begun] = await listOpenRotations(fixture.context.store.db);
  const mint = begun?.mints[0];
  if (begun === undefined || mint === undefined) throw new Error('nothing was minted');
  const at = begun.since;
  const move = { to: 'planned', why: null, isIncident: false } as const;
  const planned = await advanceRotation(store.sql, begun, { event: 'decided', move, at });
  if (planned === undefined) throw new Error('the rotation did not move');
  await advanceRotation(store.sql, planned, {
    event: 'mint_begun',
    mint: { ...mint, attempt: 2, name: 'bot kw-abcdefgh-2' },
    at,
  });
  expect(await advanceRotation(store.sql, begun, { event: 'minted', keyId: '999', at })).toBeUndefined();
});
