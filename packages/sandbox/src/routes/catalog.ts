import type { Context, Hono } from 'hono';
import { z } from 'zod';
import { requireBranch, requireBranchId, requireEndpoint, requireProject, requireProjectId } from '../access/rules.ts';
import { configureBranchTasks } from '../engine/tasks.ts';
import { found, Refusal } from '../http/errors.ts';
import { readBody } from '../http/json.ts';
import { readFlag, readInstant, readLsn, readPath, readRequired } from '../http/query.ts';
import { defaultBranch } from '../resources/branches.ts';
import * as catalog from '../resources/catalog.ts';
import { connectionUri } from '../resources/connections.ts';
import { endpointHost, findReadWrite } from '../resources/endpoints.ts';
import type { Env, State } from '../state.ts';
import type { Database, Row } from '../store/database.ts';
import { makePassword } from '../store/random.ts';
import { mutate } from './mutate.ts';

const name = z.string().min(1).max(63);
const databaseBody = z.object({ database: z.object({ name, owner_name: z.string() }) });
const databaseUpdate = z.object({ database: z.object({ name: name.optional(), owner_name: z.string().optional() }) });
const roleBody = z.object({ role: z.object({ name, no_login: z.boolean().default(false) }) });

export function databaseRoutes(api: Hono<Env>, { db }: State): void {
  const list = '/projects/:project_id/branches/:branch_id/databases';

  api.get(list, (c) =>
    c.json({ databases: catalog.listDatabases(db, requireBranchId(c)).map(catalog.renderDatabase) }),
  );

  api.post(list, async (c) => {
    const branchId = requireBranchId(c);
    const { database: wanted } = await readBody(c, databaseBody);
    return mutate(c, ({ at, order }) => {
      requireBranch(c);
      requireFreeName(db, branchId, wanted.name);
      requireOwner(db, branchId, wanted.owner_name);
      catalog.insertDatabase(db, { branch_id: branchId, ...wanted }, at);
      const operations = order(configureBranchTasks(db, branchId));
      return c.json({ database: catalog.renderDatabase(requireDatabase(db, branchId, wanted.name)), operations }, 201);
    });
  });

  api.get(`${list}/:database_name`, (c) => {
    const row = requireDatabase(db, requireBranchId(c), readPath(c, 'database_name'));
    return c.json({ database: catalog.renderDatabase(row) });
  });

  api.patch(`${list}/:database_name`, async (c) => {
    const branchId = requireBranchId(c);
    const { database: wanted } = await readBody(c, databaseUpdate);
    return mutate(c, ({ at, order }) => {
      requireBranch(c);
      const row = requireDatabase(db, branchId, readPath(c, 'database_name'));
      const newName = wanted.name ?? String(row.name);
      if (newName !== row.name) requireFreeName(db, branchId, newName);
      if (wanted.owner_name !== undefined) requireOwner(db, branchId, wanted.owner_name);
      db.update('database', { id: Number(row.id), name: newName, owner_name: wanted.owner_name, updated_at: at });
      const operations = order(configureBranchTasks(db, branchId));
      return c.json({ database: catalog.renderDatabase(requireDatabase(db, branchId, newName)), operations });
    });
  });

  api.delete(`${list}/:database_name`, (c) => {
    const branchId = requireBranchId(c);
    const row = catalog.findDatabase(db, branchId, readPath(c, 'database_name'));
    if (row === undefined) return c.body(null, 204);
    return mutate(c, ({ order }) => {
      db.run('delete from database where id = ?', Number(row.id));
      return c.json({ database: catalog.renderDatabase(row), operations: order(configureBranchTasks(db, branchId)) });
    });
  });
}

function requireDatabase(db: Database, branchId: string, databaseName: string): Row {
  const message = `database not found for branch; database_name:"${databaseName}", branch_id:"${branchId}"`;
  return found(catalog.findDatabase(db, branchId, databaseName), message);
}

function requireFreeName(db: Database, branchId: string, databaseName: string): void {
  if (catalog.findDatabase(db, branchId, databaseName) !== undefined)
    throw new Refusal(409, `database with name "${databaseName}" already exists`);
}

function requireOwner(db: Database, branchId: string, roleName: string): void {
  if (catalog.findRole(db, branchId, roleName) === undefined)
    throw new Refusal(422, `owner_name must be a role of the branch; role_name:"${roleName}"`);
}

