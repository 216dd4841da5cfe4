import type { Hono } from 'hono';
import { requireProject } from '../access/rules.ts';
import { found, Refusal } from '../http/errors.ts';
import { readFlag, readPath, readRequired } from '../http/query.ts';
import { defaultBranch } from '../resources/branches.ts';
import { connectionUri } from '../resources/connections.ts';
import { endpointHost, findReadWrite } from '../resources/endpoints.ts';
import type { Env, State } from '../state.ts';
import { requireDatabase } from './databases.ts';
import { requireBranch, requireEndpoint } from './mutate.ts';
import { requireRole } from './roles.ts';

export function connectionUriRoute(api: Hono<Env>, state: State): void {
  const { db } = state;

  api.get('/projects/:project_id/connection_uri', (c) => {
    const projectId = readPath(c, 'project_id');
    const project = requireProject(db, c.get('principal'), projectId);
    const named = { branch: c.req.query('branch_id'), endpoint: c.req.query('endpoint_id') };
    const database = readRequired(c, 'database_name');
    const roleName = readRequired(c, 'role_name');
    const isPooled = readFlag(c, 'pooled');
    const given = named.endpoint === undefined ? undefined : requireEndpoint(c, state, named.endpoint);
    const branchId = String(
      named.branch === undefined
        ? (given?.branch_id ?? defaultBranch(db, projectId).id)
        : requireBranch(c, state, named.branch).id,
    );
    const missing = `no read_write endpoint on the branch; branch_id:"${branchId}"`;
    const endpoint = found(given ?? findReadWrite(db, branchId), missing);
    if (endpoint.branch_id !== branchId) throw new Refusal(422, 'the endpoint does not belong to the branch');
    const role = requireRole(state, branchId, roleName);
    requireDatabase(state, branchId, database);
    const place = { host: endpointHost(endpoint, isPooled), withPassword: project.store_passwords === 1 };
    return c.json({ uri: connectionUri(role, database, place) });
  });
}
