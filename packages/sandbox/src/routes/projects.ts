import { isIP } from 'node:net';
import type { Hono } from 'hono';
import { z } from 'zod';
import { requireOrganization, requireOwnProject, requireProject, requireProjectId } from '../access/rules.ts';
import { configureTasks } from '../engine/tasks.ts';
import { Refusal } from '../http/errors.ts';
import { readBody } from '../http/json.ts';
import { readPath } from '../http/query.ts';
import { defaultBranch, insertBranch, renderBranch } from '../resources/branches.ts';
import * as catalog from '../resources/catalog.ts';
import { connectionDetails } from '../resources/connections.ts';
import { insertEndpoint, listEndpoints, renderEndpoint } from '../resources/endpoints.ts';
import * as projects from '../resources/projects.ts';
import type { Env, State } from '../state.ts';
import type { Row } from '../store/database.ts';
import { makeId, makePassword } from '../store/random.ts';
import { computeUnits, requireOrder, suspendTimeout } from './endpoints.ts';
import { create, mutate } from './mutate.ts';
import { organizationOf } from './project-list.ts';

const quota = z.int().min(0);

/** The settings that the sandbox stores, and the parts that it validates. */
const settingsSchema = z.looseObject({
  allowed_ips: z.looseObject({ ips: z.array(z.string().refine(isAddress, 'no address')).optional() }).optional(),
  quota: z
    .looseObject({
      active_time_seconds: quota.optional(),
      compute_time_seconds: quota.optional(),
      written_data_bytes: quota.optional(),
      data_transfer_bytes: quota.optional(),
      logical_size_bytes: quota.optional(),
    })
    .optional(),
  suspend_timeout_seconds: suspendTimeout.optional(),
});

/** Returns whether the text is an address, an address block, or a range. */
function isAddress(text: string): boolean {
  const [from = '', to = from] = text.split('-');
  const [address = '', bits] = from.split('/');
  const most = isIP(address) === 6 ? 128 : 32;
  const isBlock = bits === undefined || (/^\d{1,3}$/.test(bits) && Number(bits) <= most);
  return isIP(address) !== 0 && isBlock && (to === from || isIP(to) === isIP(address));
}

const retentionSchema = z.int().min(0).max(2_592_000);

const name = z.string().min(1).max(256);
const identifier = z.string().min(1).max(63);

const createBody = z.object({
  project: z.object({
    name: name.optional(),
    org_id: z.string().optional(),
    region_id: z.enum(projects.regions.map((region) => region.region_id)).default(projects.defaultRegion),
    pg_version: z.int().min(14).max(18).default(17),
    store_passwords: z.boolean().default(true),
    history_retention_seconds: retentionSchema.default(86_400),
    settings: settingsSchema.default({}),
    default_endpoint_settings: settingsSchema.default({}),
    autoscaling_limit_min_cu: computeUnits.default(0.25),
    autoscaling_limit_max_cu: computeUnits.default(2),
    branch: z
      .object({ name: name.default('main'), role_name: identifier.optional(), database_name: identifier.optional() })
      .default({ name: 'main' }),
  }),
});

const updateBody = z.object({
  project: z.object({
    name: name.optional(),
    settings: settingsSchema.optional(),
    default_endpoint_settings: settingsSchema.optional(),
    history_retention_seconds: retentionSchema.optional(),
  }),
});

