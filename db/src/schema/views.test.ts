import { createTestStore, type TestStore } from '@keywarden/testkit/store/test-store';
import { getViewName, is } from 'drizzle-orm';
import { PgView } from 'drizzle-orm/pg-core';
import { afterAll, beforeAll, expect, inject, test } from 'vitest';
import * as schema from './index.ts';

let store: TestStore;
beforeAll(async () => {
  store = await createTestStore(inject('postgresUrl'));
});
afterAll(async () => await store.close());

const views = Object.values(schema).filter((each) => is(each, PgView));

test('there are views', () => expect(views.length).toBeGreaterThan(5));

test.each(views.map((view) => [getViewName(view), view] as const))(
  'the view %s has the columns',
  async (_name, view) => {
    expect(await store.db.select().from(view).limit(1)).toEqual([]);
  },
);
