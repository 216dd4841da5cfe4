import { sha256 } from '@keywarden/core/values';
import { type Fixture, makeFixture, plan } from '@keywarden/testkit/report/fixture';
import { afterAll, beforeAll, expect, inject, test } from 'vitest';

// A client without an answer asks for a review again.

let fixture: Fixture;
beforeAll(async () => {
  fixture = await makeFixture(inject('postgresUrl'));
});
afterAll(async () => await fixture.close());

const post = async (path: string, body: object | undefined, as = 'operator') =>
  await fixture.ask(path, { as, method: 'POST', ...(body === undefined ? {} : { body }) });

async function open(body: object = {}): Promise<string> {
  const { status, body: review } = await post('/v1/reviews', { title: 'spring', ...body }, 'auditor');
  expect(status).toBe(201);
  return String(review.id);
}

test('a review that is asked for again is opened once, until a decision', async () => {
  const asked = { title: 'twice', keys: { organization_id: 'acme' } };
  // The findings are older than the review in all of this.
  for (const [table, column] of [
    ['finding', 'made_at'],
    ['plan', 'findings_at'],
  ])
    await fixture.store.sql.unsafe(`update keywarden.${table} set ${column} = ${column} - interval '1 hour'`);
  const ids = await Promise.all([1, 2, 3].map(async () => await open(asked)));
  expect(new Set(ids).size).toBe(1);
  const others = [
    await open({ ...asked, title: 'once' }),
    await open({ ...asked, keys: { organization_id: 'other' } }),
    // The same keys by another filter.
    await open({ ...asked, keys: { organization_id: 'acme', state: 'active' } }),
    await open({ ...asked, keep_for_days: 30 }),
    String((await post('/v1/reviews', asked, 'operator')).body.id),
  ];
  expect(new Set([...ids, ...others]).size).toBe(6);
  const passes = async (minutes: number) =>
    await fixture.store.sql`update keywarden.review set opened_at = opened_at - ${minutes} * interval '1 minute'
      where number = ${String(others[0])}`;
  await passes(9);
  expect(await open({ ...asked, title: 'once' })).toBe(others[0]);
  await passes(2);
  expect(others).not.toContain(await open({ ...asked, title: 'once' }));
  const decision = { keys: [fixture.keys['12']], decision: 'keep', reason: 'as agreed' };
  expect((await post(`/v1/reviews/${String(ids[0])}/decisions`, decision)).status).toBe(201);
  expect(ids).not.toContain(await open(asked));
});

test('a review that is asked for again is another one once its plan or its findings are others, or a gap of the inventory has come or gone', async () => {
  const rules = [{ name: 'idle', never_used_for: '30d', action: 'report' }];
  const id = await plan(fixture.daemon, { rules });
  const asked = { title: 'anew', keys: { organization_id: 'acme' } };
  const first = await open(asked);
  const exemption = { keys: [fixture.keys['12']], rules: ['idle'], reason: 'a backup', for: '30d' };
  expect((await post('/v1/exemptions', exemption)).status).toBe(201);
  expect(await plan(fixture.daemon, { rules })).toBe(id);
  const second = await open(asked);
  const heldIn = async (review: string) =>
    (await fixture.ask(`/v1/reviews/${review}/keys`)).text.includes('"disposition": "held"');
  expect([await heldIn(first), await heldIn(second)]).toEqual([false, true]);
  expect(await open(asked)).toBe(second);
  // The first plan again has the findings of its time.
  await plan(fixture.daemon, { rules: rules.map((rule) => ({ ...rule, name: 'other' })) });
  const ofOther = await open(asked);
  expect(await plan(fixture.daemon, { rules })).toBe(id);
  expect(await open(asked)).not.toBe(ofOther);

  const { sql } = fixture.store;
  await sql`insert into keywarden.organization (control_plane_number, id, name, created_at, first_seen_at, last_seen_at)
    select control_plane_number, 'unlisted', name, created_at, first_seen_at, last_seen_at from keywarden.organization where id = 'acme'`;
  const third = await open(asked);
  await sql`delete from keywarden.organization where id = 'unlisted'`;
  const holesOf = async (review: string) => (await fixture.ask(`/v1/reviews/${review}`)).text.includes('unlisted');
  expect([await holesOf(second), await holesOf(third), await holesOf(await open(asked))]).toEqual([false, true, false]);
});

