import { ControlPlaneError } from '@keywarden/core/client';
import { isRevocable, tokenIdOf, type WireCredential, type WireKey, type WireRevokedKey } from '@keywarden/core/wire';
import { UserError } from '@keywarden/runtime';
import type { Connection } from '../connect.ts';
import type { Context } from '../context.ts';
import { listScope, type Scope } from '../sync/scopes.ts';

// The call that revokes a key. Only call-and-record.ts makes it: it has the intent.

/** Thrown before anything was sent: the call had to wait, and the facts behind it are no longer valid. */
export class NotSent extends Error {
  readonly isOld: boolean;

  constructor(why: string, { isOld }: { isOld: boolean }) {
    super(why);
    this.isOld = isOld;
  }
}

/** The fields of the control plane's response to a revocation. */
export type Ended = Pick<WireRevokedKey, 'id' | 'revoked' | 'lastUsedAt' | 'lastUsedFromAddr'>;

interface UpstreamCall {
  scope: Scope;
  key: WireKey | WireCredential;
  signal: AbortSignal;
  beforeSend: () => Promise<void>;
}

/** Makes the one destructive call. Throws, with nothing sent, for a credential that is not Keywarden's to revoke. */
export async function callUpstream({ client }: Connection, { scope, key, ...call }: UpstreamCall): Promise<Ended> {
  if (scope.kind === 'user') return await client.revokePersonalKey(key.id, call);
  if (scope.kind === 'organization') return await client.revokeOrganizationKey(scope.organizationId, key.id, call);
  if (!isRevocable(scope.kind) || !('branchId' in key) || key.branchId === null)
    throw new NotSent(`Keywarden cannot revoke a ${scope.kind}`, { isOld: false });
  await client.revokeBranchCredential({ projectId: scope.projectId, branchId: key.branchId }, tokenIdOf(key), call);
  return notKnown(key.id);
}

const notKnown = (id: string): Ended => ({ id, revoked: false, lastUsedAt: null, lastUsedFromAddr: null });

/** Returns a credential from its list right after its revocation, because the response to the revocation has no body. */
export async function findEnded(
  context: Context,
  connection: Connection,
  { scope, id }: { scope: Scope; id: string },
): Promise<Ended> {
  try {
    const { number, keys, ended, whySuspect } = await listScope(context, connection, { scope, run: null });
    const found = ended.find((each) => each.id === id);
    const isAbsent = keys.every((each) => each.id !== id);
    if (found !== undefined) return { ...found, revoked: isAbsent };
    // A list that is older than the last one has no number, and is ignored.
    return { ...notKnown(id), revoked: isAbsent && whySuspect === null && number !== null };
  } catch (error) {
    if (!(error instanceof ControlPlaneError || error instanceof UserError)) throw error;
    return notKnown(id);
  }
}
