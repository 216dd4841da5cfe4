import type { Hono } from 'hono';
import { requireOrganization } from '../access/authenticate.ts';
import { Refusal } from '../http/errors.ts';
import { readLimit, readPath } from '../http/query.ts';
import type { Env, State } from '../state.ts';
import type { Row } from '../store/database.ts';
import { formatInstant } from '../store/time.ts';

export function organizationRoutes(api: Hono<Env>, { db }: State): void {
  api.get('/organizations/:org_id', (c) => {
    const id = readPath(c, 'org_id');
    requireOrganization(db, c.get('principal'), id);
    const row = db.get('select * from organization where id = ?', id);
    if (row === undefined) throw new Refusal(404, 'organization not found');
    return c.json(renderOrganization(row));
  });

  api.get('/organizations/:org_id/members', (c) => {
    const id = readPath(c, 'org_id');
    requireOrganization(db, c.get('principal'), id);
    const limit = readLimit(c, { max: 500, fallback: 100 });
    const after = c.req.query('cursor') ?? '';
    const rows = db.all(
      `select m.*, u.email from member m join user u on u.id = m.user_id
       where m.organization_id = ? and m.left_at is null and m.id > ? order by m.id limit ?`,
      id,
      after,
      limit,
    );
    const last = rows.at(-1);
    return c.json({
      members: rows.map(renderMember),
      ...(rows.length === limit && last
        ? { pagination: { next: last.id, sort_by: 'joined_at', sort_order: 'desc' } }
        : {}),
    });
  });
}

export function renderOrganization(row: Row): Record<string, unknown> {
  const createdAt = formatInstant(Number(row.created_at));
  return {
    id: row.id,
    name: row.name,
    handle: row.id,
    plan: row.plan,
    managed_by: 'console',
    created_at: createdAt,
    updated_at: createdAt,
  };
}

function renderMember(row: Row): Record<string, unknown> {
  return {
    member: {
      id: row.id,
      user_id: row.user_id,
      org_id: row.organization_id,
      role: row.role,
      joined_at: formatInstant(Number(row.joined_at)),
    },
    user: { email: row.email },
  };
}