/** Adds the routes of one project: read, change, delete, recover. */
export function projectRoutes(api: Hono<Env>, { db, clock }: State): void {
  api.get('/projects/:project_id', (c) => {
    const row = requireProject(c);
    return c.json({ project: projects.renderProject(row) });
  });

  api.patch('/projects/:project_id', async (c) => {
    const id = requireProjectId(c);
    const { project: wanted } = await readBody(c, updateBody);
    return mutate(c, ({ at, order }) => {
      const row = db.require('project', { id });
      db.update('project', {
        id,
        name: wanted.name,
        settings: merge(row.settings, wanted.settings),
        default_endpoint_settings: merge(row.default_endpoint_settings, wanted.default_endpoint_settings),
        history_retention_seconds: wanted.history_retention_seconds,
        updated_at: at,
      });
      const isStored = wanted.history_retention_seconds !== undefined;
      // A running compute applies new settings at once; an idle one applies them when it starts.
      const active = listEndpoints(db, { projectId: id }).filter((endpoint) => endpoint.state === 'active');
      const operations = order([
        ...(isStored ? [{ action: 'apply_storage_config' }] : []),
        ...(wanted.settings === undefined ? [] : active.flatMap((endpoint) => configureTasks(db, endpoint))),
      ]);
      return c.json({ project: projects.renderProject(db.require('project', { id })), operations });
    });
  });

  api.delete('/projects/:project_id', (c) => {
    const id = readPath(c, 'project_id');
    const row = requireOwnProject(c, 'delete projects');
    const kept = 'select id from branch where project_id = ? and protected = 1 and deleted_at is null limit 1';
    const branch = db.get(kept, id);
    if (branch !== undefined)
      throw new Refusal(422, `cannot delete a project that has a protected branch; branch_id:"${branch.id}"`);
    db.transaction(() => projects.deleteProject(db, id, clock.now()));
    return c.json({ project: projects.renderProject(row) });
  });

  api.post('/projects/:project_id/recover', (c) => {
    const id = readPath(c, 'project_id');
    const row = requireOwnProject(c, 'recover projects', { deleted: true });
    projects.requireRoomForProject(db, String(row.organization_id));
    return create(c, id, ({ at, order }) => {
      projects.recoverProject(db, id, at);
      order([{ action: 'tenant_attach' }]);
      const branches = db.all(
        'select * from branch where project_id = ? and deleted_at is null order by created_at, id',
        id,
      );
      return c.json({
        project: projects.renderProject(db.require('project', { id })),
        branches: branches.map(renderBranch),
      });
    });
  });
}

function merge(stored: Row[string] | undefined, wanted: object | undefined): object {
  return { ...JSON.parse(String(stored)), ...wanted };
}

/** Adds the route that creates a project with a root branch, which is the default, and with a compute, a role and a database. */
export function projectCreateRoute(api: Hono<Env>, { db, random }: State): void {
  api.post('/projects', async (c) => {
    const { project: wanted } = await readBody(c, createBody);
    const principal = c.get('principal');
    const organizationId = requireOrganization(c, organizationOf(c, wanted.org_id));
    projects.requireRoomForProject(db, organizationId);
    requireOrder(wanted.autoscaling_limit_min_cu, wanted.autoscaling_limit_max_cu);
    const ids = { project: makeId(random), branch: makeId(random, 'br'), endpoint: makeId(random, 'ep') };
    return create(c, ids.project, ({ at, order }) => {
      const {
        branch,
        org_id: _organization,
        autoscaling_limit_min_cu: min,
        autoscaling_limit_max_cu: max,
        ...own
      } = wanted;
      const project = {
        ...own,
        id: ids.project,
        name: own.name ?? ids.project,
        organization_id: organizationId,
        owner_id: principal.userId,
        cpu_used_sec: 0,
        created_at: at,
        updated_at: at,
      };
      projects.insertProject(db, project, at);
      const place = { project_id: ids.project, created_at: at };
      const root = {
        id: ids.branch,
        parent_id: null,
        name: branch.name,
        created_by: principal.userId,
        is_default: true,
      };
      insertBranch(db, { ...place, ...root });
      const limits = { min_cu: min, max_cu: max };
      insertEndpoint(db, { ...place, id: ids.endpoint, branch_id: ids.branch, type: 'read_write', ...limits });
      const role = branch.role_name ?? 'neondb_owner';
      catalog.insertRole(db, { branch_id: ids.branch, name: role, password: makePassword(random) }, at);
      const database = { branch_id: ids.branch, name: branch.database_name ?? 'neondb', owner_name: role };
      catalog.insertDatabase(db, database, at);
      const operations = order([
        { action: 'create_timeline', branchId: ids.branch },
        { action: 'start_compute', branchId: ids.branch, endpointId: ids.endpoint },
      ]);
      return c.json(
        {
          project: projects.renderProject(db.require('project', { id: ids.project })),
          connection_uris: connectionDetails(db, ids.branch),
          roles: catalog.listRoles(db, ids.branch).map((row) => catalog.renderRole(row, { withPassword: true })),
          databases: catalog.listDatabases(db, ids.branch).map(catalog.renderDatabase),
          operations,
          branch: renderBranch(defaultBranch(db, ids.project)),
          endpoints: listEndpoints(db, { projectId: ids.project }).map(renderEndpoint),
        },
        201,
      );
    });
  });
}
