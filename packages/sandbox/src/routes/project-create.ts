import type { Hono } from 'hono';
import { z } from 'zod';
import { requireOrganization } from '../access/rules.ts';
import { readBody } from '../http/json.ts';
import { defaultBranch, insertBranch, renderBranch } from '../resources/branches.ts';
import {
  insertDatabase,
  insertRole,
  listDatabases,
  listRoles,
  renderDatabase,
  renderRole,
} from '../resources/catalog.ts';
import { connectionDetails } from '../resources/connections.ts';
import { insertEndpoint, listEndpoints, renderEndpoint } from '../resources/endpoints.ts';
import { defaultRegion, insertProject, regions, renderProject, requireRoomForProject } from '../resources/projects.ts';
import type { Env, State } from '../state.ts';
import { makeId, makePassword } from '../store/random.ts';
import { requireOrder } from './endpoints.ts';
import { create } from './mutate.ts';
import { organizationOf } from './project-list.ts';
import { retentionSchema, settingsSchema } from './projects.ts';

const name = z.string().min(1).max(256);
const identifier = z.string().min(1).max(63);
const computeUnits = z.number().min(0.25);

const createBody = z.object({
  project: z.object({
    name: name.optional(),
    org_id: z.string().optional(),
    region_id: z.enum(regions.map((region) => region.region_id)).default(defaultRegion),
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

/** Adds the route that creates a project with a root branch, which is the default, and with a compute, a role and a database. */
export function projectCreateRoute(api: Hono<Env>, state: State): void {
  const { db, random } = state;

  api.post('/projects', async (c) => {
    const { project: wanted } = await readBody(c, createBody);
    const principal = c.get('principal');
    const organizationId = organizationOf(c, wanted.org_id);
    requireOrganization(db, principal, organizationId);
    requireRoomForProject(db, organizationId);
    requireOrder(wanted.autoscaling_limit_min_cu, wanted.autoscaling_limit_max_cu);
    const ids = { project: makeId(random), branch: makeId(random, 'br'), endpoint: makeId(random, 'ep') };
    return create(c, state, ids.project, ({ at, order }) => {
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
      insertProject(db, project, at);
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
      insertRole(db, { branch_id: ids.branch, name: role, password: makePassword(random) }, at);
      const database = { branch_id: ids.branch, name: branch.database_name ?? 'neondb', owner_name: role };
      insertDatabase(db, database, at);
      const operations = order([
        { action: 'create_timeline', branchId: ids.branch },
        { action: 'start_compute', branchId: ids.branch, endpointId: ids.endpoint },
      ]);
      return c.json(
        {
          project: renderProject(db.require('project', { id: ids.project })),
          connection_uris: connectionDetails(db, ids.branch),
          roles: listRoles(db, ids.branch).map((row) => renderRole(row, { withPassword: true })),
          databases: listDatabases(db, ids.branch).map(renderDatabase),
          operations,
          branch: renderBranch(defaultBranch(db, ids.project)),
          endpoints: listEndpoints(db, { projectId: ids.project }).map(renderEndpoint),
        },
        201,
      );
    });
  });
}
