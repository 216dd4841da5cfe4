import { sha256 } from '@keywarden/core/values';
import { fixture, makeStoredPlan, prepare, store, useApplyFixture } from '@keywarden/testkit/daemon/apply-fixture';
import { expect, test } from 'vitest';
import { readDocument } from './plan.ts';

// R6: a person approves a plan by its id. What is stored under that id is carried out only if it is that plan.

useApplyFixture();

interface Altered {
  document: string;
  sha256?: string;
  approves?: null;
}
const rehashed = (document: string): Altered => ({ document, sha256: sha256(document) });

test.each<[string, (document: string) => Altered, RegExp]>([
  ['another text', (document) => ({ document: `${document} ` }), /is not what it was when it was made/],
  [
    'another key, with the hash of its text',
    (document) => rehashed(document.replace('"one"', '"two"').replace(/"id":"\d+"/, '"id":"1"')),
    /is not what its id stands for/,
  ],
  ['no hash of its content', (document) => ({ document, approves: null }), /is not what its id stands for/],
  [
    'the version of an earlier format',
    (document) => rehashed(document.replace(/"version":\d+/, '"version":2')),
    /was made by another version of Keywarden/,
  ],
])('R6: a stored plan with %s cannot be applied', async (_what, alter, says) => {
  await prepare(['one', 'busy']);
  const plan = await makeStoredPlan();
  await expect(readDocument(fixture.context, plan.id)).resolves.toMatchObject({ items: [{ key: { name: 'one' } }] });
  const [row] = await store.sql`select document, sha256, approves from keywarden.plan where id = ${plan.id}`;
  const altered = { ...row, ...alter(String(row?.document)) };
  store.isTampered();
  await store.sql`update keywarden.plan set ${store.sql(altered, 'document', 'sha256', 'approves')} where id = ${plan.id}`;
  await expect(readDocument(fixture.context, plan.id)).rejects.toThrow(says);
});
