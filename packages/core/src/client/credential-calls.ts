import { type CredentialPlace, credentialSchemas, type WireCredential } from '../wire/credentials.ts';
import type { OtherKind } from '../wire/kinds.ts';
import * as wire from '../wire/schemas.ts';
import { followPages, type Page } from './pagination.ts';
import { fetchPage } from './replies.ts';
import type { Call } from './transport.ts';

export interface CallOptions {
  signal?: AbortSignal | undefined;
}

export interface RevokeOptions extends CallOptions {
  /** Looks once more, when the limits have given the call its turn. What it throws is the call's error, and nothing is sent. */
  beforeSend?: () => Promise<void>;
}

/** Where each kind of credential is listed, and by how many rows a page at most; a list without pages takes no limit. */
const credentialLists: Record<OtherKind, { route: string; list: string; limit?: number }> = {
  branch_credential: { route: '/projects/{project_id}/branches/{branch_id}/credentials', list: 'credentials' },
  role: { route: '/projects/{project_id}/branches/{branch_id}/roles', list: 'roles' },
  project_permission: { route: '/projects/{project_id}/permissions', list: 'project_permissions' },
  project_member: { route: '/projects/{project_id}/members', list: 'project_members', limit: 500 },
  jwks: { route: '/projects/{project_id}/jwks', list: 'jwks' },
};

/** The client's methods on credentials that are no API keys. */
export function credentialCalls(call: Call) {
  return {
    /** Pages of a project's branches; of each only its id and name are read. */
    branches(projectId: string, { signal }: CallOptions = {}): AsyncGenerator<Page<wire.WireBranch>, void> {
      const request = { route: '/projects/{project_id}/branches', params: { project_id: projectId }, signal };
      const shape = { list: 'branches', item: wire.branchSchema };
      return followPages((cursor) => fetchPage(call, { ...request, query: { cursor, limit: 10_000 } }, shape));
    },

    /**
     * Pages of one kind of a project's credentials that are no API keys, as `WireCredential` has them: no secret is read. Those of branches and
     * database roles are listed branch by branch, and `branchId` names the branch.
     */
    credentials(
      kind: OtherKind,
      place: CredentialPlace,
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
     * Revokes a credential of a branch for good. The answer says nothing of it: the list shows whether it is revoked. `outcome_unknown` means that it may
     * be gone or not.
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
