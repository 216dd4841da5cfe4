import type { Hono } from 'hono';
import { z } from 'zod';
import { requireProject } from '../access/rules.ts';
import { Refusal } from '../http/errors.ts';
import { readOptionalBody } from '../http/json.ts';
import { instantOf, logSequenceNumber, readPath } from '../http/query.ts';
import { copyCatalog, defaultBranch, findBranchByName, insertBranch, renderBranch } from '../resources/branches.ts';
import { listDatabases, listRoles, renderDatabase, renderRole } from '../resources/catalog.ts';
import { connectionDetails } from '../resources/connections.ts';
import { insertEndpoint, listEndpoints, renderEndpoint } from '../resources/endpoints.ts';
import type { Env, State } from '../state.ts';
import type { Row } from '../store/database.ts';
import { makeId } from '../store/random.ts';
import type { Micros } from '../store/time.ts';
import { endpointFields, readEndpoint, requireOneWriter } from './endpoints.ts';
import { mutate, requireBranch } from './mutate.ts';

const createBody = z.object({
  endpoints: z.array(z.object(endpointFields)).default([]),
  annotation_value: z.record(z.string(), z.string()).optional(),
  branch: z
    .object({
      name: z.string().min(1).max(256).optional(),
      parent_id: z.string().optional(),
      parent_lsn: z.string().regex(logSequenceNumber, 'not a log sequence number').optional(),
      parent_timestamp: z.string().optional(),
      protected: z.boolean().default(false),
      init_source: z.enum(['parent-data', 'schema-only']).default('parent-data'),
      expires_at: z.string().optional(),
    })
    .default({ protected: false, init_source: 'parent-data' }),
});

export function branchCreateRoute(api: Hono<Env>, state: State): void {
  const { db, random } = state;

  api.post('/projects/:project_id/branches', async (c) => {
    const projectId = readPath(c, 'project_id');
    const principal = c.get('principal');
    requireProject(db, principal, projectId);
    const { branch: wanted, endpoints, annotation_value: annotation } = await readOptionalBody(c, createBody);
    return mutate(c, state, ({ at, order }) => {
      const parent =
        wanted.parent_id === undefined ? defaultBranch(db, projectId) : requireBranch(c, state, wanted.parent_id);
      const id = makeId(random, 'br');
      const name = wanted.name ?? id;
      requireFreeName(state, projectId, name);
      const points = endpoints.map((endpoint) => readEndpoint(endpoint));
      requireOneWriter(points);
      insertBranch(db, {
        id,
        project_id: projectId,
        parent_id: String(parent.id),
        name,
        created_at: at,
        created_by: principal.userId,
        protected: wanted.protected,
        init_source: wanted.init_source,
        expires_at: wanted.expires_at === undefined ? undefined : readExpiry(wanted.expires_at, at),
        parent_lsn: wanted.parent_lsn,
        parent_timestamp:
          wanted.parent_timestamp === undefined ? undefined : readPast(wanted.parent_timestamp, { parent, at }),
        annotation,
      });
      copyCatalog(db, { from: String(parent.id), to: id, at });
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
          branch: renderBranch(requireBranch(c, state, id)),
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
export function requireFreeName({ db }: State, projectId: string, name: string): void {
  const taken = findBranchByName(db, projectId, name);
  if (taken !== undefined)
    throw new Refusal(409, `branch already exists; branch_id:"${String(taken.id)}", branch_name:"${name}"`);
}

/** Reads when a branch is to be deleted automatically; throws 422 for a time in the past. */
export function readExpiry(text: string, now: Micros): Micros {
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
