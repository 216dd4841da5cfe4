import { ControlPlaneError, collect, hasCode } from '@keywarden/core/client';
import { countOf, someOf } from '@keywarden/core/values';
import { listUnlistedOrganizations, saveMembers } from '@keywarden/db/daemon';
import { readNow } from '@keywarden/db/store';
import { UserError } from '@keywarden/runtime';
import { type Connection, usableConnections } from '../connect.ts';
import { type Context, withProcessLock } from '../context.ts';
import { assertSaneClock, controlPlaneNow, whyStale } from '../control-plane-clock.ts';
import { failureInWords, isOfOneScope } from './failures.ts';
import { syncOrganizations } from './organizations.ts';
import { add, type Counts, keepRejected, recordRun } from './run.ts';
import { listScope, type Scope, scopeLock } from './scopes.ts';

/** Runs one pass over the keys that a connection can list, and over the members of its organizations. */
export async function syncKeys(context: Context, connection: Connection): Promise<Counts> {
  const part = context.progress.part(`keys of ${connection.name}`, 'scopes');
  const counts = await recordRun(context, { connection, kind: 'keys' }, async (context, run, counts) => {
    assertSaneClock(connection);
    const organizations = await syncOrganizations(context, connection, counts);
    counts.organizations = organizations.length;
    const scopes: Scope[] = organizations.map(({ id }) => ({ kind: 'organization', organizationId: id }));
    if (connection.isPersonal) scopes.unshift({ kind: 'user', userId: connection.accountId });
    const failures: unknown[] = [];
    for (const [index, scope] of scopes.entries()) {
      part.update(index, scopes.length);
      const errors: unknown[] = [];
      for (const list of [syncScopeMembers, syncScope])
        await list(context, { connection, scope, run, counts }).catch((error: unknown) => {
          if (!isOfOneScope(error)) throw error;
          errors.push(error);
        });
      failures.push(...errors.slice(0, 1));
    }
    if (failures.length === 0) return;
    throw new UserError(
      'incomplete',
      `The keys or members of ${failures.length} of ${countOf(scopes.length, 'scope')} of connection ${connection.name} could not be listed (${failureInWords(failures[0])}); the others are stored, and the next sync tries again.`,
    );
  });
  part.end(
    `${countOf(counts.keys ?? 0, 'key')} in ${countOf(counts.organizations ?? 0, 'organization')}${uncertaintyInWords(counts)}`,
  );
  return counts;
}

interface ScopeTask {
  connection: Connection;
  scope: Scope;
  run: string;
  counts: Counts;
}

async function syncScopeMembers(context: Context, { connection, scope, counts }: ScopeTask): Promise<void> {
  if (scope.kind !== 'organization') return;
  await syncMembers(context, { connection, organizationId: scope.organizationId, counts });
}

async function syncScope(context: Context, { connection, scope, run, counts }: ScopeTask): Promise<void> {
  try {
    const lock = scopeLock(connection.controlPlane, scope);
    const { keys, whySuspect } = await withProcessLock(context, lock, async (leased) => {
      const first = await listScope(leased, connection, { scope, run });
      // A single listing proves no inactivity, but a second one right after it does.
      return first.isAlone ? await listScope(leased, connection, { scope, run }) : first;
    });
    add(counts, 'keys', keys.length);
    if (whySuspect === null) return;
    add(counts, 'suspect_listings');
    context.log.warn({ scope, whySuspect }, 'a listing of keys is suspect; nothing is concluded from it');
  } catch (error) {
    if (!isHidden(error)) throw error;
    add(counts, 'hidden_scopes');
  }
}

/**
 * Lists an organization's members. Returns false if that proves nothing: the credential is not allowed to, a cache responded, a row cannot
 * be read or names another organization, or most members are suddenly absent.
 */
export async function syncMembers(
  context: Pick<Context, 'store' | 'signal' | 'log'>,
  { connection, organizationId, counts }: { connection: Connection; organizationId: string; counts: Counts },
): Promise<boolean> {
  const { store, signal } = context;
  const { client, controlPlane } = connection;
  try {
    const seenAt = controlPlaneNow(connection);
    const begunMs = connection.time.now();
    const answer = await collect(client.members(organizationId, { signal }));
    const { items, rejected } = answer;
    await keepRejected(context, connection, { list: 'members', place: organizationId, rejected, counts });
    const isOfOthers = items.some((member) => (member.organizationId ?? organizationId) !== organizationId);
    if (isOfOthers)
      context.log.warn(
        { organization: organizationId },
        'a list of members names another organization; nothing is concluded from it',
      );
    if (
      isOfOthers ||
      rejected.length > 0 ||
      whyStale(connection, { ...answer, begunMs, list: `members of ${organizationId}` }) !== null
    )
      return false;
    const { isSudden } = await saveMembers(store.sql, { controlPlane, seenAt, organizationId }, items);
    add(counts, 'members', items.length);
    return !isSudden;
  } catch (error) {
    if (!isHidden(error)) throw error;
    return false;
  }
}

/** Returns whether this credential may not read the list. That concludes nothing about what exists. */
const isHidden = (error: unknown) => hasCode(error, 'forbidden', 'not_found');

function uncertaintyInWords({ hidden_scopes: hidden = 0, suspect_listings: suspect = 0 }: Counts): string {
  const parts = [
    ...(hidden > 0 ? [`${hidden} of them hidden from this credential`] : []),
    ...(suspect > 0 ? [countOf(suspect, 'suspect listing')] : []),
  ];
  return parts.length > 0 ? `, ${parts.join(', ')}` : '';
}

/**
 * Lists all keys again through every usable connection. Returns those connections, and one sentence for each failure. Throws if none could list anything: a
 * command that continues would seem to be done.
 */
export async function listKeysAfresh(context: Context): Promise<{ connections: Connection[]; failures: string[] }> {
  const begunAt = await readNow(context.store.sql);
  const { connections, failures } = await usableConnections(context);
  const useless: Error[] = [];
  for (const connection of connections)
    await syncKeys(context, connection).catch((error: unknown) => {
      context.signal.throwIfAborted();
      if (error instanceof UserError) failures.push(error.message);
      else if (error instanceof ControlPlaneError)
        failures.push(`The keys of connection ${connection.name} could not be listed: ${error.message}`);
      else throw error;
      if (error.code !== 'incomplete') useless.push(error);
    });
  const [first] = useless;
  if (first !== undefined && useless.length === connections.length) throw first;
  const unlisted = failures.length > 0 ? [] : await listUnlistedOrganizations(context.store.sql, begunAt);
  if (unlisted.length > 0)
    failures.push(`No connection may list the keys of ${someOf(unlisted)}: use an administrator's key.`);
  return { connections, failures };
}
