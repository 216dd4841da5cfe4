import { createTestStore, type TestStore } from '@keywarden/testkit/store/test-store';
import { afterAll, beforeAll, expect, inject, test } from 'vitest';

let store: TestStore;
beforeAll(async () => {
  store = await createTestStore(inject('postgresUrl'));
});
afterAll(async () => await store.close());

test('a key in two reviews has in each the newest decision of that review', async () => {
  const shown: unknown[][] = [];
  const undo = new Error('undo');
  const decided = store.sql.begin(async (tx) => {
    await tx`set local session_replication_role = replica`;
    await tx`insert into keywarden.review (title, as_of, filter, holes, keep_for, opened_by)
      select title, '2026-05-01', '{}', '[]', '1 day', 'ada' from unnest('{spring,summer}'::text[]) title`;
    await tx`insert into keywarden.review_item select number, 7, '{"id": "7"}', '[]' from keywarden.review`;
    const decide = async (title: string, decision: string) =>
      await tx`insert into keywarden.review_decision (review_number, key_number, decision, reason, decided_by)
        select number, 7, ${decision}, 'in use', 'ada' from keywarden.review where title = ${title}`;
    const show = async () => {
      const rows = await tx`
        select i.decision from keywarden.review_item_now i join keywarden.review v on v.number = i.review_number order by v.title`;
      shown.push(rows.map(({ decision }) => decision));
    };
    await decide('summer', 'revoke');
    await show();
    await decide('spring', 'revoke');
    await decide('spring', 'keep');
    await show();
    throw undo;
  });
  await expect(decided).rejects.toBe(undo);
  expect(shown).toEqual([
    [null, 'revoke'],
    ['keep', 'revoke'],
  ]);
});
