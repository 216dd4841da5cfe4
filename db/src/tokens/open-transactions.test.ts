import { readFactsAt } from '@keywarden/testkit/store/facts';
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
let campaign: string;
let exemption: string;
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

const open = async () => {
  const fields = { title: 'x', filter: { isThere: true }, request: {}, holes: [], keepForDays: 1 };
  review = String(await openReview(report, { ...fields, asOf: '2026-06-01T00:00:00Z', principal: operator }));
  await decideReview(report.sql, { review, keys: [key], decision: 'keep', reason: 'in use', principal: operator });
};

const calls = {
  approve_plan: () => "$1, 'p'",
  reject_plan: () => "$1, 'p', 'not now'",
  grant_exemption: () => `$1, '{${key}}', null, 'a backup', now() + interval '1 day'`,
  request_rotation: () => `$1, ${key}, 'leaked'`,
  open_review: () => `$1, 'y', now(), '{}', '[]', 1, '[{"number": ${key}, "key": {}}]'`,
  open_campaign:
    () => `$1, jsonb_build_object('title', 'y', 'split_by', 'owner', 'due_at', now() + interval '1 day', 'remind_days', '[]'::jsonb,
    'default_decision', 'none', 'keep_needs_reason', 'always', 'escalate_after_days', 1), now(), '{}', '[]', 1,
    '[{"number": ${key}, "key": {"owner": "ada"}}]'`,
  decide_review: () => `$1, ${review}, '{${key}}', 'revoke', 'not needed'`,
  sign_review: () => `$1, ${review}, (select document from asked)`,
  cancel_campaign: () => `$1, ${campaign}, 'a mistake'`,
  end_exemption: () => `$1, ${exemption}`,
};
beforeEach(async () => {
  await open();
  const make = async (name: 'grant_exemption' | 'open_campaign') => {
    const [row] = await report.sql.unsafe(`select keywarden.${name}(${calls[name]()}) as number`, [
      operator.credential,
    ]);
    return String(row?.number);
  };
  exemption = await make('grant_exemption');
  campaign = await make('open_campaign');
});

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
  ['cancel_campaign', () => `select from keywarden.review_campaign where number = ${campaign} for no key update`],
  ['end_exemption', () => `select from keywarden.exemption where number = ${exemption} for no key update`],
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

test.each(['token', 'session'])(
  'a %s that expires while a login keeps a transaction open has expired there',
  async (which) => {
    const { credential, token } = await makePrincipal(store, 'eva');
    await report.sql`select keywarden.open_session(${credential}, ${`of eva ${which}`}, '', '')`;
    const holder = which === 'token' ? credential : `of eva ${which}`;
    await report.sql.begin(async (tx) => {
      await tx`select now()`;
      await store.sql.unsafe(
        which === 'token'
          ? `update keywarden.report_token set expires_at = clock_timestamp() where number = ${token}`
          : `update keywarden.report_session set expires_at = clock_timestamp() where token_number = ${token}`,
      );
      expect(await tx`select name from keywarden.authenticate(${holder})`).toEqual([]);
    });
  },
);

test('a plan of over a day ago is not approved in a transaction that began when it was newer', async () => {
  const [answer] = await report.sql.begin(async (tx) => {
    await tx`select now()`;
    await store.sql`update keywarden.plan set last_made_at = clock_timestamp() - interval '24 hours' where id = 'p'`;
    return await tx`select keywarden.approve_plan(${operator.credential}, 'p') as number`;
  });
  expect(answer).toEqual({ number: null });
});

test('the approvals of a token end when it is revoked, also one that an open transaction commits later', async () => {
  await store.sql`update keywarden.plan set last_made_at = clock_timestamp() where id = 'p'`;
  const thief = await makePrincipal(store, 'mallory');
  for (const { credential } of [operator, thief]) await report.sql`select keywarden.approve_plan(${credential}, 'p')`;
  const persons = async () =>
    (await store.sql`select person from keywarden.standing_approval order by 1`).map((row) => String(row.person));
  expect(await persons()).toEqual(['mallory', 'olga']);
  await report.sql.begin(async (tx) => {
    await tx`select keywarden.approve_plan(${thief.credential}, 'p')`;
    await revoke(thief);
  });
  expect(await persons()).toEqual(['olga']);
});

test('the facts of a key show that the token that signed its review was revoked, also if an open transaction commits later', async () => {
  const out = async () =>
    await decideReview(report.sql, { review, keys: [key], decision: 'revoke', reason: 'unused', principal: operator });
  await out();
  const thief = await makePrincipal(store, 'mallory');
  const call = await statementOf('sign_review', thief);
  const reviewed = { at: expect.anything(), by: `olga (report token ${operator.token})`, reason: 'unused', review };
  const facts = async () =>
    (await readFactsAt(store, '2026-06-01T00:00:00Z')).keys.map(({ reviewedOut }) => reviewedOut);
  await report.sql.begin(async (tx) => {
    await tx.unsafe(...call);
    await revoke(thief);
  });
  expect(await facts()).toEqual([{ ...reviewed, isSignerRevoked: true }]);
  await open();
  await out();
  await report.sql.unsafe(...(await statementOf('sign_review', operator)));
  expect(await facts()).toEqual([{ ...reviewed, review }]);
});

