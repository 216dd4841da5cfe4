import { saveOperationPage } from '@keywarden/db/daemon';
import { makeControlPlane, makeProject } from '@keywarden/testkit/store/rows';
import { createTestStore } from '@keywarden/testkit/store/test-store';
import { expect, inject, test } from 'vitest';
import { coverageCommand } from './coverage.ts';
import type { Listed } from './output.ts';

test('A9: a project that is too young for any coverage does not count as covered', async () => {
  const store = await createTestStore(inject('postgresUrl'));
  try {
    const { db, sql } = await store.as('keywarden_daemon');
    const controlPlane = await makeControlPlane(sql);
    const [covered, young] = [await makeProject(sql, controlPlane), await makeProject(sql, controlPlane)];
    await store.sql`update keywarden.project set created_at = '2026-05-01', walked_at = '2026-05-02' where number = ${covered}`;
    await store.sql`update keywarden.project set created_at = '2026-05-02', walked_at = '2026-05-02T00:05Z' where number = ${young}`;
    const proof = { from: '2026-05-01T00:00:00Z', isFromIncluded: true, below: '2026-05-01T23:45:00Z' };
    await saveOperationPage(sql, { project: covered, operations: [], proof });
    const found = await coverageCommand.run?.({ store: { db } } as never, {} as never);
    const text = (found as Listed).render('table');
    expect(text).toContain('nothing yet');
    expect(text).toContain('Covered without a gap from creation to shortly before the last walk: 1 of 2 projects.');
  } finally {
    await store.close();
  }
});
