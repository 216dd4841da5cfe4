import { makeToken } from '@keywarden/testkit/store/principal';
import { makeControlPlane, makeWireKey } from '@keywarden/testkit/store/rows';
import { createTestStore } from '@keywarden/testkit/store/test-store';
import { expect, inject, test } from 'vitest';
import { saveKeyListing } from '../daemon.ts';
import { listTokenEffects } from './tokens.ts';

test('what a token did that stays in effect: its exemptions in force, its open rotations and its signed reviews, and nothing of another', async () => {
  const store = await createTestStore(inject('postgresUrl'));
  const daemon = await store.as('keywarden_daemon');
  const { number } = await makeToken(store, 'ada', 'operator');
  const [own, other] = [`ada (report token ${number})`, `ada (report token 1${number})`];
  const at = '2026-06-01T00:00:00Z';
  await saveKeyListing(daemon.sql, {
    controlPlane: await makeControlPlane(daemon.sql),
    scope: 'organization:acme',
    organizationId: 'acme',
    connection: 'main',
    run: null,
    listedAt: at,
    begunAt: at,
    keys: ['1', '2', '3'].map((id) => makeWireKey(id)),
  });
  await store.sql`
    insert into keywarden.exemption (reason, granted_by, granted_at, until, ended_at) values
      ('in force', ${own}, '2026-06-01', '2126-06-01', null),
      ('ended', ${own}, '2026-06-01', '2126-06-01', '2026-06-02'),
      ('lapsed', ${own}, '2026-06-01', '2026-06-02', null),
      ('of another token', ${other}, '2026-06-01', '2126-06-01', null),
      ('of a person of that name', 'ada', '2026-06-01', '2126-06-01', null)`;
  await store.sql`
    insert into keywarden.rotation (id, key_number, lineage_number, sink, quiet_for, adopt_within, via, requested_by, policy_sha256, ended_at)
    select r.id, k.number, k.number, 's', '7 days', '7 days', 'report', r.requested_by, 'x', r.ended_at
    from (values ('isopen00', '1', ${own}, null), ('hasended', '2', ${own}, '2026-06-02'::timestamptz), ('isothers', '3', ${other}, null))
        r(id, key_id, requested_by, ended_at)
      join keywarden.key k on k.id = r.key_id`;
  await store.sql`
    with opened as (
      insert into keywarden.review (title, opened_by, reviewer, as_of, filter, holes, keep_for)
        select 'quarterly', 'ada', 'ada', ${at}, '{}', '[]', '180 days' from generate_series(1, 2) returning number
    )
    insert into keywarden.review_signature (review_number, signed_by, sha256)
      select number, case when number = 1 then ${own} else ${other} end, 'x' from opened`;
  const { db } = await store.as('keywarden_admin');
  expect(await listTokenEffects(db, number)).toEqual({ exemptions: ['1'], rotations: ['isopen00'], reviews: ['1'] });
  expect(await listTokenEffects(db, `2${number}`)).toEqual({ exemptions: [], rotations: [], reviews: [] });
  await store.close();
});
