import { expect, test } from 'vitest';
import { download, editLines, editRows, type Files, forge, leaveOutFiles, unpack } from './packs.ts';
import { packs, usePacks } from './packs-fixture.ts';

// Archives of evidence with rows in the forms that are rare: an honest one contradicts nothing.

usePacks();

async function takeEvidence(): Promise<Files> {
  const tomorrow = new Date(Date.now() + 86_400_000).toISOString();
  return unpack(await download(packs.fixture, `/v1/evidence?from=2026-05-01&to=${tomorrow}`));
}

async function verify(files: Files) {
  const { rank, words } = await packs.verify(files);
  return { rank, words, ...(JSON.parse(words) as { verdict: { unproven: string[]; wrong: string[] } }).verdict };
}

test('rows and events in rare forms are what the ledger recorded, and none of them can be left out', async () => {
  const { fixture } = packs;
  const { store, ledger, keys, planId } = fixture;
  const [plain, number, other] = ['9007199254740993', '12', '13'].map((id) => String(keys[id]));
  // A plan of an early version has no policy, and its revocation no time of the judgement. The first approval is of no revocation.
  await store.sql`
    insert into keywarden.plan (id, sha256, document, item_count, held_count, reported_count) values ('p-early', 'x', '{}', 1, 0, 0)`;
  await store.sql`
    insert into keywarden.plan_approval (plan_id, approved_by, via) values (${planId}, 'bob', 'report'), ('p-early', 'enforcement', 'enforcement')`;
  await store.sql`
    insert into keywarden.revocation_intent (plan_id, key_number, attempt, connection, approval_number, last_listing_number)
    select 'p-early', ${String(other)}::bigint, 2, 'main', (select max(number) from keywarden.plan_approval), max(number) from keywarden.key_listing`;
  // The names of these keys have another order than their numbers.
  await store.sql`
    with granted as (
      insert into keywarden.exemption (rules, pattern, reason, granted_by, granted_at, until)
      values ('{never-used,"a \\"b\\""}', '*', 'rare', 'ada', now(), now() + interval '30 days') returning number)
    insert into keywarden.exemption_key (exemption_number, key_number)
    select number, unnest(array[${String(plain)}, ${String(number)}]::bigint[]) from granted`;
  await store.sql`update keywarden.incident set detail = '{"why": "a later reason"}' where scope = 'organization:acme'`;
  const post = async (path: string, body?: object) => {
    const answer = await fixture.ask(path, { as: 'operator', method: 'POST', body });
    expect([path, answer.status < 300]).toEqual([path, true]);
    return answer.body;
  };
  const { id } = await post('/v1/reviews', { title: 'decided twice', keys: { organization_id: 'acme' } });
  for (const decision of ['keep', 'revoke'])
    await post(`/v1/reviews/${String(id)}/decisions`, { keys: [plain, number], decision, reason: 'looked at' });
  await post(`/v1/reviews/${String(id)}/signature`);
  await ledger.sign();
  const evidence = await takeEvidence();
  const honest = await verify(evidence);
  expect([honest.rank, honest.wrong, honest.words]).toEqual([1, [], expect.not.stringContaining('without a receipt')]);
  for (const [table, row] of [
    [/-revocations\.ndjson$/, 'p-early'],
    [/-incidents\.ndjson$/, 'a later reason'],
  ] as const) {
    const without = editLines((lines) => lines.filter((line) => !line.includes(row)));
    expect(await verify(forge(table, without)(evidence))).toMatchObject({ rank: 2 });
  }
  // The newest plan has no policy, and an older one has.
  expect((await verify(leaveOutFiles(evidence, /^policies\//))).wrong).toEqual([
    expect.stringContaining('it does not have the policy'),
  ]);
});

test('a rotation that moved after the tree was signed contradicts nothing, also if its control plane has a clock that is behind', async () => {
  const { store, ledger } = packs.fixture;
  const move = async (state: string, secondsAgo: number) =>
    await store.sql`
      insert into keywarden.rotation_event (rotation_number, sequence, state, at)
      select rotation_number, max(sequence) + 1, ${state}, now() - ${secondsAgo} * interval '1 second' from keywarden.rotation_event group by rotation_number`;
  await move('minting', 30);
  await ledger.sign();
  await move('minted', 29);
  const { rank, wrong, unproven } = await verify(await takeEvidence());
  expect([rank, wrong]).toEqual([1, []]);
  expect(unproven).toContainEqual(expect.stringMatching(/-rotations\.ndjson: 1 row without a receipt/));
  await ledger.sign();
});

test('rows with erased personal data are not proven, and contradict nothing; what else they have is compared', async () => {
  const { store } = packs.fixture;
  await store.sql`
    delete from keywarden.ledger_salt where event_number in (
      select number from keywarden.ledger_event where subject like 'plan_approval/%' or subject like 'incident/%')`;
  await store.sql`update keywarden.plan_approval set approved_by = 'erased'`;
  store.isTampered();
  const evidence = await takeEvidence();
  const { rank, wrong, unproven } = await verify(evidence);
  expect([rank, wrong]).toEqual([1, []]);
  for (const table of ['revocations', 'decisions', 'incidents'])
    expect(unproven).toContainEqual(
      expect.stringMatching(new RegExp(`-${table}\\.ndjson: the receipts do not show the personal data of \\d rows?`)),
    );
  const one = forge(
    /-incidents\.ndjson$/,
    editLines((lines) => lines.slice(0, 1)),
  );
  expect((await verify(one(evidence))).unproven).toContainEqual(
    expect.stringMatching(/-incidents\.ndjson: the receipts do not show the personal data of 1 row$/),
  );
  const forged = forge(
    /-decisions\.ndjson$/,
    editRows((row) => (row.decision === 'approved' ? { ...row, via: 'x' } : row)),
  );
  expect((await verify(forged(evidence))).rank).toBe(2);
});
