import { mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { companyFixture, type Operation, openFixture, projectFixture } from '@keywarden/testkit/sandbox/fixture';
import { expect, test } from 'vitest';

const day = 86_400;
const at = { realNowMs: () => Date.parse('2026-06-15T12:00:00Z') };

const brief = (operations: Operation[]) => operations.map(({ action, status }) => `${action} ${status}`);

test('creating a branch with a compute runs create_branch, and start_compute waits for it', async () => {
  const fixture = await projectFixture(at);
  const { status, body } = await fixture.api<{ operations: Operation[]; branch: { current_state: string } }>(
    `/projects/${fixture.project}/branches`,
    { body: { branch: { name: 'staging' }, endpoints: [{ type: 'read_write' }] } },
  );
  expect(status).toBe(201);
  expect(brief(body.operations)).toEqual(['create_branch running', 'start_compute scheduling']);
  expect(new Set(body.operations.map((each) => each.created_at)).size).toBe(1);
  expect(body.branch.current_state).toBe('init');
  const after = (await fixture.settle(fixture.project)).slice(0, 2);
  expect(brief(after)).toEqual(['start_compute finished', 'create_branch finished']);
});

test('while a project has operations in progress, requests that schedule more get 423, and other requests succeed', async () => {
  const fixture = await projectFixture(at);
  const branches = `/projects/${fixture.project}/branches`;
  await fixture.api(branches, { body: { branch: { name: 'one' } } });
  const second = await fixture.api(branches, { body: { branch: { name: 'two' } } });
  expect(second).toMatchObject({
    status: 423,
    body: { message: 'project already has running conflicting operations, scheduling of new ones is prohibited' },
  });
  const { branches: listed } = (await fixture.api<{ branches: { name: string }[] }>(branches)).body;
  expect(listed.map(({ name }) => name)).not.toContain('two');
  const renamed = await fixture.api(`${branches}/${fixture.branch}`, {
    method: 'PATCH',
    body: { branch: { name: 'root' } },
  });
  expect(renamed.status).toBe(200);
  await fixture.settle(fixture.project);
  expect((await fixture.api(branches, { body: { branch: { name: 'two' } } })).status).toBe(201);
});

test('at most one operation of a project runs at any time', async () => {
  const fixture = await openFixture({ ...at, work: { operations_per_day: 40, system_trouble: 0.3 } });
  await fixture.control('/generate', { body: { organizations: 1, projects: 3, keys: 0, operations: 300 } });
  const projects = (await fixture.control<{ id: string }[]>('/projects')).body;
  await fixture.advance(day);
  let seen = 0;
  for (let step = 0; step < 400; step += 1) {
    await fixture.advance(67);
    for (const { id } of projects) {
      const { operations } = (await fixture.api<{ operations: Operation[] }>(`/projects/${id}/operations?limit=20`))
        .body;
      const busy = operations.filter(({ status }) => ['running', 'cancelling', 'failed'].includes(status));
      seen += busy.length;
      expect(busy.length).toBeLessThanOrEqual(1);
    }
  }
  expect(seen).toBeGreaterThan(0);
});

test('a started compute is suspended again once it is idle', async () => {
  const fixture = await projectFixture(at);
  const state = async () =>
    (
      await fixture.api<{ endpoint: { current_state: string } }>(
        `/projects/${fixture.project}/endpoints/${fixture.endpoint}`,
      )
    ).body.endpoint.current_state;
  expect(await state()).toBe('active');
  await fixture.advance(400);
  expect(await state()).toBe('idle');
  const [newest] = await fixture.settle(fixture.project);
  expect(newest).toMatchObject({ action: 'suspend_compute', status: 'finished', endpoint_id: fixture.endpoint });
});

test('a project has no automatic work for a day, then at most one operation a day, unless configured otherwise', async () => {
  const fixture = await companyFixture(at);
  const count = async () =>
    (await fixture.control<{ operations: number }[]>('/projects')).body.map((each) => each.operations);
  const before = await count();
  await fixture.advance(day - 1);
  expect(await count()).toEqual(before);
  await fixture.advance(20 * day);
  const grown = (await count()).map((each, index) => each - (before[index] ?? 0));
  expect(Math.min(...grown)).toBeGreaterThan(10);
  expect(Math.max(...grown)).toBeLessThanOrEqual(21);
  await fixture.control('/work', { method: 'PUT', body: { operations_per_day: 12 } });
  await fixture.advance(10 * day);
  const faster = (await count()).map((each, index) => each - (before[index] ?? 0) - (grown[index] ?? 0));
  expect(Math.min(...faster)).toBeGreaterThan(60);
});

test('one seed gives one course of automatic work, whether time advances in one step or in many', async () => {
  const course = async (steps: number, seed: number) => {
    const fixture = await companyFixture({ ...at, work: { seed, system_trouble: 0.5 } });
    for (let step = 0; step < steps; step += 1) await fixture.advance((60 * day) / steps);
    const { operations } = (
      await fixture.api<{ operations: Operation[] }>(`/projects/${fixture.project}/operations?limit=50`)
    ).body;
    return operations.map(({ action, status, failures_count: failures }) => `${action} ${status} ${failures}`);
  };
  const [once, often, another] = [await course(1, 1), await course(20, 1), await course(1, 2)];
  expect(once).toEqual(often);
  expect(once).not.toEqual(another);
  const statuses = new Set(once.map((each) => each.split(' ')[1]));
  expect(statuses).toEqual(new Set(['finished', 'error', 'cancelled', 'skipped']));
});

test('a failed operation is retried after a while, and shows when', async () => {
  const fixture = await projectFixture({ ...at, work: { seed: 1 } });
  await fixture.control('/work', { method: 'PUT', body: { request_trouble: 1, seed: 12 } });
  const seen: string[] = [];
  for (let index = 0; index < 12 && !seen.includes('failed'); index += 1) {
    await fixture.settle(fixture.project);
    await fixture.api(`/projects/${fixture.project}/endpoints/${fixture.endpoint}/restart`, { method: 'POST' });
    for (let step = 0; step < 10; step += 1) {
      await fixture.advance(0.5);
      const { operations } = (
        await fixture.api<{ operations: Operation[] }>(`/projects/${fixture.project}/operations?limit=3`)
      ).body;
      const failed = operations.find(({ status }) => status === 'failed');
      if (failed === undefined) continue;
      seen.push('failed');
      expect(failed).toMatchObject({ failures_count: 1, error: expect.any(String), retry_at: expect.any(String) });
      break;
    }
  }
  expect(seen).toContain('failed');
});

test('operations older than six months are no longer served, though the sandbox keeps them', async () => {
  const fixture = await companyFixture(at);
  const truth = async () =>
    (await fixture.control<{ served: string[]; pruned: string[] }>(`/operations?project_id=${fixture.project}`)).body;
  const before = await truth();
  await fixture.advance(190 * day);
  const after = await truth();
  expect(after.served.length).toBeGreaterThan(0);
  expect(after.pruned).toEqual(expect.arrayContaining(before.served));
  const page = (await fixture.api<{ operations: Operation[] }>(`/projects/${fixture.project}/operations?limit=1000`))
    .body;
  expect(page.operations.map(({ id }) => id)).toEqual(after.served);
});

test('all thirteen actions of the API document occur, each caused by people’s or the control plane’s work', async () => {
  const file = join(mkdtempSync(join(tmpdir(), 'keywarden-sandbox-')), 'state.sqlite');
  const fixture = await projectFixture({ ...at, file });
  const act = async (method: string, path: string, body?: unknown) => {
    const answer = await fixture.api<{ endpoints?: { id: string }[]; operations?: Operation[] }>(path, {
      method,
      body,
    });
    expect(answer.status, `${method} ${path}`).toBeLessThan(300);
    if (answer.body?.operations !== undefined) await fixture.settle(fixture.project);
    return answer.body;
  };
  const project = `/projects/${fixture.project}`;
  const child = { branch: { name: 'old' }, endpoints: [{ type: 'read_write' }] };
  const endpoint = (await act('POST', `${project}/branches`, child)).endpoints?.[0]?.id;
  await act('POST', `${project}/branches/${fixture.branch}/roles`, { role: { name: 'reporter' } });
  await act('PATCH', project, { project: { history_retention_seconds: 3600 } });
  await fixture.advance(20 * day);
  await act('POST', `${project}/endpoints/${endpoint}/start`);
  await fixture.advance(45 * day);
  await act('POST', `${project}/endpoints/${endpoint}/start`);
  await act('DELETE', project);
  await act('POST', `${project}/recover`);
  await fixture.settle(fixture.project);
  await act('DELETE', project);
  await fixture.advance(8 * day);
  await fixture.sandbox.close();
  const rows = new DatabaseSync(file).prepare('select distinct action from operation').all();
  expect(rows.map(({ action }) => String(action)).toSorted()).toEqual([
    'apply_config',
    'apply_storage_config',
    'check_availability',
    'create_branch',
    'create_timeline',
    'delete_tenant',
    'start_compute',
    'suspend_compute',
    'tenant_attach',
    'tenant_detach',
    'tenant_reattach',
    'timeline_archive',
    'timeline_unarchive',
  ]);
});

test('a branch that expires in a deleted project is deleted once the project is recovered', async () => {
  const fixture = await projectFixture(at);
  const project = `/projects/${fixture.project}`;
  const names = async () =>
    (await fixture.api<{ branches: { name: string }[] }>(`${project}/branches`)).body.branches.map(({ name }) => name);
  const expiring = { name: 'short', expires_at: '2026-06-17T12:00:00Z' };
  await fixture.api(`${project}/branches`, { body: { branch: expiring } });
  await fixture.settle(fixture.project);
  expect((await names()).toSorted()).toEqual(['main', 'short']);
  await fixture.api(project, { method: 'DELETE' });
  await fixture.advance(3 * day);
  await fixture.api(`${project}/recover`, { method: 'POST' });
  expect((await names()).toSorted()).toEqual(['main', 'short']);
  await fixture.advance(60);
  expect(await names()).toEqual(['main']);
});
