import { randomUUID } from 'node:crypto';
import type { Context, Hono } from 'hono';
import { z } from 'zod';
import { found, Refusal } from '../http/errors.ts';
import { columnsOf, present, readBody } from '../http/json.ts';
import { readPath } from '../http/query.ts';
import type { Env, State } from '../state.ts';
import type { Row } from '../store/database.ts';
import { requireProjectId } from './mutate.ts';

const grantBody = z.object({ email: z.email() });

/** Adds the routes that share projects with people outside their organization. */
export function projectSharingRoutes(api: Hono<Env>, state: State): void {
  const { db, clock } = state;
  /** Refuses project-scoped keys: a key of one project must not give access to others. */
  const requireSharer = (c: Context<Env>): string => {
    const projectId = requireProjectId(c, state);
    if (c.get('principal').kind === 'project')
      throw new Refusal(403, 'project-scoped API keys are not allowed to share projects');
    return projectId;
  };

  api.get('/projects/:project_id/permissions', (c) => {
    const projectId = requireProjectId(c, state);
    const rows = db.all(
      'select * from permission where project_id = ? and revoked_at is null order by granted_at, id',
      projectId,
    );
    return c.json({ project_permissions: rows.map(renderPermission) });
  });

  api.post('/projects/:project_id/permissions', async (c) => {
    const projectId = requireSharer(c);
    const { email } = await readBody(c, grantBody);
    const granted = db.find('permission', { project_id: projectId, email, revoked_at: null });
    if (granted !== undefined) throw new Refusal(409, `the project is already shared with ${email}`);
    const permission = { id: randomUUID(), project_id: projectId, email, granted_at: clock.now(), revoked_at: null };
    db.insert('permission', permission);
    return c.json(renderPermission(permission));
  });

  api.delete('/projects/:project_id/permissions/:permission_id', (c) => {
    const projectId = requireSharer(c);
    const named = { id: readPath(c, 'permission_id'), project_id: projectId, revoked_at: null };
    const revoked = { ...found(db.find('permission', named), 'permission not found'), revoked_at: clock.now() };
    db.update('permission', { id: named.id, revoked_at: revoked.revoked_at });
    return c.json(renderPermission(revoked));
  });
}

const renderPermission = (row: Row) => ({
  ...columnsOf(row, 'id', 'granted_at'),
  granted_to_email: row.email,
  ...present(columnsOf(row, 'revoked_at')),
});
