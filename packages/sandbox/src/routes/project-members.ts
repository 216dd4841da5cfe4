import type { Context, Hono } from 'hono';
import { z } from 'zod';
import { requireAdministrator, requireProject } from '../access/rules.ts';
import { found, Refusal } from '../http/errors.ts';
import { columnsOf, present, readBody } from '../http/json.ts';
import { pageSql, pageValues, pagination, readPage } from '../http/page.ts';
import { readFlag, readLimit, readPath } from '../http/query.ts';
import type { Env, State } from '../state.ts';
import type { Row } from '../store/database.ts';

const roleBody = z.object({ role: z.enum(['viewer', 'editor', 'admin']) });
const levels: Record<string, string> = { viewer: 'VIEWER', editor: 'EDITOR', admin: 'ADMIN' };
/** The access that a role of the organization gives in each of its projects. A collaborator has access to the projects that name them. */
const defaults: Record<string, string> = { admin: 'ADMIN', member: 'EDITOR', editor: 'EDITOR', viewer: 'VIEWER' };

const members = `select m.id, m.user_id, m.role, m.joined_at, u.email, u.name, r.role as project_role
  from member m join user u on u.id = m.user_id
    left join project_role r on r.project_id = :project and r.member_id = m.id
  where m.organization_id = :organization and m.left_at is null`;

/** Adds the routes for the roles of an organization's members in one project. */
export function projectMemberRoutes(api: Hono<Env>, { db }: State): void {
  const role = '/projects/:project_id/members/:member_id/role';

  api.get('/projects/:project_id/members', (c) => {
    const project = requireProject(db, c.get('principal'), readPath(c, 'project_id'));
    const columns = { joined_at: 'm.joined_at' };
    const page = readPage(c, { columns, order: 'desc', limit: readLimit(c, { max: 500, fallback: 100 }) });
    const rows = db.all(`${members} and ${pageSql(page, 'm.id')}`, {
      project: String(project.id),
      organization: String(project.organization_id),
      ...pageValues(page),
    });
    return c.json({ project_members: rows.map(renderMember), ...pagination(page, rows) });
  });

  api.put(role, async (c) => {
    const { project, member } = requireMember(c);
    const { role: wanted } = await readBody(c, roleBody);
    if (member.user_id === userOf(c) && wanted !== 'admin' && !readFlag(c, 'confirm_self_demotion'))
      throw new Refusal(422, 'this removes your own administration of the project: confirm_self_demotion is required');
    db.run(
      `insert into project_role values (?, ?, ?) on conflict (project_id, member_id) do update set role = excluded.role`,
      String(project.id),
      String(member.id),
      wanted,
    );
    return c.json({ project_id: project.id, ...renderMember(requireMember(c).member) });
  });

  api.delete(role, (c) => {
    const { project, member } = requireMember(c);
    if (member.user_id === userOf(c) && !readFlag(c, 'confirm_self_lockout'))
      throw new Refusal(422, 'this removes your own role: confirm_self_lockout is required');
    db.run('delete from project_role where project_id = ? and member_id = ?', String(project.id), String(member.id));
    return c.json({ project_id: project.id, ...renderMember(requireMember(c).member) });
  });

  function requireMember(c: Context<Env>): { project: Row; member: Row } {
    const principal = c.get('principal');
    const project = requireProject(db, principal, readPath(c, 'project_id'));
    const organization = String(project.organization_id);
    requireAdministrator(db, principal, { of: organization, to: 'change the roles of members in projects' });
    const member = db.get(`${members} and m.id = :member`, {
      project: String(project.id),
      organization,
      member: readPath(c, 'member_id'),
    });
    return { project, member: found(member, 'organization member not found') };
  }
}

const userOf = (c: Context<Env>): string | null => {
  const principal = c.get('principal');
  return principal.kind === 'personal' ? principal.userId : null;
};

function renderMember(row: Row): Record<string, unknown> {
  const own = row.project_role === null ? undefined : String(row.project_role);
  const fallback = defaults[String(row.role)];
  const source = row.role === 'admin' ? 'org_admin_override' : own !== undefined ? 'explicit' : undefined;
  return {
    ...columnsOf(row, 'user_id', 'email', 'name'),
    member_id: row.id,
    org_role: row.role,
    grant_source: source ?? (fallback === undefined ? 'unassigned' : 'org_role_default'),
    ...present({
      project_role: own,
      org_default_project_permission: fallback,
      explicit_project_permission: own === undefined ? undefined : levels[own],
      effective_project_permission: row.role === 'admin' ? 'ADMIN' : own === undefined ? fallback : levels[own],
    }),
  };
}