export function roleRoutes(api: Hono<Env>, { db, random }: State): void {
  const list = '/projects/:project_id/branches/:branch_id/roles';

  api.get(list, (c) =>
    c.json({ roles: catalog.listRoles(db, requireBranchId(c)).map((row) => catalog.renderRole(row)) }),
  );

  api.post(list, async (c) => {
    const branchId = requireBranchId(c);
    const { role: wanted } = await readBody(c, roleBody);
    return mutate(c, ({ at, order }) => {
      requireBranch(c);
      if (catalog.findRole(db, branchId, wanted.name) !== undefined)
        throw new Refusal(409, `role with name "${wanted.name}" already exists`);
      catalog.insertRole(db, { branch_id: branchId, ...wanted, password: makePassword(random) }, at);
      const operations = order(configureBranchTasks(db, branchId));
      return c.json(
        { role: catalog.renderRole(requireRole(db, branchId, wanted.name), { withPassword: true }), operations },
        201,
      );
    });
  });

  api.get(`${list}/:role_name`, (c) =>
    c.json({ role: catalog.renderRole(requireRole(db, requireBranchId(c), readPath(c, 'role_name'))) }),
  );

  api.delete(`${list}/:role_name`, (c) => {
    const branchId = requireBranchId(c);
    const row = catalog.findRole(db, branchId, readPath(c, 'role_name'));
    if (row === undefined) return c.body(null, 204);
    requireOwnsNothing(db, row);
    return mutate(c, ({ order }) => {
      db.run('delete from role where branch_id = ? and name = ?', branchId, String(row.name));
      return c.json({ role: catalog.renderRole(row), operations: order(configureBranchTasks(db, branchId)) });
    });
  });

  api.get(`${list}/:role_name/reveal_password`, (c) => {
    const row = requireRole(db, requireBranchId(c), readPath(c, 'role_name'));
    const project = db.get('select store_passwords from project where id = ?', readPath(c, 'project_id'));
    if (project?.store_passwords !== 1) throw new Refusal(412, 'storing passwords is disabled for the project');
    return c.json({ password: row.password });
  });

  api.post(`${list}/:role_name/reset_password`, (c) => {
    const branchId = requireBranchId(c);
    return mutate(c, ({ at, order }) => {
      const name = String(requireRole(db, branchId, readPath(c, 'role_name')).name);
      const changed = { password: makePassword(random), at, branch: branchId, name };
      db.run(
        'update role set password = :password, updated_at = :at where branch_id = :branch and name = :name',
        changed,
      );
      const operations = order(configureBranchTasks(db, branchId));
      return c.json({
        role: catalog.renderRole(requireRole(db, branchId, name), { withPassword: true }),
        operations,
      });
    });
  });
}

/** Returns a role. Throws 404 in the control plane's words, because some clients match them. */
function requireRole(db: Database, branchId: string, roleName: string): Row {
  const message = `role not found for branch; role_name:"${roleName}", branch_id:"${branchId}"`;
  return found(catalog.findRole(db, branchId, roleName), message);
}

function requireOwnsNothing(db: Database, role: Row): void {
  const owned = db.find('database', { branch_id: String(role.branch_id), owner_name: String(role.name) });
  if (owned !== undefined)
    throw new Refusal(422, `cannot delete a role that owns a database; database_name:"${String(owned.name)}"`);
}

export function connectionUriRoute(api: Hono<Env>, { db }: State): void {
  api.get('/projects/:project_id/connection_uri', (c) => {
    const project = requireProject(c);
    const named = { branch: c.req.query('branch_id'), endpoint: c.req.query('endpoint_id') };
    const database = readRequired(c, 'database_name');
    const roleName = readRequired(c, 'role_name');
    const isPooled = readFlag(c, 'pooled');
    const given = named.endpoint === undefined ? undefined : requireEndpoint(c, named.endpoint);
    const branchId = String(
      named.branch === undefined
        ? (given?.branch_id ?? defaultBranch(db, String(project.id)).id)
        : requireBranch(c, named.branch).id,
    );
    const missing = `no read_write endpoint on the branch; branch_id:"${branchId}"`;
    const endpoint = found(given ?? findReadWrite(db, branchId), missing);
    if (endpoint.branch_id !== branchId) throw new Refusal(422, 'the endpoint does not belong to the branch');
    const role = requireRole(db, branchId, roleName);
    requireDatabase(db, branchId, database);
    const place = { host: endpointHost(endpoint, isPooled), withPassword: project.store_passwords === 1 };
    return c.json({ uri: connectionUri(role, database, place) });
  });
}

/** Adds the routes for the schema of a database. The sandbox has no Postgres behind it, so the schema is always `public` of its owner, without tables. */
export function branchSchemaRoutes(api: Hono<Env>, { db }: State): void {
  const schemaOf = (c: Context<Env>, branchId: string): string => {
    const name = readRequired(c, 'db_name');
    const row = found(catalog.findDatabase(db, branchId, name), `database not found; database_name:"${name}"`);
    return `ALTER SCHEMA public OWNER TO ${String(row.owner_name)};\n`;
  };
  const checkPoint = (c: Context<Env>, prefix = '') => {
    readLsn(c, `${prefix}lsn`);
    readInstant(c, `${prefix}timestamp`);
  };

  api.get('/projects/:project_id/branches/:branch_id/schema', (c) => {
    const id = requireBranchId(c);
    checkPoint(c);
    const format = c.req.query('format') ?? 'sql';
    if (format !== 'sql' && format !== 'json')
      throw new Refusal(400, 'parameter "format" in query has an error: value must be sql or json');
    const sql = schemaOf(c, id);
    return c.json(format === 'sql' ? { sql } : { json: { tables: [] } });
  });

  api.get('/projects/:project_id/branches/:branch_id/compare_schema', (c) => {
    requireProjectId(c);
    const { id, parent_id: parent } = requireBranch(c);
    checkPoint(c);
    checkPoint(c, 'base_');
    const base = c.req.query('base_branch_id') ?? (parent === null ? undefined : String(parent));
    if (base === undefined)
      throw new Refusal(400, 'the branch has no parent to compare with: base_branch_id is required');
    const [from, to] = [schemaOf(c, String(requireBranch(c, base).id)), schemaOf(c, String(id))];
    return c.json({ diff: from === to ? '' : `--- a/schema\n+++ b/schema\n@@ -1 +1 @@\n-${from}+${to}` });
  });
}
