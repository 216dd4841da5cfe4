import { type CredentialLocation, credentialSchemas, type WireCredential } from '../wire/credentials.ts';
import type { OtherKind } from '../wire/kinds.ts';
import * as wire from '../wire/schemas.ts';
import type { RevokeOptions } from './api-key-calls.ts';
import { type CallOptions, followPages, type Page } from './pagination.ts';
import { fetchPage, fetchPages } from './replies.ts';
import type { Call } from './transport.ts';

/** The route, list name and maximum page size of each kind of credential. A list without pages takes no limit. */
const credentialLists: Record<OtherKind, { route: string; list: string; limit?: number }> = {
  branch_credential: { route: '/projects/{project_id}/branches/{branch_id}/credentials', list: 'credentials' },
  role: { route: '/projects/{project_id}/branches/{branch_id}/roles', list: 'roles' },
  project_permission: { route: '/projects/{project_id}/permissions', list: 'project_permissions' },
  project_member: { route: '/projects/{project_id}/members', list: 'project_members', limit: 500 },
  jwks: { route: '/projects/{project_id}/jwks', list: 'jwks' },
};

/** Returns the client's methods for credentials other than API keys. */
export function credentialCalls(call: Call) {
  return {
    /** Lists a project's branches in pages. Reads only the id and name of each branch. */
    branches(projectId: string, { signal }: CallOptions = {}): AsyncGenerator<Page<wire.WireBranch>, void> {
      const request = { route: '/projects/{project_id}/branches', params: { project_id: projectId }, signal };
      return fetchPages(call, { ...request, query: { limit: 10_000 } }, { list: 'branches', item: wire.branchSchema });
    },

    /**
     * Lists one kind of a project's credentials other than API keys, in pages, as `WireCredential`. Reads no secret. Branch credentials and database
     * roles are listed branch by branch, and `branchId` names the branch.
     */
    credentials(
      kind: OtherKind,
      place: CredentialLocation,
      { signal }: CallOptions = {},
    ): AsyncGenerator<Page<WireCredential>, void> {
      const { route, list, limit } = credentialLists[kind];
      const params = { project_id: place.projectId, branch_id: place.branchId ?? '' };
      const shape = { list, item: credentialSchemas[kind](place), hasSecrets: true };
      return followPages(async (cursor) => {
        const { items, ...page } = await fetchPage(call, { route, params, query: { cursor, limit }, signal }, shape);
        return { ...page, items: items.filter((item) => item !== null) };
      });
    },

    /**
     * Revokes a credential of a branch permanently. The response has no result: the list shows whether the credential is revoked. After
     * `outcome_unknown` it may or may not be gone.
     */
    async revokeBranchCredential(
      { projectId, branchId }: { projectId: string; branchId: string },
      credentialId: string,
      { signal, beforeSend }: RevokeOptions = {},
    ): Promise<void> {
      const route = `${credentialLists.branch_credential.route}/{token_id}`;
      const params = { project_id: projectId, branch_id: branchId, token_id: credentialId };
      await call({ method: 'DELETE', route, params, signal, beforeSend });
    },
  };
}
