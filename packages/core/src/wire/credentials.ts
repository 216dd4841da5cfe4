import { z } from 'zod';
import type { OtherKind } from './kinds.ts';
import { id as anyId, maybe, unknownTime, when } from './primitives.ts';
import { unknownCreator, type WireKey } from './schemas.ts';

// The rows of a project's lists of credentials other than API keys. Only these fields are read, because any other may be a secret.

/**
 * One credential from its list, in the shape of a key, so that both are stored and judged the same way. `id` is unique in its project. `createdAt` is
 * `unknownTime` if the list does not show it.
 */
export interface WireCredential extends WireKey {
  kind: OtherKind;
  projectId: string;
  branchId: string | null;
  /** Who gets access with it, if the list shows that. */
  holder: string | null;
  /** Null if it does not expire. */
  expiresAt: string | null;
  /** Set if it was revoked upstream, although the list still shows it. */
  revokedAt: string | null;
}

const id = anyId.min(1).max(200);
const word = maybe(z.string().max(1000));
const words = maybe(z.array(z.string().max(200)).max(100));

/** The place in a project that a list was requested for. */
export interface CredentialLocation {
  projectId: string;
  branchId: string | null;
}

type Made = Pick<WireCredential, 'kind' | 'id' | 'name'> &
  Partial<Omit<WireCredential, 'createdAt'>> & { createdAt: string | null };

const make = (place: CredentialLocation, made: Made): WireCredential => ({
  holder: null,
  expiresAt: null,
  revokedAt: null,
  createdBy: { id: unknownCreator, name: null },
  lastUsedAt: null,
  lastUsedFromAddr: null,
  extra: null,
  ...place,
  ...made,
  createdAt: made.createdAt ?? unknownTime,
});

/** Returns the control plane's id of a branch credential. Ours has the branch before it, because branches may share an id. */
export const tokenIdOf = ({ id: ours, branchId }: Pick<WireCredential, 'id' | 'branchId'>) =>
  ours.slice((branchId ?? '').length + 1);

/** Returns the fields that have a value, or null if none has one. */
function detail(fields: Record<string, unknown>): Record<string, unknown> | null {
  const known = Object.entries(fields).filter(([, value]) => value !== null);
  return known.length === 0 ? null : Object.fromEntries(known);
}

const branchCredential = z.object({
  token_id: id,
  name: word,
  scopes: words,
  principal_type: word,
  function_id: word,
  created_at: when,
  last_used_at: when,
  revoked_at: when,
  expires_at: when,
});

const role = z.object({
  name: anyId.min(1).max(100),
  protected: maybe(z.boolean()),
  authentication_method: word,
  created_at: when,
  updated_at: when,
});

const permission = z.object({ id, granted_to_email: z.string(), granted_at: when, revoked_at: when });

const projectMember = z.object({
  member_id: id,
  user_id: word,
  email: word,
  org_role: word,
  project_role: word,
  grant_source: word,
  effective_project_permission: word,
  joined_at: when,
});

const jwks = z.object({
  id,
  branch_id: word,
  provider_name: z.string(),
  jwks_url: z.string(),
  jwt_audience: word,
  role_names: words,
  created_at: when,
  updated_at: when,
});

/** Returns an https address without parts that may be secret: user, password, query, fragment, and any path that is not well-known. */
function plainUrl(text: string): string | null {
  const url = URL.parse(text);
  if (url === null || !['http:', 'https:'].includes(url.protocol)) return null;
  return `${url.origin}${/^\/\.well-known\/[\w.-]+$/.test(url.pathname) ? url.pathname : ''}`;
}

/** The authentication methods of roles without a password. */
const withoutPassword = ['no_login', 'oauth'];

/** The row schema of each kind's list. A row that is not a credential, such as a role without a password, becomes null. */
export const credentialSchemas: Record<OtherKind, (place: CredentialLocation) => z.ZodType<WireCredential | null>> = {
  branch_credential: (place) =>
    branchCredential.transform((row) =>
      make(place, {
        kind: 'branch_credential',
        id: `${place.branchId ?? ''}/${row.token_id}`,
        name: row.name ?? row.token_id,
        createdAt: row.created_at,
        lastUsedAt: row.last_used_at,
        expiresAt: row.expires_at,
        revokedAt: row.revoked_at,
        extra: detail({ scopes: row.scopes, principal_type: row.principal_type, function_id: row.function_id }),
      }),
    ),
  role: (place) =>
    role.transform((row) => {
      if (withoutPassword.includes(row.authentication_method ?? '')) return null;
      return make(place, {
        kind: 'role',
        id: `${place.branchId ?? ''}/${row.name}`,
        name: row.name,
        createdAt: row.created_at,
        extra: detail({
          protected: row.protected,
          authentication_method: row.authentication_method,
          updated_at: row.updated_at,
        }),
      });
    }),
  project_permission: (place) =>
    permission.transform((row) =>
      make(place, {
        kind: 'project_permission',
        id: row.id,
        name: row.granted_to_email,
        holder: row.granted_to_email,
        createdAt: row.granted_at,
        revokedAt: row.revoked_at,
      }),
    ),
  project_member: (place) =>
    projectMember.transform((row) =>
      make(place, {
        kind: 'project_member',
        // A member of an organization is a member of each of its projects.
        id: `${place.projectId}/${row.member_id}`,
        name: row.email ?? row.member_id,
        holder: row.email ?? row.user_id,
        createdAt: row.joined_at,
        extra: detail({
          user_id: row.user_id,
          organization_role: row.org_role,
          project_role: row.project_role,
          source: row.grant_source,
          permission: row.effective_project_permission,
        }),
      }),
    ),
  jwks: (place) =>
    jwks.transform((row) =>
      make(place, {
        kind: 'jwks',
        id: row.id,
        name: row.provider_name,
        branchId: row.branch_id,
        createdAt: row.created_at,
        extra: detail({
          url: plainUrl(row.jwks_url),
          audience: row.jwt_audience,
          roles: row.role_names,
          updated_at: row.updated_at,
        }),
      }),
    ),
};
