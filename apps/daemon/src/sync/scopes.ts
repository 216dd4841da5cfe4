import { addAll, collect, hasCode, olderOf, type RejectedRow, type ResponseAge } from '@keywarden/core/client';
import { type OtherKind, otherKinds, type WireCredential, type WireKey } from '@keywarden/core/wire';
import { reconcileIntents, type SavedListing, saveKeyListing } from '@keywarden/db/daemon';
import { readNow } from '@keywarden/db/store';
import type { Connection } from '../connect.ts';
import type { Context } from '../context.ts';
import { assertSaneClock, datedAt, whyStale } from '../control-plane-clock.ts';
import { keepRejected } from './run.ts';

/** Credentials of one kind in one project, as one list of the control plane shows them, or one list for each branch. */
export interface ProjectScope {
  kind: OtherKind;
  organizationId: string;
  projectId: string;
}

/** What a connection lists at once: its own user's keys, an organization's, or a project's credentials of another kind. */
export type Scope = { kind: 'user'; userId: string } | { kind: 'organization'; organizationId: string } | ProjectScope;

export function scopeName(scope: Scope): string {
  if (scope.kind === 'user') return `user:${scope.userId}`;
  if (scope.kind === 'organization') return `organization:${scope.organizationId}`;
  return `${scope.kind}:${scope.organizationId}/${scope.projectId}`;
}

/** Returns the scope of a name: the inverse of `scopeName`. */
export function parseScope(name: string): Scope {
  const at = name.indexOf(':');
  const [prefix, id] = [name.slice(0, at), name.slice(at + 1)];
  const kind = otherKinds.find((each) => each === prefix);
  if (prefix === 'user') return { kind: 'user', userId: id };
  if (prefix === 'organization') return { kind: 'organization', organizationId: id };
  if (kind === undefined) throw new Error(`${name} is not a scope`);
  const slash = id.lastIndexOf('/');
  return { kind, organizationId: id.slice(0, slash), projectId: id.slice(slash + 1) };
}

/** Returns the lock under which any connection lists and revokes a scope's keys. */
export function scopeLock(controlPlane: string, scope: Scope): string {
  return `keys of ${scopeName(scope)} at control plane ${controlPlane}`;
}

/** The contents of a list: existing credentials, those marked as revoked, and unreadable rows. */
interface Shown extends ResponseAge {
  live: (WireKey | WireCredential)[];
  /** Revoked, but still in the list. */
  ended: WireCredential[];
  rejected: RejectedRow[];
  /** Why the list is incomplete; null if it is complete. */
  partial: string | null;
}

export interface Listing extends SavedListing, Pick<Shown, 'ended'> {}

/** Lists a scope, stores the listing, and ends the intents that it decides. The caller holds the scope's lock and passes its context. */
export async function listScope(
  context: Pick<Context, 'store' | 'signal' | 'lease' | 'log'>,
  connection: Connection,
  { scope, run }: { scope: Scope; run: string | null },
): Promise<Listing> {
  const {
    store: { sql },
    lease,
  } = context;
  const { controlPlane } = connection;
  // A listing with a future time would outlive every later one.
  assertSaneClock(connection);
  const begunAt = await readNow(sql);
  const begunMs = connection.time.now();
  const shown = await fetchScope(connection, scope, context.signal);
  const { live, ended, rejected, partial } = shown;
  const listedAt = datedAt(connection, { ...shown, begunMs });
  const name = scopeName(scope);
  const list = isProjectScope(scope) ? 'credentials' : 'keys';
  await keepRejected(context, connection, { list, place: name, rejected });
  const saved = await saveKeyListing(sql, {
    controlPlane,
    scope: name,
    organizationId: scope.kind === 'user' ? null : scope.organizationId,
    connection: connection.name,
    run,
    listedAt,
    begunAt,
    stale: whyStale(connection, { ...shown, begunMs, list: `keys of ${name}` }),
    partial,
    keys: live,
    ended,
    unreadable: rejected.length,
    lease,
  });
  await reconcileIntents(sql, { controlPlane, scope: name });
  return { ...saved, ended };
}

export function isProjectScope(scope: Scope): scope is ProjectScope {
  return scope.kind !== 'user' && scope.kind !== 'organization';
}

async function fetchScope(connection: Connection, scope: Scope, signal: AbortSignal): Promise<Shown> {
  const { client } = connection;
  if (isProjectScope(scope)) return await fetchCredentials(connection, scope, signal);
  const pages =
    scope.kind === 'user' ? client.personalKeys({ signal }) : client.organizationKeys(scope.organizationId, { signal });
  const { items, ...answer } = await collect(pages);
  return { ...answer, live: items, ended: [], partial: null };
}

const listedByBranch: readonly OtherKind[] = ['branch_credential', 'role'];

/**
 * Returns a project's credentials of a kind, from one list or from one list for each branch. Their time is that of the oldest response,
 * because a cache may have kept one. The Date is null if a response has none.
 */
async function fetchCredentials(
  { client }: Connection,
  { kind, projectId }: ProjectScope,
  signal: AbortSignal,
): Promise<Shown> {
  const ofProject = async (branchId: string | null) =>
    await collect(client.credentials(kind, { projectId, branchId }, { signal }));
  const sort = ({ items, ...answer }: Awaited<ReturnType<typeof ofProject>>): Shown => ({
    ...answer,
    live: items.filter(({ revokedAt }) => revokedAt === null),
    ended: items.filter(({ revokedAt }) => revokedAt !== null),
    partial: null,
  });
  if (!listedByBranch.includes(kind)) return sort(await ofProject(null));
  const { items: branches, ...listed } = await collect(client.branches(projectId, { signal }));
  const shown: Shown = { ...listed, live: [], ended: [], partial: null };
  let missing = 0;
  for (const { id } of branches) {
    const answer = await ofProject(id).catch((error: unknown) => {
      if (!hasCode(error, 'not_found')) throw error;
      missing += 1;
      // The service has no such list, or hides it from this credential.
      if (missing === branches.length) throw error;
      // The branch may have been deleted since the branches were listed: the next pass decides.
      return null;
    });
    if (answer === null) {
      shown.partial = `branch ${id} was not found`;
      continue;
    }
    const { live, ended, rejected } = sort(answer);
    Object.assign(shown, olderOf(shown, answer));
    addAll(shown.live, live);
    addAll(shown.ended, ended);
    addAll(shown.rejected, rejected);
  }
  return shown;
}
