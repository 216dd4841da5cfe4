import { expect, test } from 'vitest';
import { download, editLines, editRows, forge, unpack } from './packs.ts';
import { evidence, packs, usePacks } from './packs-fixture.ts';

// Archives of evidence of records that began before the period, or changed within it, after it, or after the tree was signed.

usePacks();

test('what changed after the tree was signed has no receipt yet, and contradicts nothing', async () => {
  const { fixture } = packs;
  const post = async (path: string, body?: object) => {
    const answer = await fixture.ask(path, { as: 'operator', method: 'POST', body });
    expect([path, answer.status < 300]).toEqual([path, true]);
    return answer;
  };
  const { body: opened } = await post('/v1/reviews', { title: 'changed', keys: { organization_id: 'acme' } });
  const decide = async (decision: string) =>
    await post(`/v1/reviews/${String(opened.id)}/decisions`, {
      keys: [fixture.keys['12'], fixture.keys['9007199254740993']],
      decision,
      reason: 'looked at',
    });
  await decide('keep');
  await fixture.ledger.sign();
  await decide('revoke');
  await post(`/v1/reviews/${String(opened.id)}/signature`);
  const [incident] = (await fixture.ask('/v1/incidents?limit=1', { as: 'auditor' })).body.items;
  await fixture.store.sql`
    update keywarden.incident 
    set detail = '{"why": "later"}', closed_at = now(), closed_by = 'ada', note = 'seen' where number = ${String(incident?.id)}`;
  const tomorrow = new Date(Date.now() + 86_400_000).toISOString();
  const download_ = async () => unpack(await download(fixture, `/v1/evidence?from=2026-05-01&to=${tomorrow}`));
  const before = await packs.verify(await download_());
  expect([before.rank, JSON.parse(before.words).verdict.wrong]).toEqual([1, []]);
  await fixture.ledger.sign();
  expect((await packs.verify(await download_())).rank).toBe(1);
});

test('a rotation that moved in the period and again after it stays due', async () => {
  const { fixture } = packs;
  await fixture.ledger.sign();
  const until = new Date().toISOString();
  const path = `/v1/evidence?from=2026-05-01&to=${until}`;
  await fixture.store.sql`
    insert into keywarden.rotation_event (rotation_number, sequence, state, at, why)
    select rotation_number, max(sequence) + 1, (array_agg(state order by sequence desc))[1], now(), 'a test' from keywarden.rotation_event group by rotation_number`;
  await fixture.ledger.sign();
  const whole = unpack(await download(fixture, path));
  expect((await packs.verify(whole)).rank).toBe(1);
  const cut = forge(
    /-rotations\.ndjson$/,
    editLines((lines) => lines.slice(1)),
  )(whole);
  expect((await packs.verify(cut)).rank).toBe(2);
});

test('a revocation of a rotation names who requested that, and a rotation who gave it up', async () => {
  const { store, ledger } = packs.fixture;
  const [rotation] = await store.sql`select number, id from keywarden.rotation`;
  const number = String(rotation?.number);
  await store.sql`
    with intended as (
      insert into keywarden.revocation_intent (rotation_number, key_number, attempt, connection, last_listing_number, judged_at)
      select ${number}, key_number, 1, 'main', (select max(number) from keywarden.key_listing), '2026-06-01' from keywarden.rotation
      returning number)
    insert into keywarden.revocation_outcome (intent_number, outcome) select number, 'failed' from intended`;
  await store.sql`update keywarden.rotation set given_up_by = 'bob', ended_at = now()`;
  await ledger.sign();
  const tomorrow = new Date(Date.now() + 86_400_000).toISOString();
  const evidence = unpack(await download(packs.fixture, `/v1/evidence?from=2026-05-01&to=${tomorrow}`));
  const honest = await packs.verify(evidence);
  expect([honest.rank, honest.words]).toEqual([1, expect.not.stringContaining('without a receipt')]);
  const forged = async (table: RegExp, column: string, change: Record<string, unknown>) => {
    const rows = editRows((row) => (row[column] === rotation?.id ? { ...row, ...change } : row));
    return (await packs.verify(forge(table, rows)(evidence))).rank;
  };
  for (const change of [{ approved_by: 'eve' }, { approved_by: null }, { via: 'report' }])
    expect([change, await forged(/-revocations\.ndjson$/, 'rotation_id', change)]).toEqual([change, 2]);
  for (const change of [{ given_up_by: 'eve' }, { given_up_by: null }, { requested_by: 'eve' }])
    expect([change, await forged(/-rotations\.ndjson$/, 'id', change)]).toEqual([change, 2]);
});