const times = `
  select 'plan_approval' as "table", max(approved_at) as at from keywarden.plan_approval
  union all select 'plan_rejection', max(rejected_at) from keywarden.plan_rejection
  union all select 'plan', max(created_at) from keywarden.plan
  union all select 'exemption', max(granted_at) from keywarden.exemption
  union all select 'end of an exemption', max(ended_at) from keywarden.exemption
  union all select 'rotation_request', max(requested_at) from keywarden.rotation_request
  union all select 'review', max(opened_at) from keywarden.review
  union all select 'review_campaign', max(opened_at) from keywarden.review_campaign
  union all select 'end of a campaign', max(canceled_at) from keywarden.review_campaign
  union all select 'review_decision', max(decided_at) from keywarden.review_decision
  union all select 'review_signature', max(signed_at) from keywarden.review_signature
  union all select 'report_session', max(created_at) from keywarden.report_session
  union all select 'use of a session', max(last_seen_at) from keywarden.report_session
  union all select 'expiry of a session', max(expires_at) - interval '12 hours' from keywarden.report_session
  union all select 'end of a session', max(ended_at) from keywarden.report_session
  union all select 'access_log', max(at) from keywarden.access_log
  union all select 'incident', max(opened_at) from keywarden.incident`;

test('what a person does in a transaction that began before has the time at which they did it', async () => {
  const { credential } = operator;
  await store.sql`
    insert into keywarden.plan (id, sha256, approves, policy_sha256, document, item_count, held_count, reported_count) values ('p-2', '', '', 'v',
      ${JSON.stringify({ items: ['1', '2'].map((number) => ({ key: { number }, sha256: number })) })}, 2, 0, 0)`;
  // The control plane has the time of the database.
  await store.sql`update keywarden.key_listing set listed_at = received_at`;
  const signed = await statementOf('sign_review', operator);
  const acting = report.sql.begin(async (tx) => {
    await tx`select now()`;
    const [began] = await store.sql`select clock_timestamp()::text as at`;
    await tx.unsafe(...signed);
    for (const call of [
      `approve_plan($1, 'p-2')`,
      `reject_plan($1, 'p-2', 'not now')`,
      `derive_plan($1, 'p-2', '{1}')`,
      `grant_exemption($1, '{${key}}', null, 'a copy', now() + interval '1 year')`,
      `end_exemption($1, (select max(number) from keywarden.exemption))`,
      `request_rotation(${calls.request_rotation()})`,
      `open_review(${calls.open_review()})`,
      `open_campaign(${calls.open_campaign()})`,
      `cancel_campaign($1, (select max(number) from keywarden.review_campaign), 'no')`,
      `decide_review($1, (select max(number) from keywarden.review), '{${key}}', 'keep', 'in use')`,
      `open_session($1, 'a session', '', '')`,
      `end_session($1, (select max(number) from keywarden.report_session))`,
      `record_accesses('[{"request_id": "${crypto.randomUUID()}", "address": "", "method": "GET", "path": "/", "query": "", "status": 200, "event": "request"}]')`,
      'report_older_store()',
      'add_report_mark(gen_random_uuid())',
    ])
      await tx.unsafe(`select keywarden.${call}, $1::text`, [credential]);
    return String(began?.at);
  });
  const began = await acting;
  const early = await store.sql.unsafe(`select "table" from (${times}) t where at > $1::timestamptz is not true`, [
    began,
  ]);
  expect(early.map((row) => String(row.table))).toEqual([]);
});

test('a campaign is due between a second and 366 days after the moment at which it is opened, also in a transaction that began before', async () => {
  const openedIn = async (interval: string) => {
    const call = calls
      .open_campaign()
      .replace(`now() + interval '1 day'`, `clock_timestamp() + interval '${interval}'`);
    const [answer] = await report.sql.begin(async (tx) => {
      await tx`select now()`;
      return await tx.unsafe(`select keywarden.open_campaign(${call}) > 0 as is_made`, [operator.credential]);
    });
    return answer?.is_made;
  };
  // The function reads the clock after its argument does.
  expect(await openedIn('1 second')).toBe(false);
  expect(await openedIn('366 days')).toBe(true);
});

test('no review and no campaign of no key is opened, however that is written', async () => {
  for (const items of ['null', `'[]'`])
    for (const opening of [`open_review($1, 'x', now()`, `open_campaign($1, '{"due_at": "tomorrow"}', now()`])
      expect(
        await report.sql.unsafe(`select keywarden.${opening}, '{}', '[]', 1, ${items}) as made`, [operator.credential]),
      ).toEqual([{ made: null }]);
});

test.each(['null', `'{}'`])(
  'no exemption of no key or of no rule is granted, and no decision is made about no key: %s',
  async (none) => {
    const daemon = await store.as('keywarden_daemon');
    for (const lists of [`${none}, null`, `'{${key}}', '{}'`])
      for (const [sql, granting] of [
        [report.sql, `grant_exemption($1, ${lists}`],
        [daemon.sql, `insert_exemption($1, ${lists}, null`],
      ] as const) {
        const until = granting.startsWith('grant') ? "'infinity'" : "now(), 'infinity'";
        const granted = sql.unsafe(`select keywarden.${granting}, 'x', ${until})`, [operator.credential]);
        await expect(granted).rejects.toMatchObject({ code: '22023' });
      }
    const decide = `select keywarden.decide_review($1, ${review}, ${none}, 'keep', 'x') as answer`;
    expect(await report.sql.unsafe(decide, [operator.credential])).toEqual([{ answer: 'not its keys' }]);
  },
);
