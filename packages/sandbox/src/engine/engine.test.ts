import { mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { companyBed, type Operation, openBed, projectBed } from '@keywarden/testkit/sandbox/fixture';
import { expect, test } from 'vitest';

const day = 86_400;
const at = { realNowMs: () => Date.parse('2026-06-15T12:00:00Z') };

const brief = (operations: Operation[]) => operations.map(({ action, status }) => `${action} ${status}`);

test('creating a branch with a compute runs create_branch, and start_compute waits for it', async () => {
  const bed = await projectBed(at);
  const { status, body } = await bed.api<{ operations: Operation[]; branch: { current_state: string } }>(
    `/projects/${bed.project}/branches`,
    { body: { branch: { name: 'staging' }, endpoints: [{ type: 'read_write' }] } },
  );
  expect(status).toBe(201);
  expect(brief(body.operations)).toEqual(['create_branch running', 'start_compute scheduling']);
  expect(new Set(body.operations.map((each) => each.created_at)).size).toBe(1);
  expect(body.branch.current_state).toBe('init');
  const after = (await bed.settle(bed.project)).slice(0, 2);
  expect(brief(after)).toEqual(['start_compute finished', 'create_branch finished']);
});

test('while operations of a project go on, what would schedule more of them answers 423, and what would not goes through', async () => {
  const bed = await projectBed(at);
  const branches = `/projects/${bed.project}/branches`;
  await bed.api(branches, { body: { branch: { name: 'one' } } });
  const second = await bed.api(branches, { body: { branch: { name: 'two' } } });
  expect(second).toMatchObject({
    status: 423,
    body: { message: 'project already has running conflicting operations, scheduling of new ones is prohibited' },
  });
  const { branches: listed } = (await bed.api<{ branches: { name: string }[] }>(branches)).body;
  expect(listed.map(({ name }) => name)).not.toContain('two');
  const renamed = await bed.api(`${branches}/${bed.branch}`, { method: 'PATCH', body: { branch: { name: 'root' } } });
  expect(renamed.status).toBe(200);
  await bed.settle(bed.project);
  expect((await bed.api(branches, { body: { branch: { name: 'two' } } })).status).toBe(201);
});

test('at most one operation of a project runs at any time', async () => {
  const bed = await openBed({ ...at, work: { operations_per_day: 40, system_trouble: 0.3 } });
  await bed.control('/generate', { body: { organizations: 1, projects: 3, keys: 0, operations: 300 } });
  const projects = (await bed.control<{ id: string }[]>('/projects')).body;
  await bed.advance(day);
  let seen = 0;
  for (let step = 0; step < 400; step += 1) {
    await bed.advance(67);
    for (const { id } of projects) {
      const { operations } = (await bed.api<{ operations: Operation[] }>(`/projects/${id}/operations?limit=20`)).body;
      const busy = operations.filter(({ status }) => ['running', 'cancelling', 'failed'].includes(status));
      seen += busy.length;
      expect(busy.length).toBeLessThanOrEqual(1);
    }
  }
  expect(seen).toBeGreaterThan(0);
});

test('a compute that is started is suspended again once it is idle', async () => {
  const bed = await projectBed(at);
  const state = async () =>
    (await bed.api<{ endpoint: { current_state: string } }>(`/projects/${bed.project}/endpoints/${bed.endpoint}`)).body
      .endpoint.current_state;
  expect(await state()).toBe('active');
  await bed.advance(400);
  expect(await state()).toBe('idle');
  const [newest] = await bed.settle(bed.project);
  expect(newest).toMatchObject({ action: 'suspend_compute', status: 'finished', endpoint_id: bed.endpoint });
});

test('by itself a project sees nothing for a day, then at most one operation a day, unless more are asked for', async () => {
  const bed = await companyBed(at);
  const count = async () =>
    (await bed.control<{ operations: number }[]>('/projects')).body.map((each) => each.operations);
  const before = await count();
  await bed.advance(day - 1);
  expect(await count()).toEqual(before);
  await bed.advance(20 * day);
  const grown = (await count()).map((each, index) => each - (before[index] ?? 0));
  expect(Math.min(...grown)).toBeGreaterThan(10);
  expect(Math.max(...grown)).toBeLessThanOrEqual(21);
  await bed.control('/work', { method: 'PUT', body: { operations_per_day: 12 } });
  await bed.advance(10 * day);
  const faster = (await count()).map((each, index) => each - (before[index] ?? 0) - (grown[index] ?? 0));
  expect(Math.min(...faster)).toBeGreaterThan(60);
});

test('one seed gives one course of the control plane’s own work; time that comes in one step or in many gives the same', async () => {
  const course = async (steps: number, seed: number) => {
    const bed = await companyBed({ ...at, work: { seed, system_trouble: 0.5 } });
    for (let step = 0; step < steps; step += 1) await bed.advance((60 * day) / steps);
    const { operations } = (await bed.api<{ operations: Operation[] }>(`/projects/${bed.project}/operations?limit=50`))
      .body;
    return operations.map(({ action, status, failures_count: failures }) => `${action} ${status} ${failures}`);
  };
  const [once, often, another] = [await course(1, 1), await course(20, 1), await course(1, 2)];
  expect(once).toEqual(often);
  expect(once).not.toEqual(another);
  const statuses = new Set(once.map((each) => each.split(' ')[1]));
  expect(statuses).toEqual(new Set(['finished', 'error', 'cancelled', 'skipped']));
});

test('what fails is tried again after a while, and says when', async () => {
  const bed = await projectBed({ ...at, work: { seed: 1 } });
  await bed.control('/work', { method: 'PUT', body: { request_trouble: 1, seed: 12 } });
  const seen: string[] = [];
  for (let index = 0; index < 12 && !seen.includes('failed'); index += 1) {
    await bed.settle(bed.project);
    await bed.api(`/projects/${bed.project}/endpoints/${bed.endpoint}/restart`, { method: 'POST' });
    for (let step = 0; step < 10; step += 1) {
      await bed.advance(0.5);
      const { operations } = (await bed.api<{ operations: Operation[] }>(`/projects/${bed.project}/operations?limit=3`))
        .body;
      const failed = operations.find(({ status }) => status === 'failed');
      if (failed === undefined) continue;
      seen.push('failed');
      expect(failed).toMatchObject({ failures_count: 1, error: expect.any(String), retry_at: expect.any(String) });
      break;
    }
  }
  expect(seen).toContain('failed');
});

test('operations older than six months are served no more, though the sandbox still knows them', async () => {
  const bed = await companyBed(at);
  const truth = async () =>
    (await bed.control<{ served: string[]; pruned: string[] }>(`/operations?project_id=${bed.project}`)).body;
  const before = await truth();
  await bed.advance(190 * day);
  const after = await truth();
  expect(after.served.length).toBeGreaterThan(0);
  expect(after.pruned).toEqual(expect.arrayContaining(before.served));
  const page = (await bed.api<{ operations: Operation[] }>(`/projects/${bed.project}/operations?limit=1000`)).body;
  expect(page.operations.map(({ id }) => id)).toEqual(after.served);
});

test('all thirteen actions of the document occur, each out of what people and the control plane do', async () => {
  const file = join(mkdtempSync(join(tmpdir(), 'keywarden-sandbox-')), 'state.sqlite');
  const bed = await projectBed({ ...at, file });
  const act = async (method: string, path: string, body?: unknown) => {
    const answer = await bed.api<{ endpoints?: { id: string }[]; operations?: Operation[] }>(path, { method, body });
    expect(answer.status, `${method} ${path}`).toBeLessThan(300);
    if (answer.body?.operations !== undefined) await bed.settle(bed.project);
    return answer.body;
  };
  const project = `/projects/${bed.project}`;
  const child = { branch: { name: 'old' }, endpoints: [{ type: 'read_write' }] };
  const endpoint = (await act('POST', `${project}/branches`, child)).endpoints?.[0]?.id;
  await act('POST', `${project}/branches/${bed.branch}/roles`, { role: { name: 'reporter' } });
  await act('PATCH', project, { project: { history_retention_seconds: 3600 } });
  await bed.advance(20 * day);
  await act('POST', `${project}/endpoints/${endpoint}/start`);
  await bed.advance(45 * day);
  await act('POST', `${project}/endpoints/${endpoint}/start`);
  await act('DELETE', project);
  await act('POST', `${project}/recover`);
  await bed.settle(bed.project);
  await act('DELETE', project);
  await bed.advance(8 * day);
  await bed.sandbox.close();
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