test('an exemption that was in force in the period, and granted before it, cannot be left out of its table', async () => {
  const { store, ledger } = packs.fixture;
  await store.sql`
    with granted as (
      insert into keywarden.exemption (reason, granted_by, granted_at, until, ended_at, ended_by)
      select reason, 'ada', now() - interval '50 minutes', now() + lasts::interval, now() + ends::interval, case when ends is not null then 'ada' end
      from (values ('holds', '30 days', null), ('ends within', '30 days', '-20 minutes'), ('lapses within', '-20 minutes', null),
        ('ends before', '30 days', '-40 minutes'), ('lapses before', '-40 minutes', null), ('covers no key', '30 days', null)) v(reason, lasts, ends)
      returning number, reason)
    insert into keywarden.exemption_key (exemption_number, key_number) select g.number, ${String(packs.fixture.keys['13'])}::bigint from granted g where reason <> 'covers no key'`;
  await ledger.sign();
  const [from, to] = [-30, 1440].map((minutes) => new Date(Date.now() + minutes * 60_000).toISOString());
  const evidence = unpack(await download(packs.fixture, `/v1/evidence?from=${from}&to=${to}`));
  const honest = await packs.verify(evidence);
  expect([honest.rank, honest.words]).toEqual([1, expect.not.stringContaining('has no row')]);
  for (const reason of ['holds', 'ends within', 'lapses within']) {
    const without = editLines((lines) => lines.filter((line) => !line.includes(reason)));
    const { rank, words } = await packs.verify(forge(/-exemptions\.ndjson$/, without)(evidence));
    expect([reason, rank, words]).toEqual([reason, 2, expect.stringContaining('has no row of exemption/')]);
  }
});

test('a period has what happened at its first instant, and not what happened at its end', async () => {
  const judgedAt = '2026-06-01T00:00:00Z';
  const tomorrow = new Date(Date.now() + 86_400_000).toISOString();
  const from = unpack(await download(packs.fixture, `/v1/evidence?from=${judgedAt}&to=${tomorrow}`));
  const without = forge(/-revocations\.ndjson$/, () => '')(from);
  expect(await packs.verify(without)).toMatchObject({
    rank: 2,
    words: expect.stringContaining('has no row of revocation'),
  });
  const until = unpack(await download(packs.fixture, `/v1/evidence?from=2026-05-01&to=${judgedAt}`));
  expect(await packs.verify(until)).toMatchObject({ rank: 1, words: expect.not.stringContaining('has no row') });
  // Rows that the ledger recorded, in the archive of a period that is not theirs.
  for (const table of [
    'revocations',
    'exemptions',
    'incidents',
    'decisions',
    'rotations',
    'reviewed_keys',
    'reviews',
  ]) {
    const name = new RegExp(`-${table}\\.ndjson$`);
    const [, rows = ''] = Object.entries(from).find(([file]) => name.test(file)) ?? [];
    const { rank, words } = await packs.verify(forge(name, () => rows)(until));
    expect([table, rank, words]).toEqual([table, 2, expect.stringContaining('is not of the period')]);
  }
});

test('a state for which there is no receipt is not proven; one of a time that has receipts is refused', async () => {
  const moveTo = (since: string, edit: (events: unknown[], move: object) => unknown) =>
    forge(
      /-rotations\.ndjson$/,
      editRows((row) => {
        const move = { state: 'failed', why: null };
        const events = edit(row.events as unknown[], { ...move, at: since });
        return { ...row, ...move, since, events };
      }),
    )(evidence);
  const now = new Date().toISOString();
  const { rank, words } = await packs.verify(moveTo(now, (events, move) => [...events, move]));
  expect(rank).toBe(1);
  expect(words).toMatch(/-rotations\.ndjson: 1 row without a receipt/);
  for (const since of ['2026-05-20T00:00:00Z', '2030'])
    expect((await packs.verify(moveTo(since, (events, move) => [...events, move]))).rank).toBe(2);
  // Its transitions are those of the ledger, and end with its state.
  for (const edit of [
    (events: unknown[]) => events,
    (events: unknown[], move: object) => [...events, move, { ...move, state: 'retired' }],
    (_events: unknown[], move: object) => [move, move],
    ([first, ...events]: unknown[], move: object) => [{ ...(first as object), by: 'ada' }, ...events, move],
    () => null,
  ])
    expect((await packs.verify(moveTo(now, edit))).rank).toBe(2);
});
