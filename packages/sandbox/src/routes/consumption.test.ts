import { projectFixture } from '@keywarden/testkit/sandbox/fixture';
import { expect, test } from 'vitest';

interface Page {
  branches: { branch_id: string; periods: { consumption: { timeframe_start: string }[] }[] }[];
  pagination?: { cursor: string };
}

async function consumptionFixture() {
  const fixture = await projectFixture({ realNowMs: () => Date.parse('2026-06-15T12:30:00Z') });
  const named = `org_id=${fixture.organization}&project_ids=${fixture.project}`;
  const list = async (query: string) =>
    await fixture.api<Page>(`/consumption_history/v2/branches?org_id=${fixture.organization}&${query}`);
  return { ...fixture, named, list };
}

const span = 'from=2026-06-15T00:00:00Z&to=2026-06-17T00:00:00Z';
const metric = 'metrics=compute_unit_seconds';

test('consumption by branch is listed in pages, without gaps or duplicates', async () => {
  const { api, project, settle, list } = await consumptionFixture();
  for (const name of ['one', 'two']) {
    await api(`/projects/${project}/branches`, { body: { branch: { name } } });
    await settle(project);
  }
  const { branches } = (await api<{ branches: { id: string }[] }>(`/projects/${project}/branches`)).body;
  const seen: string[] = [];
  let cursor: string | undefined = '';
  while (cursor !== undefined) {
    const query = `project_ids=${project}&granularity=daily&${span}&${metric}&limit=2`;
    const page: Page = (await list(cursor === '' ? query : `${query}&cursor=${cursor}`)).body;
    seen.push(...page.branches.map(({ branch_id: id }) => id));
    cursor = page.pagination?.cursor;
  }
  expect(seen).toEqual(branches.map(({ id }) => id).toSorted());
});

test('a period has one timeframe for each hour, day or month, from the first that the branch has seen to now', async () => {
  const { project, advance, list } = await consumptionFixture();
  await advance(2 * 3600);
  const starts = async (granularity: string) => {
    const { branches } = (await list(`project_ids=${project}&granularity=${granularity}&${span}&${metric}`)).body;
    return branches[0]?.periods[0]?.consumption.map(({ timeframe_start: at }) => at);
  };
  expect(await starts('hourly')).toEqual([12, 13, 14].map((hour) => `2026-06-15T${hour}:00:00Z`));
  expect(await starts('daily')).toEqual(['2026-06-15T00:00:00Z']);
  expect(await starts('monthly')).toEqual(['2026-06-01T00:00:00Z']);
});

test('requests for consumption without projects or with unknown metrics or cursors are refused', async () => {
  const { named, list, api, project } = await consumptionFixture();
  const byProject = async (query: string) =>
    (await api(`/consumption_history/v2/projects?${named}&granularity=daily&${span}&${query}`)).status;
  expect(await byProject(metric)).toBe(200);
  expect(await byProject('')).toBe(400);
  expect(await byProject('metrics=mood')).toBe(400);
  expect(await byProject(`${metric}&cursor=none`)).toBe(400);
  expect(await byProject(`${metric}&project_ids=${'x,'.repeat(101)}`)).toBe(400);
  expect((await list(`granularity=daily&${span}&${metric}`)).status).toBe(400);
  const unknown = `project_ids=${project}&granularity=daily&${span}&${metric}&cursor=none`;
  expect((await list(unknown)).status).toBe(400);
});
