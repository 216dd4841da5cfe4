import { connectionOf, makeFixture } from '@keywarden/testkit/daemon/fixture';
import { createTestStore } from '@keywarden/testkit/store/test-store';
import { expect, inject, test } from 'vitest';
import { syncOperations } from '../operations.ts';

interface Body {
  operations?: { id: string; created_at: string }[];
  pagination?: { cursor: string };
}

test('A1, A2: cursors that are cut to seconds lose rows; neither a pass nor one that resumes a failed pass claims them', async () => {
  const store = await createTestStore(inject('postgresUrl'));
  const served = new Map<string, string>();
  let lists = 0;
  const cutting: typeof fetch = async (input, init) => {
    const answer = await fetch(input, init);
    const url = input instanceof Request ? input.url : input.toString();
    if (!url.includes('/operations?') || !answer.ok) return answer;
    const body = (await answer.json()) as Body;
    // Not from the first page on: the pages above have positions by then.
    lists += 1;
    if (body.pagination && lists > 9) body.pagination.cursor = `${body.pagination.cursor.slice(0, 19)}Z`;
    return Response.json(body, { headers: { date: answer.headers.get('date') ?? '' } });
  };
  const fixture = await makeFixture(store, { client: { fetch: cutting } });
  await fixture.controls.setSettings({ times: 'microseconds' });
  await fixture.controls.generate({ organizations: 1, projects: 3, keys: 0, operations: 0, months: 2 });
  const projects = await fixture.controls.projects();
  // Several rows a second: a truncated cursor skips some of them.
  for (const { id } of projects) {
    const groups = Array.from({ length: 300 }, (_, index) => ({
      count: 2,
      age_seconds: 86_400 + index * 0.3,
      late_seconds: 0,
      going_on_seconds: 0,
    }));
    await fixture.controls.addOperations(id, groups);
    const { served: ids } = await fixture.controls.operations(id);
    for (const each of ids) served.set(each, id);
  }
  fixture.context.config = {
    ...fixture.context.config,
    operations: { ...fixture.context.config.operations, page_limit: 25 },
  };
  let failed = 0;
  for (let passes = 0; passes < 4; passes += 1) {
    await fixture.reconnect();
    await syncOperations(fixture.context, connectionOf(fixture)).catch(() => (failed += 1));
  }
  const stored = new Set((await store.sql`select id from keywarden.operation`).map((row) => String(row.id)));
  const lost = [...served].filter(([id]) => !stored.has(id));
  expect(failed).toBe(4);
  expect(await store.sql`select from keywarden.open_walk`).toEqual([]);
  expect(lost.length).toBeGreaterThan(0);
  for (const [id, project] of lost) {
    const { operation } = await fixture.ask<{ operation: { created_at: string } }>(
      'GET',
      `/projects/${project}/operations/${id}`,
    );
    const [claim] = await store.sql`
      select c.known @> ${operation.created_at}::timestamptz as claims from keywarden.operation_coverage c
        join keywarden.project p on p.number = c.project_number where p.id = ${project}`;
    expect([id, claim?.claims ?? false]).toEqual([id, false]);
  }
  await fixture.close();
  await store.close();
});

test('A1: a walk that was interrupted under times of whole seconds recovers once times have more digits', async () => {
  const store = await createTestStore(inject('postgresUrl'));
  const fixture = await makeFixture(store);
  await fixture.controls.generate({ organizations: 1, projects: 1, keys: 0, operations: 0, months: 2 });
  const [project] = await fixture.controls.projects();
  // One second: a group that fills a page, and rows below it.
  const groups = Array.from({ length: 20 }, (_, index) => ({
    count: index === 0 ? 5 : 1,
    age_seconds: 86_400 + index * 0.01,
    late_seconds: 0,
    going_on_seconds: 0,
  }));
  await fixture.controls.addOperations(project?.id, groups);
  fixture.context.config = {
    ...fixture.context.config,
    operations: { ...fixture.context.config.operations, page_limit: 5 },
  };
  const pass = async () => {
    await fixture.reconnect();
    return await syncOperations(fixture.context, connectionOf(fixture));
  };
  const cut = { path: '/projects/{project_id}/operations', kind: 'status', status: 403, after: 12, times: 1 };
  await fixture.controls.setFaults([cut]);
  await expect(pass()).rejects.toThrow(/could not be read completely/);
  expect(await store.sql`select 1 from keywarden.open_walk`).toHaveLength(1);
  await fixture.controls.setSettings({ times: 'microseconds' });
  expect(await pass()).toMatchObject({ projects: 1 });
  expect(await store.sql`select 1 from keywarden.operation`).toHaveLength(24);
  expect(await store.sql`select 1 from keywarden.open_walk`).toHaveLength(0);
  await fixture.close();
  await store.close();
});
