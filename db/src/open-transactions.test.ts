import { makePrincipal } from '@keywarden/testkit/store/principal';
import { makeControlPlane, makeWireKey } from '@keywarden/testkit/store/rows';
import { createTestStore, type TestStore } from '@keywarden/testkit/store/test-store';
import { afterAll, beforeAll, expect, inject, test } from 'vitest';
import { saveKeyListing } from './daemon.ts';
import { decideReview, openReview, type Principal, signReview } from './report.ts';
import type { Store } from './store.ts';

// What a login of the report cannot do, also by a transaction or a lock that it keeps open while a token ends, or a review is signed.

let store: TestStore;
let report: Store;
let operator: Principal;
let key: string;
beforeAll(async () => {
  store = await createTestStore(inject('postgresUrl'));
  report = await store.as('keywarden_report');
  const at = '2026-06-01T00:00:00Z';
  const place = { scope: 'organization:acme', organizationId: 'acme', connection: 'main', run: null };
  await saveKeyListing((await store.as('keywarden_daemon')).sql, {
    ...place,
    controlPlane: await makeControlPlane(store.sql),
    listedAt: at,
    begunAt: at,
    keys: [makeWireKey('1')],
  });
  key = String((await store.sql`select number from keywarden.key`)[0]?.number);
  operator = await makePrincipal(store, 'olga');
});
afterAll(async () => await store.close());

async function openDecided(): Promise<string> {
  const fields = { title: 'x', filter: { isThere: true }, request: {}, asOf: '2026-06-01T00:00:00Z', holes: [] };
  const review = String(await openReview(report, { ...fields, keepForDays: 1, principal: operator }));
  await decideReview(report.sql, { review, keys: [key], decision: 'keep', reason: 'in use', principal: operator });
  return review;
}

const revoke = async (name: string) =>
  await store.sql`update keywarden.report_token set revoked_at = clock_timestamp(), revoked_by = 'ada' where name = ${name}`;

test.each(['repeatable read', 'serializable'])(
  'in a %s transaction from before the end of a token, the token decides nothing',
  async (isolation) => {
    const { credential } = await makePrincipal(store, isolation);
    const late = report.sql.begin(`isolation level ${isolation}`, async (tx) => {
      await tx`select from keywarden.review`;
      await revoke(isolation);
      await tx`select keywarden.grant_exemption(${credential}, ${[key]}::bigint[], null, 'x', '2099-01-01')`;
    });
    await expect(late).rejects.toMatchObject({ code: '25000' });
  },
);

test('in a transaction from before a signature, nothing is added to the signed review', async () => {
  const review = await openDecided();
  const late = store.sql.begin('isolation level repeatable read', async (tx) => {
    await tx`select from keywarden.review`;
    expect(await signReview(report.sql, { review, principal: operator })).toMatchObject({ isSigned: true });
    await tx`
      insert into keywarden.review_decision (review_number, key_number, decision, reason, decided_by)
      values (${review}, ${key}, 'revoke', 'late', 'x')`;
  });
  await expect(late).rejects.toMatchObject({ code: '25000' });
});

test.each([
  ['approve_plan', 'approvals of plans', () => `'p'`],
  ['sign_review', null, (review: string) => `${review}, '{}'`],
  ['decide_review', null, (review: string) => `${review}, '{${key}}', 'revoke', 'x'`],
  ['grant_exemption', 'exemptions by', () => `'{${key}}', null, 'x', '2099-01-01'`],
  ['open_review', 'reviews by', () => `'x', now(), '{}', '[]', 1, '[{"number": ${key}, "key": {}}]'`],
  [
    'open_campaign',
    'reviews by',
    () => `'{"due_at": "tomorrow"}', now(), '{}', '[]', 1, '[{"number": ${key}, "key": {}}]'`,
  ],
] as const)('a token that ends while %s waits for a lock decides nothing', async (name, lock, args) => {
  const { credential, name: who, token } = await makePrincipal(store, `who calls ${name}`);
  const review = await openDecided();
  const release = Promise.withResolvers<void>();
  const begun = Promise.withResolvers<void>();
  const holding = report.sql.begin(async (tx) => {
    const of = lock?.endsWith(' by') === true ? `${lock} ${who} (report token ${token})` : lock;
    if (of === null)
      await tx`select keywarden.decide_review(${operator.credential}, ${review}, ${[key]}::bigint[], 'keep', 'x')`;
    else await tx`select pg_advisory_xact_lock(hashtextextended(${of}, 2))`;
    begun.resolve();
    await release.promise;
  });
  await Promise.race([begun.promise, holding]);
  const late = report.sql
    .unsafe(`select keywarden.${name}($1, ${args(review)})`, [credential])
    .catch((e: unknown) => e);
  await store.untilBlocked(late);
  await revoke(who).finally(release.resolve);
  await holding;
  expect(await late).toMatchObject({ code: 'KW002' });
});

test('no review and no campaign of no key is opened, however that is written', async () => {
  for (const items of ['null', `'[]'`])
    for (const opening of [`open_review($1, 'x', now()`, `open_campaign($1, '{"due_at": "tomorrow"}', now()`])
      expect(
        await report.sql.unsafe(`select keywarden.${opening}, '{}', '[]', 1, ${items}) as made`, [operator.credential]),
      ).toEqual([{ made: null }]);
});
