import { notForOrganizationKeys, outsideProject, Refusal } from '../http/errors.ts';
import type { Database, Row } from '../store/database.ts';
import type { Principal } from './authenticate.ts';

/** The route is for people: keys of organizations and projects get the control plane's 404. */
export function requirePersonal(principal: Principal): Extract<Principal, { kind: 'personal' }> {
  if (principal.kind !== 'personal') throw notForOrganizationKeys();
  return principal;
}

/** The caller's role in an organization that it may see at all; 404 hides the others. */
export function requireOrganization(db: Database, principal: Principal, organizationId: string): 'admin' | 'member' {
  if (principal.kind === 'project') throw outsideProject(principal.projectId);
  const role = roleIn(db, principal, organizationId);
  if (role === null) throw new Refusal(404, 'organization not found');
  return role;
}

/** As above, for what only administrators may do: `to` says what that is. */
export function requireAdministrator(db: Database, principal: Principal, { of, to }: { of: string; to: string }): void {
  if (requireOrganization(db, principal, of) !== 'admin') {
    throw new Refusal(403, `only organization admins are allowed to ${to}`);
  }
}

/** The project, when the caller may work on it; else the control plane's 404. */
export function requireProject(db: Database, principal: Principal, projectId: string): Row {
  if (principal.kind === 'project' && principal.projectId !== projectId) throw outsideProject(principal.projectId);
  const project = db.get('select * from project where id = ? and deleted_at is null', projectId);
  // A project of somebody else's organization is told apart from no project at all by nothing.
  if (project === undefined || !mayEnter(db, principal, project)) throw new Refusal(404, 'project not found');
  return project;
}

/** A project that only an administrator of its organization may delete, recover or give away. */
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
  if (roleIn(db, principal, String(project.organization_id)) !== 'admin') {
    throw new Refusal(403, `only organization admins are allowed to ${to}`);
  }
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
  const member = db.get(
    'select role from member where organization_id = ? and user_id = ? and left_at is null',
    organizationId,
    principal.userId,
  );
  if (member === undefined) return null;
  return member.role === 'admin' ? 'admin' : 'member';
}

/** Shared with a person of that address, who need not be of the organization. */
function isShared(db: Database, { userId, projectId }: { userId: string; projectId: string }): boolean {
  const row = db.get(
    `select 1 from permission p join user u on u.email = p.email
     where p.project_id = ? and p.revoked_at is null and u.id = ?`,
    projectId,
    userId,
  );
  return row !== undefined;
}
