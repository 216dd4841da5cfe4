import { makePrincipal } from '@keywarden/testkit/store/principal';
import { makeControlPlane, makeWireKey } from '@keywarden/testkit/store/rows';
import { createTestStore, type TestStore } from '@keywarden/testkit/store/test-store';
import { afterAll, beforeAll, beforeEach, expect, inject, test } from 'vitest';
import { saveKeyListing } from '../daemon.ts';
import { decideReview, openReview, type Principal, readReviewDocument, signReview } from '../report.ts';
import type { Store } from '../store.ts';

// What a person may do ends with their token, and with a signature, also for a transaction that began before.

let store: TestStore;
let report: Store;
let operator: Principal;
let key: string;
let review: string;
beforeAll(async () => {
  store = await createTestStore(inject('postgresUrl'));
  report = await store.as('keywarden_report');
  const controlPlane = await makeControlPlane(store.sql);
  const at = '2026-06-01T00:00:00Z';
  const place = { controlPlane, scope: 'organization:acme', organizationId: 'acme', connection: 'main', run: null };
  await saveKeyListing(store.sql, { ...place, listedAt: at, begunAt: at, keys: [makeWireKey('1')] });
  key = String((await store.sql`select number from keywarden.key`)[0]?.number);
  await store.sql`
    insert into keywarden.plan (id, sha256, document, item_count, held_count, reported_count) values ('p', '', '{}', 1, 0, 0)`;
  operator = await makePrincipal(store, 'olga');
});
afterAll(async () => await store.close());

beforeEach(async () => {
  const fields = { title: 'x', filter: { isThere: true }, request: {}, holes: [], keepForDays: 1 };
  review = String(await openReview(report, { ...fields, asOf: '2026-06-01T00:00:00Z', principal: operator }));
  await decideReview(report.sql, { review, keys: [key], decision: 'keep', reason: 'in use', principal: operator });
});

const calls = {
  approve_plan: () => "$1, 'p'",
  reject_plan: () => "$1, 'p', 'not now'",
  grant_exemption: () => `$1, '{${key}}', null, 'a backup', 'infinity'`,
  request_rotation: () => `$1, ${key}, 'leaked'`,
  open_review: () => `$1, 'y', now(), '{}', '[]', 1, '[{"number": ${key}, "key": {}}]'`,
  open_campaign:
    () => `$1, jsonb_build_object('title', 'y', 'split_by', 'owner', 'due_at', now() + interval '1 day', 'remind_days', '[]'::jsonb,
    'default_decision', 'none', 'keep_needs_reason', 'always', 'escalate_after_days', 1), now(), '{}', '[]', 1,
    '[{"number": ${key}, "key": {"owner": "ada"}}]'`,
  decide_review: () => `$1, ${review}, '{${key}}', 'revoke', 'not needed'`,
  sign_review: () => `$1, ${review}, (select document from asked)`,
};
const names = Object.keys(calls) as (keyof typeof calls)[];

/** Returns the statement of a call, and its arguments. */
async function statementOf(name: keyof typeof calls, { credential }: Principal): Promise<[string, string[]]> {
  const document = await readReviewDocument(report.sql, review);
  return [
    `with asked as (select $2::text as document) select keywarden.${name}(${calls[name]()})`,
    [credential, document],
  ];
}

const revoke = async ({ token }: Principal) =>
  await store.sql`update keywarden.report_token set revoked_at = now(), revoked_by = 'ada' where number = ${token}`;

test.each(names)('%s is refused to a token that was revoked after the snapshot of its transaction', async (name) => {
  for (const level of ['repeatable read', 'serializable']) {
    const thief = await makePrincipal(store, 'mallory');
    const call = await statementOf(name, thief);
    const acted = report.sql.begin(`isolation level ${level}`, async (tx) => {
      await tx`select from keywarden.plan`;
      await revoke(thief);
      await tx.unsafe(...call);
    });
    await expect(acted).rejects.toMatchObject({ code: '25000' });
  }
});

test.each(['keywarden_report', 'owner'] as const)(
  'a decision of %s cannot reach a signed review from a transaction that began before the signature',
  async (who) => {
    const { sql } = who === 'owner' ? store : report;
    const decided = sql.begin('isolation level repeatable read', async (tx) => {
      await tx`select from keywarden.review`;
      await signReview(report.sql, { review, principal: operator });
      if (who === 'owner')
        await tx`insert into keywarden.review_decision (review_number, key_number, decision, reason, decided_by)
          values (${review}, ${key}, 'revoke', 'late', 'x')`;
      else
        await tx`select keywarden.decide_review(${operator.credential}, ${review}, ${[key]}::bigint[], 'revoke', 'late')`;
    });
    await expect(decided).rejects.toMatchObject({ code: '25000' });
  },
);

const advisory = (name: string) => `select pg_advisory_xact_lock(hashtextextended('${name}', 2))`;
const ofReview = () => `select from keywarden.review where number = ${review} for update`;

test.each<[keyof typeof calls, lock: (actsAs: string) => string]>([
  ['approve_plan', () => advisory('approvals of plans')],
  ['decide_review', ofReview],
  ['sign_review', ofReview],
  ['grant_exemption', (actsAs) => advisory(`exemptions by ${actsAs}`)],
  ['open_review', (actsAs) => advisory(`reviews by ${actsAs}`)],
  ['open_campaign', (actsAs) => advisory(`reviews by ${actsAs}`)],
])('%s is refused to a token that was revoked while the call waited for another transaction', async (name, lock) => {
  const thief = await makePrincipal(store, 'mallory');
  const call = await statementOf(name, thief);
  let waiting: Promise<unknown> | undefined;
  await store.sql.begin(async (tx) => {
    await tx.unsafe(lock(`mallory (report token ${thief.token})`));
    waiting = report.sql.unsafe(...call).execute();
    await store.untilBlocked(waiting);
    await revoke(thief);
  });
  await expect(waiting).rejects.toMatchObject({ code: 'KW002' });
});

test('no review and no campaign of no key is opened, however that is written', async () => {
  for (const items of ['null', `'[]'`])
    for (const opening of [`open_review($1, 'x', now()`, `open_campaign($1, '{"due_at": "tomorrow"}', now()`])
      expect(
        await report.sql.unsafe(`select keywarden.${opening}, '{}', '[]', 1, ${items}) as made`, [operator.credential]),
      ).toEqual([{ made: null }]);
});
