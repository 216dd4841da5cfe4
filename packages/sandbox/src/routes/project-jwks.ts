import { randomUUID } from 'node:crypto';
import type { Hono } from 'hono';
import { z } from 'zod';
import { found } from '../http/errors.ts';
import { columnsOf, present, readBody } from '../http/json.ts';
import { readPath } from '../http/query.ts';
import type { Env, State } from '../state.ts';
import type { Row } from '../store/database.ts';
import { mutate, requireBranch, requireProjectId } from './mutate.ts';

const addBody = z.object({
  jwks_url: z.url({ protocol: /^https$/ }),
  provider_name: z.string().min(1),
  branch_id: z.string().optional(),
  jwt_audience: z.string().optional(),
  role_names: z.array(z.string()).max(10).default(['authenticator', 'authenticated', 'anonymous']),
});

/** Adds the routes of key sets that a project's databases trust. They accept a token that one of the keys has signed. */
export function projectJwksRoutes(api: Hono<Env>, state: State): void {
  const { db } = state;
  const list = '/projects/:project_id/jwks';

  api.get(list, (c) => {
    const projectId = requireProjectId(c, state);
    const rows = db.all('select * from jwks where project_id = ? order by created_at, id', projectId);
    return c.json({ jwks: rows.map(renderJwks) });
  });

  api.post(list, async (c) => {
    const projectId = requireProjectId(c, state);
    const wanted = await readBody(c, addBody);
    return mutate(c, state, ({ at, order }) => {
      if (wanted.branch_id !== undefined) requireBranch(c, state, wanted.branch_id);
      const id = randomUUID();
      db.insert('jwks', { ...wanted, id, project_id: projectId, created_at: at, updated_at: at });
      return c.json({ jwks: renderJwks(requireJwks(projectId, id)), operations: order([]) }, 201);
    });
  });

  api.delete(`${list}/:jwks_id`, (c) => {
    const projectId = requireProjectId(c, state);
    const row = requireJwks(projectId, readPath(c, 'jwks_id'));
    db.run('delete from jwks where id = ?', String(row.id));
    return c.json(renderJwks(row));
  });

  function requireJwks(projectId: string, id: string): Row {
    return found(db.find('jwks', { project_id: projectId, id }), 'jwks not found');
  }
}

const renderJwks = (row: Row) => ({
  ...columnsOf(row, 'id', 'project_id', 'jwks_url', 'provider_name', 'created_at', 'updated_at'),
  role_names: JSON.parse(String(row.role_names)),
  ...present(columnsOf(row, 'branch_id', 'jwt_audience')),
});
