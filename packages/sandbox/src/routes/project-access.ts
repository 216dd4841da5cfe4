import { randomUUID } from 'node:crypto';
import type { Context, Hono } from 'hono';
import { z } from 'zod';
import { requireAdministrator, requireBranch, requireProject, requireProjectId } from '../access/rules.ts';
import { found, Refusal } from '../http/errors.ts';
import { columnsOf, present, readBody } from '../http/json.ts';
import { readRows } from '../http/page.ts';
import { readFlag, readPath } from '../http/query.ts';
import type { Env, State } from '../state.ts';
import type { Row } from '../store/database.ts';
import { mutate } from './mutate.ts';

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
    const project = requireProject(c);
    const { rows, ...page } = readRows(c, db, {
      sql: members,
      values: { project: String(project.id), organization: String(project.organization_id) },
      columns: { joined_at: 'm.joined_at' },
      id: 'm.id',
      limits: { max: 500, fallback: 100 },
    });
    return c.json({ project_members: rows.map(renderMember), ...page });
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
    const project = requireProject(c);
    const organization = String(project.organization_id);
    requireAdministrator(c, 'change the roles of members in projects', organization);
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

const grantBody = z.object({ email: z.email() });

/** Adds the routes that share projects with people outside their organization. */
export function projectSharingRoutes(api: Hono<Env>, { db, clock }: State): void {
  /** Refuses project-scoped keys: a key of one project must not give access to others. */
  const requireSharer = (c: Context<Env>): string => {
    const projectId = requireProjectId(c);
    if (c.get('principal').kind === 'project')
      throw new Refusal(403, 'project-scoped API keys are not allowed to share projects');
    return projectId;
  };

  api.get('/projects/:project_id/permissions', (c) => {
    const projectId = requireProjectId(c);
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

const addBody = z.object({
  jwks_url: z.url({ protocol: /^https$/ }),
  provider_name: z.string().min(1),
  branch_id: z.string().optional(),
  jwt_audience: z.string().optional(),
  role_names: z.array(z.string()).max(10).default(['authenticator', 'authenticated', 'anonymous']),
});

/** Adds the routes of key sets that a project's databases trust. They accept a token that one of the keys has signed. */
export function projectJwksRoutes(api: Hono<Env>, { db }: State): void {
  const list = '/projects/:project_id/jwks';

  api.get(list, (c) => {
    const projectId = requireProjectId(c);
    const rows = db.all('select * from jwks where project_id = ? order by created_at, id', projectId);
    return c.json({ jwks: rows.map(renderJwks) });
  });

  api.post(list, async (c) => {
    const projectId = requireProjectId(c);
    const wanted = await readBody(c, addBody);
    return mutate(c, ({ at, order }) => {
      if (wanted.branch_id !== undefined) requireBranch(c, wanted.branch_id);
      const id = randomUUID();
      db.insert('jwks', { ...wanted, id, project_id: projectId, created_at: at, updated_at: at });
      return c.json({ jwks: renderJwks(requireJwks(projectId, id)), operations: order([]) }, 201);
    });
  });

  api.delete(`${list}/:jwks_id`, (c) => {
    const projectId = requireProjectId(c);
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
