import { outsideProject, Refusal } from '../http/errors.ts';
import type { Database, Row } from '../store/database.ts';
import type { Principal } from './authenticate.ts';

/** Throws the control plane's 404 for keys of organizations and projects: the route is for people. */
export function requirePersonal(principal: Principal): Extract<Principal, { kind: 'personal' }> {
  if (principal.kind !== 'personal') throw new Refusal(404, 'not allowed for organization API keys');
  return principal;
}

/** Returns the caller's role in an organization that it may see; throws 404 for others. */
export function requireOrganization(db: Database, principal: Principal, organizationId: string): 'admin' | 'member' {
  if (principal.kind === 'project') throw outsideProject(principal.projectId);
  const role = roleIn(db, principal, organizationId);
  if (role === null) throw new Refusal(404, 'organization not found');
  return role;
}

/** Throws like `requireOrganization` unless the caller is an administrator. `to` names the action. */
export function requireAdministrator(db: Database, principal: Principal, { of, to }: { of: string; to: string }): void {
  if (requireOrganization(db, principal, of) !== 'admin')
    throw new Refusal(403, `only organization admins are allowed to ${to}`);
}

/** Returns the project if the caller may work on it; otherwise throws the control plane's 404. */
export function requireProject(db: Database, principal: Principal, projectId: string): Row {
  if (principal.kind === 'project' && principal.projectId !== projectId) throw outsideProject(principal.projectId);
  const project = db.get('select * from project where id = ? and deleted_at is null', projectId);
  // The response does not distinguish another organization's project from a missing one.
  if (project === undefined || !mayEnter(db, principal, project)) throw new Refusal(404, 'project not found');
  return project;
}

/** Returns a project if the caller may delete, recover or transfer it: only an administrator of its organization may. */
export function requireOwnProject(
  db: Database,
  principal: Principal,
  { projectId, to, deleted = false }: { projectId: string; to: string; deleted?: boolean },
): Row {
  if (principal.kind === 'project') {
    if (principal.projectId !== projectId) throw outsideProject(principal.projectId);
    throw new Refusal(403, `project-scoped API keys are not allowed to ${to}`);
  }
  const condition = deleted ? 'deleted_at is not null and purge_at is not null' : 'deleted_at is null';
  const project = db.get(`select * from project where id = ? and ${condition}`, projectId);
  if (project === undefined || !mayEnter(db, principal, project)) throw new Refusal(404, 'project not found');
  if (roleIn(db, principal, String(project.organization_id)) !== 'admin')
    throw new Refusal(403, `only organization admins are allowed to ${to}`);
  return project;
}

function mayEnter(db: Database, principal: Principal, project: Row): boolean {
  if (principal.kind === 'project') return principal.projectId === project.id;
  if (roleIn(db, principal, String(project.organization_id)) !== null) return true;
  return principal.kind === 'personal' && isShared(db, { userId: principal.userId, projectId: String(project.id) });
}

function roleIn(db: Database, principal: Principal, organizationId: string): 'admin' | 'member' | null {
  if (principal.kind === 'project') return null;
  if (principal.kind === 'organization') return principal.organizationId === organizationId ? 'admin' : null;
  const member = db.find('member', { organization_id: organizationId, user_id: principal.userId, left_at: null });
  if (member === undefined) return null;
  return member.role === 'admin' ? 'admin' : 'member';
}

/** Returns whether a project is shared with the user's address; the user need not be in the organization. */
function isShared(db: Database, { userId, projectId }: { userId: string; projectId: string }): boolean {
  const row = db.get(
    `select 1 from permission p join user u on u.email = p.email
     where p.project_id = ? and p.revoked_at is null and u.id = ?`,
    projectId,
    userId,
  );
  return row !== undefined;
}
