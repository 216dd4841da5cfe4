import { type Principal, roles } from '@keywarden/db/report';
import type { MiddlewareHandler } from 'hono';
import { forbidden } from '../problem.ts';
import type { Env } from '../services.ts';

export type Role = Principal['role'];

/** The access that a route requires. */
export interface Access {
  /** The minimum role. */
  role: Role;
  /** `filtered`: shows only the token's organizations. `all`: spans all organizations and requires a token that sees all. */
  organizations: 'filtered' | 'all';
}

/** Requires a role or a higher one, and shows only the token's organizations. */
export const allow = (role: Role): Access => ({ role, organizations: 'filtered' });

/** Requires a role or a higher one, and a token that sees all organizations. */
export const allowWhole = (role: Role): Access => ({ role, organizations: 'all' });

/** Returns whether the principal has the role or a higher one. */
export function mayAct(principal: Pick<Principal, 'role'>, role: Role): boolean {
  return roles.indexOf(principal.role) >= roles.indexOf(role);
}

/** Returns whether the principal has this access. */
export const hasAccess = (principal: Principal, { role, organizations }: Access): boolean =>
  mayAct(principal, role) && (organizations === 'filtered' || principal.organizations === null);

/** Returns a middleware that requires access. It throws a Problem (403) that names what is missing. */
export function permitted({ role, organizations }: Access): MiddlewareHandler<Env> {
  return async (c, next) => {
    const principal = c.get('principal');
    if (!mayAct(principal, role))
      throw forbidden(`This requires the role ${role}, and this token has the role ${principal.role}.`);
    if (organizations === 'all' && principal.organizations !== null)
      throw forbidden(
        'This spans all organizations, and this token sees only some; use a token created without --organization.',
      );
    await next();
  };
}
