import type { Hono } from 'hono';
import { z } from 'zod';
import { configureBranchTasks } from '../engine/tasks.ts';
import { found, Refusal } from '../http/errors.ts';
import { readBody } from '../http/json.ts';
import { readPath } from '../http/query.ts';
import { findDatabase, findRole, insertDatabase, listDatabases, renderDatabase } from '../resources/catalog.ts';
import type { Env, State } from '../state.ts';
import type { Row } from '../store/database.ts';
import { mutate, requireBranch, requireBranchId } from './mutate.ts';

const name = z.string().min(1).max(63);
const createBody = z.object({ database: z.object({ name, owner_name: z.string() }) });
const updateBody = z.object({ database: z.object({ name: name.optional(), owner_name: z.string().optional() }) });

export function databaseRoutes(api: Hono<Env>, state: State): void {
  const { db } = state;
  const list = '/projects/:project_id/branches/:branch_id/databases';

  api.get(list, (c) => c.json({ databases: listDatabases(db, requireBranchId(c, state)).map(renderDatabase) }));

  api.post(list, async (c) => {
    const branchId = requireBranchId(c, state);
    const { database: wanted } = await readBody(c, createBody);
    return mutate(c, state, ({ at, order }) => {
      requireBranch(c, state);
      requireFreeName(state, branchId, wanted.name);
      requireOwner(state, branchId, wanted.owner_name);
      insertDatabase(db, { branch_id: branchId, ...wanted }, at);
      const operations = order(configureBranchTasks(db, branchId));
      return c.json({ database: renderDatabase(requireDatabase(state, branchId, wanted.name)), operations }, 201);
    });
  });

  api.get(`${list}/:database_name`, (c) => {
    const row = requireDatabase(state, requireBranchId(c, state), readPath(c, 'database_name'));
    return c.json({ database: renderDatabase(row) });
  });

  api.patch(`${list}/:database_name`, async (c) => {
    const branchId = requireBranchId(c, state);
    const { database: wanted } = await readBody(c, updateBody);
    return mutate(c, state, ({ at, order }) => {
      requireBranch(c, state);
      const row = requireDatabase(state, branchId, readPath(c, 'database_name'));
      const newName = wanted.name ?? String(row.name);
      if (newName !== row.name) requireFreeName(state, branchId, newName);
      if (wanted.owner_name !== undefined) requireOwner(state, branchId, wanted.owner_name);
      db.update('database', { id: Number(row.id), name: newName, owner_name: wanted.owner_name, updated_at: at });
      const operations = order(configureBranchTasks(db, branchId));
      return c.json({ database: renderDatabase(requireDatabase(state, branchId, newName)), operations });
    });
  });

  api.delete(`${list}/:database_name`, (c) => {
    const branchId = requireBranchId(c, state);
    const row = findDatabase(db, branchId, readPath(c, 'database_name'));
    if (row === undefined) return c.body(null, 204);
    return mutate(c, state, ({ order }) => {
      db.run('delete from database where id = ?', Number(row.id));
      return c.json({ database: renderDatabase(row), operations: order(configureBranchTasks(db, branchId)) });
    });
  });
}

export function requireDatabase({ db }: State, branchId: string, databaseName: string): Row {
  const message = `database not found for branch; database_name:"${databaseName}", branch_id:"${branchId}"`;
  return found(findDatabase(db, branchId, databaseName), message);
}

function requireFreeName({ db }: State, branchId: string, databaseName: string): void {
  if (findDatabase(db, branchId, databaseName) !== undefined)
    throw new Refusal(409, `database with name "${databaseName}" already exists`);
}

function requireOwner({ db }: State, branchId: string, roleName: string): void {
  if (findRole(db, branchId, roleName) === undefined)
    throw new Refusal(422, `owner_name must be a role of the branch; role_name:"${roleName}"`);
}
