import { ControlPlaneError, collect, type RejectedRow } from '@keywarden/core/client';
import { type OtherKind, otherKinds, type WireCredential, type WireKey } from '@keywarden/core/wire';
import { readNow, reconcileIntents, type SavedListing, saveKeyListing } from '@keywarden/db/daemon';
import { type Connection } from '../connect.ts';
import type { Context } from '../context.ts';
import { assertSaneClock, datedAt, whyStale } from '../control-plane-clock.ts';
import { keepRejected } from './run.ts';

/** Credentials of one kind in one project: what one list of the control plane, or one a branch, shows. */
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

/** The inverse of `scopeName`. */
export function parseScope(name: string): Scope {
  const at = name.indexOf(':');
  const [prefix, id] = [name.slice(0, at), name.slice(at + 1)];
  const kind = otherKinds.find((each) => each === prefix);
  if (prefix === 'user') return { kind: 'user', userId: id };
  if (prefix === 'organization') return { kind: 'organization', organizationId: id };
  if (kind === undefined) throw new Error(`${name} is no scope`);
  const slash = id.lastIndexOf('/');
  return { kind, organizationId: id.slice(0, slash), projectId: id.slice(slash + 1) };
}

/** The lock under which a scope's keys are listed and revoked, through whatever connection. */
export function scopeLock(controlPlane: string, scope: Scope): string {
  return `keys of ${scopeName(scope)} at control plane ${controlPlane}`;
}

/** What a list showed: what is there, what it says is revoked, and rows that cannot be read. */
interface Shown {
  live: (WireKey | WireCredential)[];
  /** Revoked, and shown all the same. */
  ended: WireCredential[];
  rejected: RejectedRow[];
  dateMs: number | null;
  ageMs: number;
  /** Why not all of it was shown. */
  partial: string | null;
}

export interface Listing extends SavedListing, Pick<Shown, 'ended'> {
  keys: Shown['live'];
  /** By the control plane's clock, RFC 3339. */
  listedAt: string;
}

/**
 * Lists what a scope has, stores the listing, and ends the intents that it decides. The caller holds the scope's lock, so that no call is under way
 * meanwhile; the context is the one that it was given with that.
 */
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
  // A listing of a time that is still to come would outlive every later one.
  assertSaneClock(connection);
  const begunAt = await readNow(sql);
  const begunMs = connection.time.now();
  const shown = await fetchScope(connection, scope, context.signal);
  const { live, ended, rejected, dateMs, partial } = shown;
  const listedAt = datedAt(connection, dateMs);
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
  return { ...saved, keys: live, ended, listedAt };
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
 * A project's credentials of a kind, by one list or by one of each of its branches. They are as old as the oldest of the answers: a cache may have
 * kept one of them. The Date is null where one has none.
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
  const branches = await collect(client.branches(projectId, { signal }));
  const { dateMs } = branches;
  const shown: Shown = {
    live: [],
    ended: [],
    rejected: [...branches.rejected],
    dateMs,
    ageMs: branches.ageMs,
    partial: null,
  };
  for (const { id } of branches.items) {
    const answer = await ofProject(id).catch((error: unknown) => {
      // Deleted since the branches were listed, perhaps: the next pass tells.
      if (error instanceof ControlPlaneError && error.code === 'not_found') return null;
      throw error;
    });
    if (answer === null) {
      shown.partial = `branch ${id} was not found`;
      continue;
    }
    const { live, ended, rejected, ageMs, dateMs: answeredMs } = sort(answer);
    shown.dateMs = shown.dateMs === null || answeredMs === null ? null : Math.min(shown.dateMs, answeredMs);
    shown.live.push(...live);
    shown.ended.push(...ended);
    shown.rejected.push(...rejected);
    shown.ageMs = Math.max(shown.ageMs, ageMs);
  }
  return shown;
}
