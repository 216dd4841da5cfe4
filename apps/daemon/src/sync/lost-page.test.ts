import { connectionOf, makeFixture } from '@keywarden/testkit/daemon/fixture';
import { createTestStore } from '@keywarden/testkit/store/test-store';
import { expect, inject, test } from 'vitest';
import { syncOperations } from './operations.ts';
import { guardedSteps, type Steps } from './project-operations.ts';

test('A2, A3: a page that the database loses, as in a failover, makes no other page claim its rows', async () => {
  const store = await createTestStore(inject('postgresUrl'));
  const fixture = await makeFixture(store);
  await fixture.controls.generate({ organizations: 1, projects: 1, keys: 0, operations: 0, months: 2 });
  const [{ id: projectId } = { id: '' }] = await fixture.controls.projects();
  const groups = Array.from({ length: 60 }, (_, index) => ({
    count: 1,
    age_seconds: 86_400 + index * 60,
    late_seconds: 0,
    going_on_seconds: 0,
  }));
  await fixture.controls.addOperations(projectId, groups);
  const { context } = fixture;
  context.config = { ...context.config, operations: { ...context.config.operations, page_limit: 10 } };
  let pages = 0;
  const saveOperationPage: Steps['saveOperationPage'] = async (sql, page) => {
    pages += 1;
    return pages === 2
      ? { inserted: page.operations.length, changed: 0 }
      : await guardedSteps.saveOperationPage(sql, page);
  };
  await syncOperations(context, connectionOf(fixture), { ...guardedSteps, saveOperationPage });
  const { served } = await fixture.controls.operations(projectId);
  const stored = new Set((await store.sql`select id from keywarden.operation`).map(({ id }) => String(id)));
  const lost = served.filter((id) => !stored.has(id));
  expect(lost.length).toBeGreaterThan(5);
  const [coverage] = await store.sql`select known::text from keywarden.operation_coverage`;
  for (const id of lost) {
    const { operation } = await fixture.ask<{ operation: { created_at: string } }>(
      'GET',
      `/projects/${projectId}/operations/${id}`,
    );
    const [claim] = await store.sql`
      select ${String(coverage?.known)}::tstzmultirange @> ${operation.created_at}::timestamptz as "isCovered"`;
    expect(claim).toEqual({ isCovered: false });
  }
  await fixture.close();
  await store.close();
});
