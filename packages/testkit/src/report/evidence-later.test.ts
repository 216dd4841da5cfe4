import { expect, test } from 'vitest';
import { download, editLines, forge, unpack } from './packs.ts';
import { packs, usePacks } from './packs-fixture.ts';

// Archives of evidence of records that changed after the tree was signed, or after the period.

usePacks();

test('what changed after the tree was signed has no receipt yet, and contradicts nothing', async () => {
  const { fixture } = packs;
  const post = async (path: string, body?: object) => await fixture.ask(path, { as: 'operator', method: 'POST', body });
  const { body: opened } = await post('/v1/reviews', { title: 'changed', keys: { organization_id: 'acme' } });
  const decide = async (decision: string) =>
    await post(`/v1/reviews/${String(opened.id)}/decisions`, {
      keys: [fixture.keys['12']],
      decision,
      reason: 'looked at',
    });
  await decide('keep');
  await fixture.ledger.sign();
  await decide('revoke');
  await post(`/v1/reviews/${String(opened.id)}/signature`);
  const [incident] = (await fixture.ask('/v1/incidents?limit=1', { as: 'auditor' })).body.items;
  await fixture.store.sql`
    update keywarden.incident set closed_at = now(), closed_by = 'ada', note = 'seen' where number = ${String(incident?.id)}`;
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
