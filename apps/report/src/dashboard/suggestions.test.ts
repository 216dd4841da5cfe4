import { createLogger } from '@keywarden/runtime';
import { createTestStore } from '@keywarden/testkit/store/test-store';
import { expect, inject, test } from 'vitest';
import { createSuggestions } from './suggestions.ts';

test('a page does not wait for suggestions that the store cannot read', async () => {
  const store = await createTestStore(inject('postgresUrl'));
  const { db } = await store.as('keywarden_report');
  const suggestions = createSuggestions(db, createLogger('test', { LOG_LEVEL: 'silent', LOG_FORMAT: 'json' }));
  await store.sql.begin(async (tx) => {
    await tx`lock table keywarden.project in access exclusive mode`;
    expect(await suggestions('project_id', null)).toEqual([]);
  });
  await store.close();
});
