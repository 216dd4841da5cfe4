import { z } from 'zod';
import { secretForm } from '../values/index.ts';
import { id, instant, int64, maybe, text, uuid, when, whole } from './primitives.ts';
import { mostDepth, optional, wireRecord } from './record.ts';

/** Terminal statuses: such an operation no longer changes. `failed` can still be retried. */
export const terminalStatuses: readonly string[] = ['finished', 'cancelled', 'skipped'];

/** One record of the control plane's work on a project; unknown actions and statuses are kept unchanged. */
export const operationSchema = wireRecord({
  id: uuid,
  project_id: text,
  branch_id: optional(text),
  endpoint_id: optional(text),
  action: text,
  status: text,
  failures_count: whole,
  error: optional(text),
  retry_at: optional(instant),
  created_at: instant,
  updated_at: instant,
  total_duration_ms: optional(whole),
});
export type WireOperation = z.output<typeof operationSchema>;
export const oneOperationSchema = z.object({ operation: operationSchema });

/** The response to creating a branch: the branch, and the operations that create it. */
export const createdBranchSchema = z.object({
  branch: wireRecord({ id: z.string(), name: z.string(), parent_id: optional(z.string()), created_at: instant }),
  operations: z.array(operationSchema),
});
export type WireCreatedBranch = z.output<typeof createdBranchSchema>;

export const projectSchema = wireRecord({
  id,
  name: z.string(),
  org_id: optional(id),
  owner_id: optional(z.string()),
  region_id: optional(z.string()),
  pg_version: optional(z.int32()),
  created_at: instant,
  updated_at: instant,
  /** Only for projects that can be recovered. */
  deleted_at: optional(instant),
});
export type WireProject = z.output<typeof projectSchema>;

/** The fields of a branch that are needed to list its credentials. */
export const branchSchema = z.object({ id: id.min(1), name: z.string() });
export type WireBranch = z.output<typeof branchSchema>;

export const organizationSchema = wireRecord({ id, name: z.string(), created_at: instant });
export type WireOrganization = z.output<typeof organizationSchema>;

export const memberSchema = z
  .object({
    member: z.object({ id, user_id: id, org_id: id.nullish(), role: z.string(), joined_at: instant.nullish() }),
    user: z.object({ email: z.string() }),
  })
  .transform(({ member, user }) => ({
    id: member.id,
    userId: member.user_id,
    ...(member.org_id == null ? {} : { organizationId: member.org_id }),
    role: member.role,
    joinedAt: member.joined_at ?? null,
    email: user.email,
  }));
export type WireMember = z.output<typeof memberSchema>;

/** The creator's id for lists that name none, such as lists of early 2024. Two keys with it may have different creators. */
export const unknownCreator = 'unknown';

/** Ids that name no person. A service that writes the zero time for "no time" writes the zero UUID for "no user". */
const emptyIds: readonly string[] = ['', '00000000-0000-0000-0000-000000000000'];

/** A creator is an object in lists, and a bare id in the responses to creating and revoking. */
const creator = z.union([id, z.object({ id: id.nullish(), name: z.string().nullish() })]).transform((value) => {
  const { id, name = null } = typeof value === 'string' ? { id: value } : value;
  return id == null || emptyIds.includes(id) ? { id: unknownCreator, name: null } : { id, name };
});

/** A client can send a header of any length, from which some services take the address. What is cut is no address. */
const longestAddress = 500;

const keyFields = {
  id: int64,
  name: z.string(),
  created_at: instant,
  created_by: creator.nullish().transform((value) => value ?? { id: unknownCreator, name: null }),
  last_used_at: when,
  last_used_from_addr: z
    .string()
    .nullish()
    .transform((value) => value?.slice(0, longestAddress).replaceAll('\0', '\uFFFD').toWellFormed() || null),
  project_id: maybe(id),
};

/** The names of fields that may have a secret, such as `key`, `API_KEY` and `apiKey`, and not `monkey`. */
const secretNames = [/(^|[^a-z])(key|secret|token|password)s?$/i, /[a-z](Key|Secret|Token|Password)s?$/];

/** T3: a list does not have secrets, and none is kept if it has one all the same. */
function isSecret(name: string, value: unknown, depth = 0): boolean {
  if (secretNames.some((form) => form.test(name))) return true;
  if (typeof value === 'string') return value.includes('napi_');
  if (typeof value !== 'object' || value === null || depth > mostDepth) return false;
  return Object.entries(value).some(([inner, each]) => isSecret(inner, each, depth + 1));
}

export const keySchema = wireRecord(keyFields, isSecret);
export type WireKey = z.output<typeof keySchema>;

/** The response to revoking a key. The service's own description omits its creator and creation time. */
export const revokedKeySchema = wireRecord(
  { ...keyFields, created_at: optional(instant), created_by: optional(creator), revoked: z.boolean() },
  isSecret,
);
export type WireRevokedKey = z.output<typeof revokedKeySchema>;

/** The response to creating a key, the only one that contains its secret. That of a key of one project names the project. */
export const createdKeySchema = z
  .object({ id: int64, key: z.string().regex(secretForm), project_id: z.string().nullish() })
  .transform(({ id, key, project_id: projectId = null }) => ({ id, secret: key, projectId }));
export type WireCreatedKey = z.output<typeof createdKeySchema>;

export const authSchema = z
  .object({ account_id: id, auth_method: z.string() })
  .transform((value) => ({ accountId: value.account_id, authMethod: value.auth_method }));
export type WireAuth = z.output<typeof authSchema>;

export const userSchema = z.object({ id: z.string(), email: z.string() });
export type WireUser = z.output<typeof userSchema>;

/** The two names of the next page: `cursor`, or `next` if a list can be sorted. */
export const paginationSchema = z
  .object({ cursor: z.string().nullish(), next: z.string().nullish() })
  .transform(({ cursor, next }) => cursor || next)
  .nullish()
  .transform((value) => value || null);
