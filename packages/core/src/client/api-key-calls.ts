import * as wire from '../wire/schemas.ts';
import type { CallOptions } from './pagination.ts';
import { fetchPages, write } from './replies.ts';
import type { Call } from './transport.ts';

export interface RevokeOptions extends CallOptions {
  /** Checks again once the limiter has granted a permit. An error thrown here rejects the call, and no request is sent. */
  beforeSend?: () => Promise<void>;
}

/** Returns the client's methods for API keys. */
export function apiKeyCalls(call: Call) {
  const keyPages = (route: string, params: Record<string, string>, { signal }: CallOptions) =>
    fetchPages(call, { route, params, signal }, { list: 'keys', item: wire.keySchema });

  const createKey = (
    route: string,
    params: Record<string, string>,
    { body, signal }: CallOptions & { body: unknown },
  ): Promise<wire.WireCreatedKey> =>
    write(call, { method: 'POST', route, params, body, signal }, wire.createdKeySchema);

  const revokeKey = (
    route: string,
    params: Record<string, string>,
    { signal, beforeSend }: RevokeOptions,
  ): Promise<wire.WireRevokedKey> =>
    write(call, { method: 'DELETE', route, params, signal, beforeSend }, wire.revokedKeySchema);

  return {
    /** Lists the personal keys of the credential's own user, in pages. The control plane shows no other user's keys. */
    personalKeys: (read: CallOptions = {}) => keyPages('/api_keys', {}, read),

    /** Lists the organization keys and project-scoped keys of an organization, in pages. */
    organizationKeys: (organizationId: string, read: CallOptions = {}) =>
      keyPages('/organizations/{org_id}/api_keys', { org_id: organizationId }, read),

    /** Mints a personal key. Only this response contains its secret. */
    createPersonalKey: (name: string, { signal }: CallOptions = {}) =>
      createKey('/api_keys', {}, { body: { key_name: name }, signal }),

    /** Mints an organization key, or with `projectId` a project-scoped key. Requires a personal key. */
    createOrganizationKey: (
      organizationId: string,
      { name, projectId, signal }: CallOptions & { name: string; projectId?: string },
    ) =>
      createKey(
        '/organizations/{org_id}/api_keys',
        { org_id: organizationId },
        { body: { key_name: name, project_id: projectId }, signal },
      ),

    /** Revokes a key permanently. After `outcome_unknown` the key may or may not be gone: list the keys to find out. */
    revokePersonalKey: (keyId: string, write: RevokeOptions = {}) =>
      revokeKey('/api_keys/{key_id}', { key_id: keyId }, write),

    /** Revokes an organization key or project-scoped key permanently. */
    revokeOrganizationKey: (organizationId: string, keyId: string, write: RevokeOptions = {}) =>
      revokeKey('/organizations/{org_id}/api_keys/{key_id}', { org_id: organizationId, key_id: keyId }, write),
  };
}
