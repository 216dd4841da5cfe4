import type { Context } from 'hono';
import { found, outsideProject, Refusal } from '../http/errors.ts';
import { readPath } from '../http/query.ts';
import { findBranch } from '../resources/branches.ts';
import { findEndpoint } from '../resources/endpoints.ts';
import type { Env } from '../state.ts';
import type { Database, Row } from '../store/database.ts';
import type { Principal } from './authenticate.ts';

/** Throws the control plane's 404 for keys of organizations and projects: the route is for people. */
export function requirePersonal(c: Context<Env>): Extract<Principal, { kind: 'personal' }> {
  const principal = c.get('principal');
  if (principal.kind !== 'personal') throw new Refusal(404, 'not allowed for organization API keys');
  return principal;
}

/** Returns the id of an organization that the caller may see, by default the one that the path names; throws 404 for others. */
export function requireOrganization(c: Context<Env>, id = readPath(c, 'org_id')): string {
  const principal = c.get('principal');
  if (principal.kind === 'project') throw outsideProject(principal.projectId);
  if (roleIn(c.get('state').db, principal, id) === null) throw new Refusal(404, 'organization not found');
  return id;
}

/** Does the same for an organization that the caller administers; throws 403 for its other members. `to` names the action. */
export function requireAdministrator(c: Context<Env>, to: string, id = readPath(c, 'org_id')): string {
  requireOrganization(c, id);
  if (roleIn(c.get('state').db, c.get('principal'), id) !== 'admin')
    throw new Refusal(403, `only organization admins are allowed to ${to}`);
  return id;
}

/** Returns a project that the caller may work on, by default the one that the path names; otherwise throws the control plane's 404. */
export function requireProject(c: Context<Env>, id = readPath(c, 'project_id')): Row {
  const [{ db }, principal] = [c.get('state'), c.get('principal')];
  if (principal.kind === 'project' && principal.projectId !== id) throw outsideProject(principal.projectId);
  const project = db.find('project', { id, deleted_at: null });
  // The response does not distinguish another organization's project from a missing one.
  if (project === undefined || !mayEnter(db, principal, project)) throw new Refusal(404, 'project not found');
  return project;
}

/** Returns the id of the project that the path names; throws 404 if the caller may not see it. */
export function requireProjectId(c: Context<Env>): string {
  return String(requireProject(c).id);
}

/** Returns the id of the branch that the path names; throws 404 if it, or its project for the caller, does not exist. */
export function requireBranchId(c: Context<Env>): string {
  requireProjectId(c);
  return String(requireBranch(c).id);
}

/** Returns the branch that the path names; throws 404 without it. */
export function requireBranch(c: Context<Env>, branchId = readPath(c, 'branch_id')): Row {
  return found(
    findBranch(c.get('state').db, readPath(c, 'project_id'), branchId),
    `branch not found; branch_id:"${branchId}"`,
  );
}

/** Returns the compute endpoint that the path names; throws 404 without it. */
export function requireEndpoint(c: Context<Env>, endpointId = readPath(c, 'endpoint_id')): Row {
  const row = findEndpoint(c.get('state').db, readPath(c, 'project_id'), endpointId);
  return found(row, `endpoint not found; endpoint_id:"${endpointId}"`);
}

/** Returns the project that the path names if the caller may delete, recover or transfer it: only an administrator of its organization may. */
export function requireOwnProject(c: Context<Env>, to: string, { deleted = false } = {}): Row {
  const [{ db }, principal, id] = [c.get('state'), c.get('principal'), readPath(c, 'project_id')];
  if (principal.kind === 'project') {
    if (principal.projectId !== id) throw outsideProject(principal.projectId);
    throw new Refusal(403, `project-scoped API keys are not allowed to ${to}`);
  }
  const condition = deleted ? 'deleted_at is not null and purge_at is not null' : 'deleted_at is null';
  const project = db.get(`select * from project where id = ? and ${condition}`, id);
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
