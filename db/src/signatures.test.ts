import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { createTestStore } from '@keywarden/testkit/store/test-store';
import { expect, inject, test } from 'vitest';
import { formerFunctions } from './repeatables.ts';

/**
 * Every signature that a function of a version had, a line for each: its types, the names of its parameters, and what it returns. Delete the line of one that
 * was never released.
 */
const file = fileURLToPath(new URL('../../packages/testkit/data/signatures.txt', import.meta.url));
const linesOf = (text: string) => text.split('\n').filter((line) => line !== '');
const typesIn = (line: string) =>
  line.split(' | ')[0]?.replaceAll(/\s+/g, ' ').replaceAll('timestamptz', 'timestamp with time zone');

test('each signature that a version had and this one has not is in formerFunctions: Postgres would keep the function, or refuse the new one', async () => {
  const store = await createTestStore(inject('postgresUrl'));
  const rows = await store.sql`
    select concat_ws(' | ', format('keywarden.%s(%s)', proname, replace(oidvectortypes(proargtypes), 'keywarden.', '')), array_to_string(proargnames, ', '),
      replace(pg_get_function_result(oid), 'keywarden.', '')) as line
    from pg_proc where pronamespace = 'keywarden'::regnamespace and proname not like 'describe\_%' order by 1`;
  await store.close();
  const current = rows.map(({ line }) => String(line));
  const every = [...new Set([...linesOf(readFileSync(file, 'utf8')), ...current])].toSorted();
  const dropped = new Set(formerFunctions.map(typesIn));
  expect(every.filter((line) => !current.includes(line) && !dropped.has(typesIn(line)))).toEqual([]);
  await expect(`${every.join('\n')}\n`).toMatchFileSnapshot(file);
});
