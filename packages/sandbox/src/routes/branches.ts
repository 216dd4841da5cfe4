import type { Context, Hono } from 'hono';
import { z } from 'zod';
import { requireBranch, requireProjectId } from '../access/rules.ts';
import { found, Refusal } from '../http/errors.ts';
import { readBody, readOptionalBody } from '../http/json.ts';
import { readRows } from '../http/page.ts';
import { instantOf, logSequenceNumber, readFlag, readPath } from '../http/query.ts';
import * as branches from '../resources/branches.ts';
import { listDatabases, listRoles, renderDatabase, renderRole } from '../resources/catalog.ts';
import { connectionDetails } from '../resources/connections.ts';
import { insertEndpoint, listEndpoints, renderEndpoint } from '../resources/endpoints.ts';
import type { Env, State } from '../state.ts';
import type { Database, Row } from '../store/database.ts';
import { makeId } from '../store/random.ts';
import type { Micros } from '../store/time.ts';
import { endpointFields, readEndpoint, requireOneWriter } from './endpoints.ts';
import { type Change, mutate } from './mutate.ts';

const createBody = z.object({
  endpoints: z.array(z.object(endpointFields)).default([]),
  annotation_value: z.record(z.string(), z.string()).optional(),
  branch: z
    .object({
      name: z.string().min(1).max(256).optional(),
      parent_id: z.string().optional(),
      parent_lsn: logSequenceNumber.optional(),
      parent_timestamp: z.string().optional(),
      protected: z.boolean().default(false),
      init_source: z.enum(['parent-data', 'schema-only']).default('parent-data'),
      expires_at: z.string().optional(),
    })
    .default({ protected: false, init_source: 'parent-data' }),
});

const updateBody = z.object({
  branch: z.object({
    name: z.string().min(1).max(256).optional(),
    protected: z.boolean().optional(),
    expires_at: z.string().nullable().optional(),
  }),
});

const withCreator = 'select b.*, u.name as creator from branch b left join user u on u.id = b.created_by';
const matching = '(instr(lower(b.name), lower(:search)) > 0 or instr(b.id, lower(:search)) > 0)';

export function branchRoutes(api: Hono<Env>, { db }: State): void {
  api.get('/projects/:project_id/branches', (c) => {
    const projectId = requireProjectId(c);
    const deleted = readFlag(c, 'include_deleted') ? 'true' : 'b.deleted_at is null';
    const { rows, ...page } = readRows(c, db, {
      sql: `${withCreator} where b.project_id = :project and ${deleted} and ${matching}`,
      values: { project: projectId, search: c.req.query('search') ?? '' },
      columns: { updated_at: 'b.updated_at', name: 'b.name', created_at: 'b.created_at' },
      id: 'b.id',
      limits: { max: 10_000, fallback: 10_000 },
    });
    const annotated = rows.filter((row) => row.annotation !== null);
    return c.json({
      branches: rows.map(branches.renderBranch),
      annotations: Object.fromEntries(annotated.map((row) => [row.id, branches.renderAnnotation(row)])),
      ...page,
    });
  });

  api.get('/projects/:project_id/branches/count', (c) => {
    const projectId = requireProjectId(c);
    const row = db.get(
      `select count(*) as n from branch b where b.project_id = :project and b.deleted_at is null
         and instr(lower(b.name), lower(:search)) > 0`,
      { project: projectId, search: c.req.query('search') ?? '' },
    );
    return c.json({ count: row?.n });
  });

  api.get('/projects/:project_id/branches/:branch_id', (c) => {
    requireProjectId(c);
    const row = branchWithCreator(db, String(requireBranch(c).id));
    return c.json({ branch: branches.renderBranch(row), annotation: branches.renderAnnotation(row) });
  });

  api.patch('/projects/:project_id/branches/:branch_id', async (c) => {
    const projectId = requireProjectId(c);
    const { branch: wanted } = await readBody(c, updateBody);
    return mutate(c, ({ at }) => {
      const row = requireBranch(c);
      if (typeof wanted.expires_at === 'string') requireMayExpire(db, row);
      if (wanted.name !== undefined && wanted.name !== row.name) requireFreeName(db, projectId, wanted.name);
      db.update('branch', {
        id: String(row.id),
        name: wanted.name,
        protected: wanted.protected,
        expires_at: typeof wanted.expires_at === 'string' ? readExpiry(wanted.expires_at, at) : wanted.expires_at,
        updated_at: at,
      });
      return c.json({ branch: branches.renderBranch(branchWithCreator(db, String(row.id))), operations: [] });
    });
  });

  api.delete('/projects/:project_id/branches/:branch_id', (c) => {
    const projectId = requireProjectId(c);
    const isHard = readFlag(c, 'hard_delete');
    const row = branches.findBranch(db, projectId, readPath(c, 'branch_id'));
    if (row === undefined) return c.body(null, 204);
    return mutate(c, ({ at, order }) => {
      const refusal = branches.whyNotDeleted(db, row);
      if (refusal !== null) throw new Refusal(422, refusal);
      const tasks = branches.deleteBranch(db, { branchId: String(row.id), at, method: 'user', isHard });
      const operations = order(tasks);
      return c.json({ branch: branches.renderBranch(branchWithCreator(db, String(row.id))), operations });
    });
  });

  api.post('/projects/:project_id/branches/:branch_id/set_as_default', (c) => {
    return mutate(c, ({ projectId, at, order }) => {
      const row = requireBranch(c);
      const id = String(row.id);
      db.run('update branch set is_default = 0, updated_at = ? where project_id = ? and is_default = 1', at, projectId);
      db.update('branch', { id, is_default: true, expires_at: null, updated_at: at });
      const operations = order(row.state === 'archived' ? [{ action: 'timeline_unarchive', branchId: id }] : []);
      return c.json({ branch: branches.renderBranch(branchWithCreator(db, id)), operations });
    });
  });

  api.post('/projects/:project_id/branches/:branch_id/recover', (c) => mutate(c, (change) => recover(c, change)));
}

