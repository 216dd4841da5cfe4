import { projectFixture } from '@keywarden/testkit/sandbox/fixture';
import { expect, test } from 'vitest';

const startMs = Date.parse('2026-06-15T12:00:00Z');
const hourMs = 3_600_000;
const instant = (hours: number) => new Date(startMs + hours * hourMs).toISOString();

interface Answer {
  branch: { id: string; parent_timestamp: string; parent_lsn: string };
  message: string;
}

/** Returns a project whose only branch is two hours old. */
async function pastFixture() {
  const fixture = await projectFixture({ realNowMs: () => startMs });
  await fixture.advance(2 * 3600);
  const post = async (path: string, body?: object) => {
    const answer = await fixture.api<Answer>(`/projects/${fixture.project}${path}`, { method: 'POST', body });
    await fixture.settle(fixture.project);
    return answer;
  };
  const refusal = async (path: string, body?: object) => {
    const { status, body: answer } = await post(path, body);
    return [status, answer.message];
  };
  return { ...fixture, post, refusal };
}

test('a branch starts from a time of its parent, and from none before its creation or in the future', async () => {
  const { post, refusal } = await pastFixture();
  const at = (hours: number) => ({ branch: { parent_timestamp: instant(hours) } });
  const made = await post('/branches', at(1));
  expect(made.status).toBe(201);
  expect(Date.parse(made.body.branch.parent_timestamp)).toBe(startMs + hourMs);
  const outside = [422, 'parent_timestamp must lie between the creation of the parent branch and now'];
  expect(await refusal('/branches', at(-1))).toEqual(outside);
  expect(await refusal('/branches', at(3))).toEqual(outside);
});

test('a branch is restored to one point of its source; a restore to itself needs the point and keeps the present state', async () => {
  const { post, refusal, branch } = await pastFixture();
  const restore = `/branches/${branch}/restore`;
  const own = { source_branch_id: branch };
  const kept = { ...own, preserve_under_name: 'kept' };
  const at = (hours: number) => ({ source_timestamp: instant(hours) });
  const lsn = { source_lsn: '0/1A2B' };
  const both = [422, 'source_lsn and source_timestamp cannot be given together'];
  expect(await refusal(restore, { ...kept, ...at(1), ...lsn })).toEqual(both);
  const pointless = [422, 'restoring a branch to itself needs source_lsn or source_timestamp'];
  expect(await refusal(restore, kept)).toEqual(pointless);
  const lost = [422, 'restoring a branch to itself needs preserve_under_name'];
  expect(await refusal(restore, { ...own, ...at(1) })).toEqual(lost);
  const outside = [422, 'source_timestamp must lie between the creation of the source branch and now'];
  expect(await refusal(restore, { ...kept, ...at(-1) })).toEqual(outside);
  expect(await refusal(restore, { ...kept, ...at(3) })).toEqual(outside);
  expect((await post(restore, { ...kept, ...at(1) })).status).toBe(200);
  const { body } = await post(restore, { ...own, ...lsn, preserve_under_name: 'kept too' });
  expect(body.branch.parent_lsn).toBe(lsn.source_lsn);
});

test('a snapshot is of one point of its branch, and expires later', async () => {
  const { post, refusal, branch } = await pastFixture();
  const take = (query: string) => `/branches/${branch}/snapshot?${query}`;
  const both = [422, 'lsn and timestamp cannot be given together'];
  expect(await refusal(take(`timestamp=${instant(1)}&lsn=0/1A2B`))).toEqual(both);
  const outside = [422, 'timestamp must lie between the creation of the branch and now'];
  expect(await refusal(take(`timestamp=${instant(-1)}`))).toEqual(outside);
  expect(await refusal(take(`timestamp=${instant(3)}`))).toEqual(outside);
  expect(await refusal(take(`expires_at=${instant(1)}`))).toEqual([422, 'expires_at must be in the future']);
  expect((await post(take(`timestamp=${instant(1)}`))).status).toBe(200);
});
