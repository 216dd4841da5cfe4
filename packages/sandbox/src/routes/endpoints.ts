import type { Context, Hono } from 'hono';
import { z } from 'zod';
import { requireBranch, requireEndpoint, requireProjectId } from '../access/rules.ts';
import { requireFree, type Task } from '../engine/queue.ts';
import { configureTasks, restartTasks, startTasks, suspendTasks } from '../engine/tasks.ts';
import { Refusal } from '../http/errors.ts';
import { readBody } from '../http/json.ts';
import { readPath } from '../http/query.ts';
import {
  findEndpoint,
  findReadWrite,
  insertEndpoint,
  listEndpoints,
  type NewEndpoint,
  renderEndpoint,
} from '../resources/endpoints.ts';
import type { Env, State } from '../state.ts';
import type { Database } from '../store/database.ts';
import { makeId } from '../store/random.ts';
import { type Change, mutate } from './mutate.ts';

export const computeUnits = z.number().min(0.25);
export const suspendTimeout = z.int().min(-1).max(604_800);

const changeable = {
  autoscaling_limit_min_cu: computeUnits.optional(),
  autoscaling_limit_max_cu: computeUnits.optional(),
  suspend_timeout_seconds: suspendTimeout.optional(),
  settings: z.looseObject({}).optional(),
};

/** The accepted fields of a compute that is created with its branch. */
export const endpointFields = { ...changeable, type: z.enum(['read_write', 'read_only']) };

const more = {
  name: z.string().min(1).max(64).optional(),
  pooler_enabled: z.boolean().optional(),
  disabled: z.boolean().optional(),
  passwordless_access: z.boolean().optional(),
};
const createBody = z.object({ endpoint: z.object({ ...endpointFields, ...more, branch_id: z.string() }) });
const updateBody = z.object({ endpoint: z.object({ ...changeable, ...more, branch_id: z.string().optional() }) });
type Wanted = z.infer<typeof updateBody>['endpoint'] & { type?: 'read_write' | 'read_only' };

export function endpointRoutes(api: Hono<Env>, { db, random }: State): void {
  api.get('/projects/:project_id/endpoints', (c) => {
    const projectId = requireProjectId(c);
    return c.json({ endpoints: listEndpoints(db, { projectId }).map(renderEndpoint) });
  });

  api.get('/projects/:project_id/branches/:branch_id/endpoints', (c) => {
    const projectId = requireProjectId(c);
    const branchId = String(requireBranch(c).id);
    return c.json({ endpoints: listEndpoints(db, { projectId, branchId }).map(renderEndpoint) });
  });

  api.post('/projects/:project_id/endpoints', async (c) => {
    const projectId = requireProjectId(c);
    const { endpoint: wanted } = await readBody(c, createBody);
    return mutate(c, ({ at, order }) => {
      const branchId = String(requireBranch(c, wanted.branch_id).id);
      const endpoint = readEndpoint(wanted);
      if (endpoint.type === 'read_write') requireNoWriter(db, branchId);
      const id = makeId(random, 'ep');
      insertEndpoint(db, { ...endpoint, id, project_id: projectId, branch_id: branchId, created_at: at });
      const operations = order(endpoint.disabled ? [] : startTasks(db, requireEndpoint(c, id)));
      return c.json({ endpoint: renderEndpoint(requireEndpoint(c, id)), operations }, 201);
    });
  });

  api.get('/projects/:project_id/endpoints/:endpoint_id', (c) => {
    requireProjectId(c);
    return c.json({ endpoint: renderEndpoint(requireEndpoint(c)) });
  });

  api.patch('/projects/:project_id/endpoints/:endpoint_id', async (c) => {
    requireProjectId(c);
    const { endpoint: wanted } = await readBody(c, updateBody);
    return mutate(c, (change) => update(c, { wanted, change }));
  });

  api.delete('/projects/:project_id/endpoints/:endpoint_id', (c) => {
    const projectId = requireProjectId(c);
    const row = findEndpoint(db, projectId, readPath(c, 'endpoint_id'));
    if (row === undefined) return c.body(null, 204);
    return mutate(c, ({ at, order }) => {
      requireFree(db, projectId);
      const { branch_id: branchId } = row;
      if (db.get('select 1 from branch where id = ? and protected = 1', String(branchId)) !== undefined)
        throw new Refusal(422, `cannot delete a compute of a protected branch; branch_id:"${branchId}"`);
      db.run('update endpoint set deleted_at = ?, suspend_at = null where id = ?', at, String(row.id));
      return c.json({ endpoint: renderEndpoint(row), operations: order(suspendTasks(row)) });
    });
  });

  const act = (name: 'start' | 'suspend' | 'restart', pending: string, tasksOf: (c: Context<Env>) => Task[]) =>
    api.post(`/projects/:project_id/endpoints/:endpoint_id/${name}`, (c) =>
      mutate(c, ({ order }) => {
        const tasks = tasksOf(c);
        // Before the operations, because one that is skipped at once reverts it.
        if (tasks.length > 0) db.update('endpoint', { id: String(requireEndpoint(c).id), pending_state: pending });
        const operations = order(tasks);
        return c.json({ endpoint: renderEndpoint(requireEndpoint(c)), operations });
      }),
    );
  act('start', 'active', (c) => {
    const row = requireEnabled(c);
    return row.state === 'active' ? [] : startTasks(db, row);
  });
  act('suspend', 'idle', (c) => suspendTasks(requireEndpoint(c)));
  act('restart', 'active', (c) => restartTasks(db, requireEnabled(c)));
}