function recover(c: Context<Env>, { projectId, at }: Change) {
  const { db } = c.get('state');
  const id = readPath(c, 'branch_id');
  const deleted = 'select * from branch where project_id = ? and id = ? and purge_at > ?';
  const row = found(db.get(deleted, projectId, id, at), `branch not found; branch_id:"${id}"`);
  requireFreeName(db, projectId, String(row.name));
  if (row.parent_id !== null && branches.findBranch(db, projectId, String(row.parent_id)) === undefined)
    throw new Refusal(422, `the parent of the branch is gone; parent_id:"${String(row.parent_id)}"`);
  db.update('branch', { id, deleted_at: null, purge_at: null, deletion_method: null, updated_at: at });
  return c.json({
    branch: branches.renderBranch(branchWithCreator(db, id)),
    endpoints: listEndpoints(db, { projectId, branchId: id }).map(renderEndpoint),
  });
}

function requireMayExpire(db: Database, row: Row): void {
  const refusal = branches.whyNotDeleted(db, row);
  if (refusal !== null) throw new Refusal(422, `a branch that stays cannot expire: ${refusal}`);
}

export function branchWithCreator(db: Database, id: string): Row {
  const row = db.get(`${withCreator} where b.id = ?`, id);
  if (row === undefined) throw new Error(`branch ${id} does not exist`);
  return row;
}

export function branchCreateRoute(api: Hono<Env>, { db, random }: State): void {
  api.post('/projects/:project_id/branches', async (c) => {
    const projectId = requireProjectId(c);
    const { branch: wanted, endpoints, annotation_value: annotation } = await readOptionalBody(c, createBody);
    return mutate(c, ({ at, order }) => {
      const parent =
        wanted.parent_id === undefined ? branches.defaultBranch(db, projectId) : requireBranch(c, wanted.parent_id);
      const id = makeId(random, 'br');
      const name = wanted.name ?? id;
      requireFreeName(db, projectId, name);
      const points = endpoints.map((endpoint) => readEndpoint(endpoint));
      requireOneWriter(points);
      branches.insertBranch(db, {
        id,
        project_id: projectId,
        parent_id: String(parent.id),
        name,
        created_at: at,
        created_by: c.get('principal').userId,
        protected: wanted.protected,
        init_source: wanted.init_source,
        expires_at: wanted.expires_at === undefined ? undefined : readExpiry(wanted.expires_at, at),
        parent_lsn: wanted.parent_lsn,
        parent_timestamp:
          wanted.parent_timestamp === undefined ? undefined : readPast(wanted.parent_timestamp, { parent, at }),
        annotation,
      });
      branches.copyCatalog(db, { from: String(parent.id), to: id, at });
      const starts = points.map((point) => {
        const endpointId = makeId(random, 'ep');
        insertEndpoint(db, { ...point, id: endpointId, project_id: projectId, branch_id: id, created_at: at });
        return { action: 'start_compute', branchId: id, endpointId };
      });
      const project = db.require('project', { id: projectId });
      const reattach = project.detached_at === null ? [] : [{ action: 'tenant_reattach' }];
      const operations = order([...reattach, { action: 'create_branch', branchId: id }, ...starts]);
      return c.json(
        {
          branch: branches.renderBranch(requireBranch(c, id)),
          endpoints: listEndpoints(db, { projectId, branchId: id }).map(renderEndpoint),
          operations,
          roles: listRoles(db, id).map((row) => renderRole(row)),
          databases: listDatabases(db, id).map(renderDatabase),
          connection_uris: project.store_passwords === 1 ? connectionDetails(db, id) : [],
        },
        201,
      );
    });
  });
}

/** Throws 409 for a name that another branch of the project has. */
export function requireFreeName(db: Database, projectId: string, name: string): void {
  const taken = branches.findBranchByName(db, projectId, name);
  if (taken !== undefined)
    throw new Refusal(409, `branch already exists; branch_id:"${String(taken.id)}", branch_name:"${name}"`);
}

/** Reads when a branch is to be deleted automatically; throws 422 for a time in the past. */
function readExpiry(text: string, now: Micros): Micros {
  const at = instantOf(text, 'expires_at');
  if (at <= now) throw new Refusal(422, 'expires_at must be in the future');
  return at;
}

function readPast(text: string, { parent, at }: { parent: Row; at: Micros }): Micros {
  const point = instantOf(text, 'parent_timestamp');
  if (point > at || point < Number(parent.created_at))
    throw new Refusal(422, 'parent_timestamp must lie between the creation of the parent branch and now');
  return point;
}