test('a review that is asked for again is another one once one of its keys has changed or is gone', async () => {
  const { sql } = fixture.store;
  const asked = { title: 'of keys', keys: { organization_id: 'acme' } };
  const first = await open(asked);
  await sql`update keywarden.credential set name = 'renamed' where id = '12'`;
  const second = await open(asked);
  await sql`update keywarden.credential set gone_at = now() where id = '9007199254740993'`;
  const third = await open(asked);
  expect(new Set([first, second, third]).size).toBe(3);
  await sql`update keywarden.credential set gone_at = null where id = '9007199254740993'`;
  expect(await open(asked)).toBe(second);
});

test('a review that is asked for again while there is no plan is the same only if it is the same', async () => {
  // The clock of the database was ahead when the plans were made.
  await fixture.store.sql`update keywarden.plan set last_made_at = now() + interval '1 day'`;
  const [asked, other] = [10, 20].map((days) => ({ title: 'without a plan', keep_for_days: days }));
  const first = await open(asked);
  expect(await open(asked)).toBe(first);
  expect(await open(other)).not.toBe(first);
});

test('a review is recorded with its keys, also if its transaction checks constraints immediately', async () => {
  const { sql } = await fixture.store.as('keywarden_report');
  const items = JSON.stringify([{ number: fixture.keys['12'], key: { id: '12' } }]);
  const [opened] = await sql.begin(async (tx) => {
    await tx`set constraints all immediate`;
    return await tx`
      select keywarden.open_review(${sha256(fixture.tokens.auditor ?? '')}, 'by hand', now(), '{}', '[]', 1, ${items}::text::jsonb) as id`;
  });
  const recorded = await fixture.store.sql`
    select content::jsonb -> 'items' = keywarden.ledger_reviewed(${String(opened?.id)})::jsonb as is_same
    from keywarden.ledger_event where type = 'review.opened' and subject = 'review/' || ${String(opened?.id)}`;
  expect(recorded).toEqual([{ is_same: true }]);
});

/** Calls of the functions that open or grant something once, with one item or as many as `items` makes. */
const callsOf = (items: string, dueInDays = 30) => {
  const settings = {
    escalate_after_days: 7,
    title: 'at once',
    split_by: 'organization',
    remind_days: [],
    default_decision: 'none',
    keep_needs_reason: 'always',
  };
  const due = `jsonb_build_object('due_at', date_trunc('hour', now()) + interval '${dueInDays} days')`;
  return {
    review: `keywarden.open_review($1, 'at once', now(), '{}', '[]', 1, ${items})`,
    campaign: `keywarden.open_campaign($1, '${JSON.stringify(settings)}'::jsonb || ${due}, now(), '{}', '[]', 1, ${items})`,
    exemption: `keywarden.grant_exemption($1, '{${fixture.keys['12'] ?? ''}}', null, 'at once', now() + interval '30 days')`,
  };
};
const itemsUpTo = (count: number) =>
  `(select coalesce(jsonb_agg(jsonb_build_object('number', number, 'key', '{}'::jsonb)), '[]') from generate_series(1, ${count}) number)`;

test.each(['review', 'campaign', 'exemption'] as const)(
  'a %s that is asked for again while its first transaction is open is made once',
  async (what) => {
    const { sql } = await fixture.store.as('keywarden_report');
    const statement = `select ${callsOf(itemsUpTo(1))[what]} as id`;
    const credential = [sha256(fixture.tokens.operator ?? '')];
    const asked = await sql
      .begin(async (tx) => {
        const first = await tx.unsafe(statement, credential);
        const again = sql.unsafe(statement, credential);
        await fixture.store.untilBlocked(again);
        return { first, again };
      })
      .then(async ({ first, again }) => [...first, ...(await again)]);
    expect(asked[0]?.id).not.toBeNull();
    expect(asked[1]).toEqual(asked[0]);
  },
);

test('a review or a campaign of no key, of more than 20,000, or due in the past or in more than a year is not opened', async () => {
  const { sql } = await fixture.store.as('keywarden_report');
  const opened = async (call: string) =>
    (await sql.unsafe(`select ${call} as id`, [sha256(fixture.tokens.auditor ?? '')]))[0]?.id as unknown;
  for (const count of [0, 20_001]) {
    const { review, campaign } = callsOf(itemsUpTo(count));
    expect([await opened(review), await opened(campaign)]).toEqual([null, null]);
  }
  for (const days of [0, 370]) expect(await opened(callsOf(itemsUpTo(1), days).campaign)).toBe('0');
});
