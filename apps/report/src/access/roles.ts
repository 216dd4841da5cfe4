import type { Principal } from '@keywarden/db/report';
import { Problem } from '../problem.ts';

export type Role = Principal['role'];

/** Each role may do what those before it may. */
const roles: readonly Role[] = ['viewer', 'auditor', 'operator'];

/** Who may use a route. */
export interface Access {
  /** The least role. */
  role: Role;
  /** `filtered`: shows a token what its organizations have. `all`: spans them, and is for tokens that see all. */
  organizations: 'filtered' | 'all';
}

/** Lets a role, and those above it, use what shows a token what its organizations have. */
export const allow = (role: Role): Access => ({ role, organizations: 'filtered' });

/** Lets a role, and those above it, use what spans all organizations. */
export const allowWhole = (role: Role): Access => ({ role, organizations: 'all' });

/** Whether a role may do what takes another. */
export function mayAct(principal: Pick<Principal, 'role'>, role: Role): boolean {
  return roles.indexOf(principal.role) >= roles.indexOf(role);
}

/** Throws a Problem (403) that says what is missing. */
export function requireAccess(principal: Principal, { role, organizations }: Access): void {
  if (!mayAct(principal, role))
    throw new Problem(403, 'Forbidden', `This takes the role ${role}, and this token has the role ${principal.role}.`);
  if (organizations === 'all' && principal.organizations !== null)
    throw new Problem(
      403,
      'Forbidden',
      'This token sees only some organizations, and this spans all; use a token without --organization.',
    );
}

/** How a token is named in what it leaves behind. */
export function nameOf({ name, token }: Principal): string {
  return `${name} (report token ${token})`;
}
