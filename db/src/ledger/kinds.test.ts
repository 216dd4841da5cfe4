import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { createTestStore, type TestStore } from '@keywarden/testkit/store/test-store';
import { afterAll, beforeAll, expect, inject, test } from 'vitest';

let store: TestStore;
beforeAll(async () => {
  store = await createTestStore(inject('postgresUrl'));
});
afterAll(async () => await store.close());

/** Ends that may be set again: a rotation that failed can be given up, a dropped month can come back, and a key can be ended again. */
const again = ['rotation.given_up', 'retention.dropped', 'ledger.key_ended'];

test('each kind of event that is an end is one that is set once, unless it may be set again', async () => {
  const kinds = await store.sql`
    select kind, kind = any(keywarden.ledger_ends_once()) as is_once from keywarden.ledger_kinds() where ends is not null`;
  expect(kinds.filter((each) => each.is_once !== true).map(({ kind }) => kind)).toEqual(again);
});

/** The columns of each kind of event in its first version: a line for each kind. */
const file = fileURLToPath(new URL('../../../packages/testkit/data/ledger-columns.txt', import.meta.url));

test('events of earlier versions stay as they are: a kind keeps its first columns, and has others by ledger_later; vitest -u adds new kinds', async () => {
  const lines = readFileSync(file, 'utf8').split('\n');
  const first = new Map(lines.map((line) => [line.split(' ')[0], line.split(' ').slice(1)]));
  const kinds = await store.sql`
    select kind, array(select c from unnest(fields || hashed || personal) c order by c collate "C") as columns, keywarden.ledger_later() as later
    from keywarden.ledger_kinds()`;
  const expected = kinds.map(({ kind, columns, later }) => {
    const [own, added] = [columns as string[], new Set(later as string[])];
    const columnsOfFirst = first.get(String(kind)) ?? own.filter((name) => !added.has(name));
    expect([kind, ...own.filter((name) => !added.has(name))]).toEqual([kind, ...columnsOfFirst]);
    return `${kind} ${columnsOfFirst.join(' ')}\n`;
  });
  await expect(expected.join('')).toMatchFileSnapshot(file);
});