function update(c: Context<Env>, { wanted, change }: { wanted: Wanted; change: Change }) {
  const { db } = c.get('state');
  const row = requireEndpoint(c);
  const id = String(row.id);
  const branchId =
    wanted.branch_id === undefined ? String(row.branch_id) : String(requireBranch(c, wanted.branch_id).id);
  if (branchId !== row.branch_id && row.type === 'read_write') requireNoWriter(db, branchId);
  const { branch_id: _branch, ...columns } = toColumns(wanted);
  requireOrder(columns.min_cu ?? Number(row.min_cu), columns.max_cu ?? Number(row.max_cu));
  db.update('endpoint', { id, branch_id: branchId, ...columns, updated_at: change.at });
  const updated = requireEndpoint(c);
  const isRenamed = Object.keys(wanted).every((field) => field === 'name');
  const tasks = branchId === row.branch_id ? configureTasks(db, updated) : restartTasks(db, updated);
  return c.json({ endpoint: renderEndpoint(updated), operations: change.order(isRenamed ? [] : tasks) });
}

/** Returns the columns that a request names: those of the limits have other names. */
const toColumns = ({ autoscaling_limit_min_cu: min_cu, autoscaling_limit_max_cu: max_cu, ...same }: Wanted) => ({
  ...same,
  min_cu,
  max_cu,
});

type Endpoint = ReturnType<typeof toColumns> & Pick<NewEndpoint, 'type'>;

/** Validates the part of a request that describes a compute. */
export function readEndpoint(wanted: Wanted): Endpoint {
  const columns = toColumns(wanted);
  requireOrder(columns.min_cu, columns.max_cu);
  return { ...columns, type: wanted.type ?? 'read_write' };
}

/** Throws unless at most one compute of a branch writes. */
export function requireOneWriter(endpoints: Endpoint[]): void {
  if (endpoints.filter(({ type }) => type === 'read_write').length > 1) throw new Refusal(409, secondWriter);
}

function requireNoWriter(db: Database, branchId: string): void {
  const taken = findReadWrite(db, branchId);
  if (taken !== undefined) throw new Refusal(409, `${secondWriter}; endpoint_id:"${String(taken.id)}"`);
}

const secondWriter = 'read_write endpoint already exists on the branch';

/** Throws 422 if a compute's minimum limit exceeds its maximum. */
export function requireOrder(min = 0, max = Number.POSITIVE_INFINITY): void {
  if (min > max) throw new Refusal(422, 'autoscaling_limit_min_cu must not be above autoscaling_limit_max_cu');
}

function requireEnabled(c: Context<Env>) {
  const row = requireEndpoint(c);
  if (row.disabled === 1) throw new Refusal(422, `endpoint is disabled; endpoint_id:"${String(row.id)}"`);
  return row;
}
