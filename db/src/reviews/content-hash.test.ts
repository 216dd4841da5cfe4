import { sha256 } from '@keywarden/core/values';
import { createTestStore, type TestStore } from '@keywarden/testkit/store/test-store';
import { afterAll, beforeAll, expect, inject, test } from 'vitest';
import type { Tx } from '../sql.ts';

let store: TestStore;
beforeAll(async () => {
  store = await createTestStore(inject('postgresUrl'));
});
afterAll(async () => await store.close());

/** Returns the hash of a review with one decided key before and after changes; nothing of it stays. */
async function hashesAround(...changes: string[]): Promise<unknown[]> {
  const hashes: unknown[] = [];
  const undo = new Error('undo');
  const hash = async (tx: Tx) =>
    hashes.push((await tx`select keywarden.review_content_hash(max(number)) as hash from keywarden.review`)[0]?.hash);
  const changed = store.sql.begin(async (tx) => {
    await tx`set local session_replication_role = replica`;
    await tx`insert into keywarden.review (title, as_of, filter, holes, plan_id, keep_for, opened_by)
      values ('spring', '2026-05-01', '{}', '[]', 'p', '1 day', 'ada')`;
    await tx`insert into keywarden.review_item select number, 7, '{"id": "7"}', '[]' from keywarden.review`;
    await tx`insert into keywarden.review_decision (review_number, key_number, decision, reason, decided_by)
      select number, 7, 'keep', 'in use', 'ada' from keywarden.review`;
    await hash(tx);
    for (const change of changes) await tx.unsafe(change);
    await hash(tx);
    throw undo;
  });
  await expect(changed).rejects.toBe(undo);
  return hashes;
}

test.each<[string, ...string[]]>([
  ...['title', 'opened_by', 'plan_id'].map((name): [string, string] => [
    name,
    `update keywarden.review set ${name} = 'x'`,
  ]),
  ...['as_of', 'opened_at'].map((name): [string, string] => [
    name,
    `update keywarden.review set ${name} = ${name} + interval '1 microsecond'`,
  ]),
  ['filter', `update keywarden.review set filter = '{"kind": "project"}'`],
  ['holes', `update keywarden.review set holes = '[1]'`],
  ['keep_for', `update keywarden.review set keep_for = '2 days'`],
  [
    'number of a key',
    'update keywarden.review_item set key_number = 8',
    'update keywarden.review_decision set key_number = 8',
  ],
  ['key', `update keywarden.review_item set key = '{"id": "8"}'`],
  ['findings', `update keywarden.review_item set findings = '[1]'`],
  ['decision', `update keywarden.review_decision set decision = 'revoke'`],
  ...['reason', 'decided_by'].map((name): [string, string] => [
    name,
    `update keywarden.review_decision set ${name} = 'x'`,
  ]),
  ['decided_at', `update keywarden.review_decision set decided_at = decided_at + interval '1 microsecond'`],
])('the hash that a signature of a review has is another one with another %s', async (_what, ...changes) => {
  const [before, after] = await hashesAround(...changes);
  expect(before).toMatch(/^[0-9a-f]{64}$/);
  expect(after).toMatch(/^[0-9a-f]{64}$/);
  expect(after).not.toBe(before);
});

test('the hash is of the same text in every version: signatures of earlier ones must still be of their reviews', async () => {
  const undo = new Error('undo');
  const checked = store.sql.begin(async (tx) => {
    await tx`set local session_replication_role = replica`;
    await tx`insert into keywarden.review (number, title, as_of, filter, holes, plan_id, keep_for, opened_by, opened_at) overriding system value
      values (42, 'spring', '2026-05-01Z', '{"kind": "project"}', '[1]', 'p', '1 day', 'ada', '2026-05-02 00:00:00.5Z')`;
    await tx`insert into keywarden.review_item values (42, 8, '{"id": "8"}', '[]'), (42, 7, '{"id": "7"}', '[2]')`;
    await tx`insert into keywarden.review_decision (review_number, key_number, decision, reason, decided_by, decided_at)
      values (42, 7, 'keep', 'in use', 'ben', '2026-05-03Z')`;
    const [row] = await tx`select keywarden.review_content_hash(42) as hash`;
    const items =
      '[[7, {"id": "7"}, [2], "keep", "in use", "ben", 1777766400.000000], [8, {"id": "8"}, [], null, null, null, null]]';
    const text = `[42, "spring", 1777593600.000000, {"kind": "project"}, [1], "p", 86400.000000, "ada", 1777680000.500000, ${items}]`;
    expect(row?.hash).toBe(sha256(text));
    throw undo;
  });
  await expect(checked).rejects.toBe(undo);
});
