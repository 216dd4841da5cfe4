import type { Hono } from 'hono';
import { requireOrganization } from '../access/rules.ts';
import { Refusal } from '../http/errors.ts';
import { readPath } from '../http/query.ts';
import { renderOrganization } from '../resources/members.ts';
import { regions } from '../resources/regions.ts';
import type { Env, State } from '../state.ts';

export function organizationRoutes(api: Hono<Env>, { db }: State): void {
  api.get('/organizations/:org_id', (c) => {
    const id = readPath(c, 'org_id');
    requireOrganization(db, c.get('principal'), id);
    const row = db.get('select * from organization where id = ?', id);
    if (row === undefined) throw new Refusal(404, 'organization not found');
    return c.json(renderOrganization(row));
  });

  api.get('/regions', (c) => {
    const organization = c.req.query('org_id');
    if (organization !== undefined) requireOrganization(db, c.get('principal'), organization);
    return c.json({ regions });
  });
}
