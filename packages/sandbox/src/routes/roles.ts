import type { Hono } from 'hono';
import { z } from 'zod';
import { configureBranchTasks } from '../engine/tasks.ts';
import { found, Refusal } from '../http/errors.ts';
import { readBody } from '../http/json.ts';
import { readPath } from '../http/query.ts';
import { findRole, insertRole, listRoles, renderRole } from '../resources/catalog.ts';
import type { Env, State } from '../state.ts';
import type { Row } from '../store/database.ts';
import { makePassword } from '../store/random.ts';
import { mutate, requireBranch, requireBranchId } from './mutate.ts';

const createBody = z.object({
  role: z.object({ name: z.string().min(1).max(63), no_login: z.boolean().default(false) }),
});

export function roleRoutes(api: Hono<Env>, state: State): void {
  const { db, random } = state;
  const list = '/projects/:project_id/branches/:branch_id/roles';

  api.get(list, (c) => c.json({ roles: listRoles(db, requireBranchId(c, state)).map((row) => renderRole(row)) }));

  api.post(list, async (c) => {
    const branchId = requireBranchId(c, state);
    const { role: wanted } = await readBody(c, createBody);
    return mutate(c, state, ({ at, order }) => {
      requireBranch(c, state);
      if (findRole(db, branchId, wanted.name) !== undefined)
        throw new Refusal(409, `role with name "${wanted.name}" already exists`);
      insertRole(db, { branch_id: branchId, ...wanted, password: makePassword(random) }, at);
      const operations = order(configureBranchTasks(db, branchId));
      return c.json(
        { role: renderRole(requireRole(state, branchId, wanted.name), { withPassword: true }), operations },
        201,
      );
    });
  });

  api.get(`${list}/:role_name`, (c) =>
    c.json({ role: renderRole(requireRole(state, requireBranchId(c, state), readPath(c, 'role_name'))) }),
  );

  api.delete(`${list}/:role_name`, (c) => {
    const branchId = requireBranchId(c, state);
    const row = findRole(db, branchId, readPath(c, 'role_name'));
    if (row === undefined) return c.body(null, 204);
    requireOwnsNothing(state, row);
    return mutate(c, state, ({ order }) => {
      db.run('delete from role where branch_id = ? and name = ?', branchId, String(row.name));
      return c.json({ role: renderRole(row), operations: order(configureBranchTasks(db, branchId)) });
    });
  });

  api.get(`${list}/:role_name/reveal_password`, (c) => {
    const row = requireRole(state, requireBranchId(c, state), readPath(c, 'role_name'));
    const project = db.get('select store_passwords from project where id = ?', readPath(c, 'project_id'));
    if (project?.store_passwords !== 1) throw new Refusal(412, 'storing passwords is disabled for the project');
    return c.json({ password: row.password });
  });

  api.post(`${list}/:role_name/reset_password`, (c) => {
    const branchId = requireBranchId(c, state);
    return mutate(c, state, ({ at, order }) => {
      const name = String(requireRole(state, branchId, readPath(c, 'role_name')).name);
      const changed = { password: makePassword(random), at, branch: branchId, name };
      db.run(
        'update role set password = :password, updated_at = :at where branch_id = :branch and name = :name',
        changed,
      );
      const operations = order(configureBranchTasks(db, branchId));
      return c.json({ role: renderRole(requireRole(state, branchId, name), { withPassword: true }), operations });
    });
  });
}

/** Returns a role. Throws 404 in the control plane's words, because some clients match them. */
export function requireRole({ db }: State, branchId: string, roleName: string): Row {
  const message = `role not found for branch; role_name:"${roleName}", branch_id:"${branchId}"`;
  return found(findRole(db, branchId, roleName), message);
}

function requireOwnsNothing({ db }: State, role: Row): void {
  const owned = db.find('database', { branch_id: String(role.branch_id), owner_name: String(role.name) });
  if (owned !== undefined)
    throw new Refusal(422, `cannot delete a role that owns a database; database_name:"${String(owned.name)}"`);
}
