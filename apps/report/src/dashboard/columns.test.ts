import { type Fixture, makeFixture } from '@keywarden/testkit/report/fixture';
import { afterAll, beforeAll, expect, inject, test } from 'vitest';
import { linkTo } from './columns.ts';

let fixture: Fixture;
beforeAll(async () => {
  fixture = await makeFixture(inject('postgresUrl'));
  const post = async (path: string, body: object) => await fixture.ask(path, { as: 'operator', method: 'POST', body });
  await post('/v1/reviews', { title: 'Spring', keys: { organization_id: 'acme' } });
  const due = new Date(Date.now() + 9 * 86_400_000).toISOString();
  await post('/v1/campaigns', { title: 'Autumn', split_by: 'organization', due_at: due });
  await post('/v1/exemptions', { keys: [fixture.keys['12']], reason: 'kept', until: '2999-01-01T00:00:00Z' });
  await fixture.store
    .sql`insert into keywarden.incident (kind, scope, detail) values ('breaker', 'organization:acme', '{}')`;
  await fixture.ledger.sign();
});
afterAll(async () => await fixture.close());

test.each(['plans', 'reviews', 'campaigns', 'exemptions', 'incidents', 'revocations', 'rotations'])(
  'each row of %s links an auditor to its events in the ledger, and shows a viewer no link',
  async (name) => {
    const { text } = await fixture.ask(`/${name}`, { as: 'auditor' });
    const links = [...text.matchAll(/href="(\/ledger\/events\?about=[^"]+)"/g)].map(([, path = '']) => path);
    const rows = text.match(/<tbody>[^]*?<\/tbody>/)?.[0].match(/<tr/g)?.length;
    expect(links.length).toBe(rows);
    const events = await fixture.ask(links[0] ?? '', { as: 'auditor' });
    expect(events.status).toBe(200);
    expect(events.text).toMatch(/\/ledger\/events\/\d+">proof/);
    expect((await fixture.ask(`/${name}`, { as: 'viewer' })).text).not.toContain('/ledger/events?about=');
  },
);

test('the events about a record are those of all its rows: decisions, signatures, revocations and transitions', async () => {
  const { store, planId } = fixture;
  const post = async (path: string, body?: object) =>
    await fixture.ask(path, { as: 'operator', method: 'POST', ...(body === undefined ? {} : { body }) });
  await post(`/v1/plans/${planId}/approvals`);
  await post(`/v1/plans/${planId}/rejections`, { reason: 'no' });
  const { id } = (await post('/v1/reviews', { title: 'Winter', keys: { organization_id: 'other' } })).body;
  await post(`/v1/reviews/${id}/decisions`, { keys: [fixture.keys['13']], decision: 'keep', reason: 'used' });
  await post(`/v1/reviews/${id}/signature`);
  const [intent] = await store.sql`select number from keywarden.revocation_intent`;
  await store.sql`
    insert into keywarden.revocation_intent (rotation_number, key_number, attempt, connection, last_listing_number)
    select number, key_number, 9, 'main', (select max(number) from keywarden.key_listing) from keywarden.rotation where id = 'abcd2345'`;
  await fixture.ledger.sign();
  const typesOf = async (about: string) => {
    const { body } = await fixture.ask(`/v1/ledger/events?about=${encodeURIComponent(about)}`, { as: 'auditor' });
    return body.items.map(({ type }) => String(type)).toSorted();
  };
  expect(await typesOf(`plan/${planId}`)).toEqual([
    'plan.approval_ended',
    'plan.approved',
    'plan.approved',
    'plan.rejected',
    'plan.stored',
    'revocation.ended',
    'revocation.intended',
  ]);
  expect(await typesOf(`review/${id}`)).toEqual(['review.decided', 'review.opened', 'review.signed']);
  expect(await typesOf(`revocation/${intent?.number}`)).toEqual(['revocation.ended', 'revocation.intended']);
  expect(await typesOf('rotation/abcd2345')).toEqual(['revocation.intended', 'rotation.begun', 'rotation.moved']);
  expect(await typesOf('review/no-number')).toEqual([]);
  for (const path of [`/plans/${planId}`, `/reviews/${id}`])
    expect((await fixture.ask(path, { as: 'auditor' })).text).toContain('/ledger/events?about=');
  expect((await fixture.ask('/v1/ledger/events?about=project/1', { as: 'auditor' })).status).toBe(400);
});

test('the page of an event names its place in the tree as receipts do: counted from 0, unlike its number', async () => {
  const { body } = await fixture.ask('/v1/ledger/events?limit=1', { as: 'auditor' });
  const [event] = body.items;
  const { text } = await fixture.ask(`/ledger/events/${String(event?.number)}`, { as: 'auditor' });
  expect(text).toContain(`event ${String(event?.leaf_index)}, counted from 0, of the `);
});

test('the page of an event names the witnesses that cosigned its checkpoint, and says that it did not check them', async () => {
  const pageOf = async () => {
    const { text } = await fixture.ask('/ledger/events/1', { as: 'auditor' });
    return /Witnesses \(not checked here\)<\/dt>\s*<dd>([^<]*)</.exec(text)?.[1];
  };
  expect(await pageOf()).toBe('none');
  await fixture.store.sql`
    insert into keywarden.ledger_cosignature (size, witness, lines)
    select max(size), 'witness.example/one', ${`\u2014 witness.example/one ${Buffer.alloc(76).toString('base64')}\n`} from keywarden.ledger_checkpoint`;
  expect(await pageOf()).toBe('witness.example/one');
});

test('an address wraps before @ and its dots, also if the link names another id; the dot of a sentence stays with its word', async () => {
  expect(String(await linkTo('owner', 'u-1', 'ada.king@company.example'))).toBe(
    '<a href="/keys?owner=u-1" title="u-1">ada<wbr>.king<wbr>@company<wbr>.example</a>',
  );
  expect(String(await linkTo('rule', 'ends.'))).toBe('<a href="/findings?rule=ends.">ends.</a>');
});
