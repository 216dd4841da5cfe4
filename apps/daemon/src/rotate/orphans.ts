import { revocationHold } from '@keywarden/core/policy';
import { rotationIdIn, whyNoOrphan } from '@keywarden/core/rotation';
import { toMs } from '@keywarden/core/values';
import {
  listLostSuccessorsOf,
  listSuspectedOrphans,
  openIncidentOfKey,
  readIncidentOfKey,
  readRotation,
  type SuspectedOrphan,
} from '@keywarden/db/daemon';
import type { Context } from '../context.ts';
import { revokeGuarded, stoppedByUse } from '../enforce/guarded-revocation.ts';
import { judgeScope } from '../enforce/plan.ts';
import { type Listed, type MayGo, notNow, type Revocation, type Skip } from '../enforce/revocation-task.ts';
import { isStopped, type Run, whyStop } from './run.ts';
import { ownConnectionOf } from './settings.ts';
import { askSink, sinkOf } from './sink-of.ts';

/** A live key that Keywarden minted, or may have minted, and whose secret is lost, with its outcome. */
export interface HandledOrphan extends Revocation {
  keyId: string;
  rotation: string;
  /** Whether a person must review it. */
  isIncident: boolean;
  /** Whether it is left for a person, because it is not revoked automatically. */
  stays: boolean;
}

/**
 * Revokes the keys that are certainly orphans (T2), of all lineages or of these, and opens one incident for each of the others. Skips a key that already has
 * an incident, open or closed: a person decides about it.
 */
export async function handleOrphans(context: Context, run: Run, lineages?: Set<string>): Promise<HandledOrphan[]> {
  const { db } = context.store;
  const handled: HandledOrphan[] = [];
  for (const suspect of await listSuspectedOrphans(context.store)) {
    if (await isStopped(context, run)) break;
    const { key, rotation } = suspect;
    if (lineages?.has(rotation.lineage) === false) continue;
    const named = { keyId: key.id, rotation: rotation.id };
    const incident = await readIncidentOfKey(db, { kind: 'orphan', key: key.number });
    if (incident !== undefined) {
      handled.push({ ...named, ...left(incident.why), isIncident: incident.isOpen, stays: true });
      continue;
    }
    const why = await whyItStays(context, suspect, run);
    if (why !== null && suspect.isUnclear) continue;
    const revocation = why === null ? await revokeOrphan(context, suspect, run) : left(why);
    if (revocation.usedInFlight) run.stopped = stoppedByUse;
    const isIncident = why !== null || (revocation.outcome === 'failed' && revocation.isFinal);
    if (isIncident) {
      const detail = { rotation: rotation.id, why: why ?? `the control plane refuses to revoke it: ${revocation.why}` };
      await openIncidentOfKey(db, { kind: 'orphan', key: key.number, scope: key.scope, detail });
    }
    handled.push({ ...named, ...revocation, isIncident, stays: isIncident });
  }
  return handled;
}

const left = (why: string | null): Revocation => ({ outcome: 'skipped', why, usedInFlight: false, isFinal: true });

/** A control plane's Date has whole seconds, and the local clock drifts. */
const dateMs = 60_000;

/** Returns why the key stays, or null. It always asks the sink, even if the mint's response was lost: a restored store lacks recent facts. */
async function whyItStays(
  context: Context,
  { key, intent, rotation: { number }, lostAt }: SuspectedOrphan,
  run: Run,
): Promise<string | null> {
  const rotation = await readRotation(context.store.db, number);
  if (rotation === undefined) return 'its rotation is unknown';
  // The daemon's login of the database is sufficient to write an intent with the name of any key.
  if (rotationIdIn(intent.name) !== rotation.id) return 'the intent to mint it does not have the name of a successor';
  const sink = await sinkOf(context, rotation, run.connections);
  if ('whyNot' in sink) return sink.whyNot;
  const sinkPath = rotation.mints.find(({ attempt }) => attempt === intent.attempt)?.sinkPath;
  const answer = await askSink(sink, { sinkPath, keyId: key.id, signal: context.signal });
  context.signal.throwIfAborted();
  // A secret is delivered only after its id is committed: without the id, no sink of this store has it. An older store lacks the id.
  const isWhole = run.wholeSince !== null && toMs(intent.begunAt) > toMs(run.wholeSince);
  const isNever = isWhole && intent.keyId === null && answer === 'unknown';
  const isOwn = ownConnectionOf(rotation.sink) !== null && lostAt !== null;
  const ownUseUntil = isOwn ? new Date(toMs(lostAt) + dateMs).toISOString() : null;
  return whyNoOrphan(intent, key, { sink: isNever ? 'lacks' : answer, ownUseUntil });
}

async function revokeOrphan(context: Context, suspect: SuspectedOrphan, run: Run): Promise<Revocation> {
  return await revokeGuarded(context, {
    ...run,
    key: suspect.key,
    cause: { rotation: suspect.rotation.number },
    whyStop: () => whyStop(context, run),
    repeats: true,
    judge: (listed) => judgeOrphan(context, { number: suspect.key.number, run }, listed),
  });
}

async function judgeOrphan(
  context: Context,
  { number, run }: { number: string; run: Run },
  { scopeReference }: Listed,
): Promise<Skip | MayGo> {
  const again = (await listSuspectedOrphans(context.store)).find(({ key }) => key.number === number);
  if (again === undefined) return notNow('it is no longer an orphan');
  const { facts, policySha256 } = await judgeScope(context, run.connections, scopeReference);
  const why = revocationHold(context.config.policy, facts, again.key)?.text ?? (await whyItStays(context, again, run));
  return why === null ? { policySha256, restsOnMembers: false } : notNow(why);
}

/**
 * T2: returns why no successor of a key may be minted now, or null. An older store lacks the mint of a successor that its sink may have, and that consumers
 * may use: another secret would replace its secret there. Opens an incident for each such successor. A person who closes it has decided.
 */
export async function whyLostSuccessor({ store: { db } }: Pick<Context, 'store'>, key: string): Promise<string | null> {
  let isOpen = false;
  for (const { number, scopeKey, rotation } of await listLostSuccessorsOf(db, key)) {
    const incident = await readIncidentOfKey(db, { kind: 'orphan', key: number });
    isOpen ||= incident?.isOpen ?? true;
    if (incident !== undefined) continue;
    const detail = { rotation, state: 'unrecorded', why: 'its sink may have its secret' };
    await openIncidentOfKey(db, { kind: 'orphan', key: number, scope: scopeKey, detail });
  }
  if (!isOpen) return null;
  return 'the sink may have the secret of a successor that this store has no record of; see keywarden incidents';
}
