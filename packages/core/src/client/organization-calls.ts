import * as wire from '../wire/schemas.ts';
import type { CallOptions, ListOptions, Page } from './pagination.ts';
import { fetchPages, fetchRecord, parse, write } from './replies.ts';
import type { Call } from './transport.ts';

/** The response of `GET /auth`, with the control plane's Date and the name that its server reports. `limits` is `off` for a sandbox without limits. */
export interface AuthAnswer extends wire.WireAuth {
  dateMs: number | null;
  server: string | null;
  limits: string | null;
}

/** Returns the client's methods for the account, its organizations, their members, projects and branches. */
export function organizationCalls(call: Call) {
  return {
    /** Returns the account that the credential belongs to. */
    async auth({ signal }: CallOptions = {}): Promise<AuthAnswer> {
      const reply = await call({ method: 'GET', route: '/auth', signal });
      const { dateMs, headers } = reply;
      const answer = parse(wire.authSchema, reply, '/auth');
      return { ...answer, dateMs, server: headers.get('server'), limits: headers.get('x-sandbox-limits') };
    },

    /** Returns the user of a personal key. */
    currentUser({ signal }: CallOptions = {}): Promise<wire.WireUser> {
      return fetchRecord(call, { route: '/users/me', signal }, wire.userSchema);
    },

    /** Lists the organizations of a personal key's user, in pages. */
    currentUserOrganizations({ signal }: CallOptions = {}): AsyncGenerator<Page<wire.WireOrganization>, void> {
      const shape = { list: 'organizations', item: wire.organizationSchema };
      return fetchPages(call, { route: '/users/me/organizations', signal }, shape);
    },

    organization(organizationId: string, { signal }: CallOptions = {}): Promise<wire.WireOrganization> {
      const request = { route: '/organizations/{org_id}', params: { org_id: organizationId }, signal };
      return fetchRecord(call, request, wire.organizationSchema);
    },

    /** Lists an organization's members, in pages; `limit` is at most 500. */
    members(
      organizationId: string,
      { limit = 500, cursor, signal }: ListOptions = {},
    ): AsyncGenerator<Page<wire.WireMember>, void> {
      const request = { route: '/organizations/{org_id}/members', params: { org_id: organizationId }, signal };
      return fetchPages(call, { ...request, query: { cursor, limit } }, { list: 'members', item: wire.memberSchema });
    },

    /** Lists an organization's projects in pages, newest first; `limit` is at most 400. `unavailableIds` names the projects that a response left out. */
    projects(
      organizationId: string,
      { limit = 400, cursor, recoverable = false, signal }: ListOptions & { recoverable?: boolean } = {},
    ): AsyncGenerator<Page<wire.WireProject>, void> {
      const query = { org_id: organizationId, limit, cursor, recoverable: recoverable ? 'true' : undefined };
      return fetchPages(call, { route: '/projects', query, signal }, { list: 'projects', item: wire.projectSchema });
    },

    /**
     * Creates a branch of the default branch, or of `parentId`, with a compute for each of `endpoints`. Resolves before the work is done: wait for
     * its operations.
     */
    createBranch(
      projectId: string,
      branch: CallOptions & { name?: string; parentId?: string; endpoints?: ('read_write' | 'read_only')[] } = {},
    ): Promise<wire.WireCreatedBranch> {
      const route = '/projects/{project_id}/branches';
      const body = {
        branch: { name: branch.name, parent_id: branch.parentId },
        endpoints: branch.endpoints?.map((type) => ({ type })),
      };
      const params = { project_id: projectId };
      return write(call, { method: 'POST', route, params, body, signal: branch.signal }, wire.createdBranchSchema);
    },
  };
}
