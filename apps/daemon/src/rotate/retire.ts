import type { Facts, Policy } from '@keywarden/core/policy';
import { decide } from '@keywarden/core/rotation';
import { toMs } from '@keywarden/core/wire';
import { listRotations, moveRotation, type StoredRotation } from '@keywarden/db/daemon';
import type { Context } from '../context.ts';
import { type Listed, notNow, type Revocation, revokeGuarded, type Skip } from '../enforce/guarded-revocation.ts';
import { judgeScope } from '../enforce/plan.ts';
import { presentOf } from '../sync/organizations.ts';
import { factsOf } from './facts.ts';
import type { Run } from './run.ts';
import { ownConnectionOf } from './who.ts';

/** Revokes the old key of an adopted rotation, if all that allows it holds this moment. */
export async function retire(context: Context, rotation: StoredRotation, run: Run): Promise<Revocation> {
  const { key } = rotation;
  return await revokeGuarded(context, {
    key: { number: key.number, id: key.id, scope: key.factScope },
    cause: { rotation: rotation.number },
    connections: run.connections,
    refused: run.refused,
    judge: (listed) => judgeRetirement(context, { number: rotation.number, run }, listed),
  });
}

/** Judged again on a listing of this moment (T1), with the guards that hold for every revocation (R1, R2, R3, R5). */
async function judgeRetirement(
  context: Context,
  { number, run }: { number: string; run: Run },
  { connection, place }: Listed,
): Promise<Skip | { policySha256: string }> {
  const { store, config } = context;
  const [rotation] = await listRotations(store.sql, { isOpen: true, numbers: [number], limit: 1 });
  if (rotation === undefined) return notNow('its rotation is over');
  const { facts, policySha256 } = await judgeScope(context, run.connections, place);
  const step = decide(rotation, await factsOf(context, rotation, facts.scopes));
  if (step.do !== 'retire')
    return notNow(step.do === 'move' || step.do === 'wait' ? (step.why ?? 'it has moved on') : 'it has moved on');
  const why = whyGuarded(config.policy, facts, rotation, run);
  if (why !== null) return notNow(why);
  const hasMoved = await moveRotation(store.sql, rotation, { to: 'retiring', at: presentOf(connection) });
  return hasMoved ? { policySha256 } : notNow('another process moves it on');
}

/** What keeps any key from being revoked, whatever its rotation says. */
function whyGuarded(
  { quotas, max_evidence_age: maxAge }: Policy,
  facts: Facts,
  rotation: StoredRotation,
  run: Run,
): string | null {
  const scope = facts.scopes.find((each) => each.scope === rotation.key.factScope);
  if (scope === undefined || scope.nowMs === null) return 'the control plane’s time is not known well enough';
  if (!(scope.nowMs - toMs(scope.listedAt) <= maxAge.ms)) return 'its last complete listing is too old';
  if (scope.openIncidents > 0) return 'an incident of its scope is open; see keywarden incidents';
  const [unknown] = scope.unknownOwnKey;
  if (unknown !== undefined)
    return `connection ${unknown} sees this scope and its own key is not known; set its key_id`;
  const user = whoUses(facts, rotation, run);
  if (user !== undefined) return `connection ${user} itself uses this key`;
  if (quotas.per_day !== undefined && facts.revokedLastDay >= quotas.per_day)
    return `at most ${quotas.per_day} keys are revoked in 24 hours`;
  return null;
}

/** R2: a connection's own key goes only by its own rotation, and when that connection works with another. */
function whoUses(facts: Facts, { key, sink }: StoredRotation, { connections }: Run): string | undefined {
  const own = ownConnectionOf(sink);
  const using = connections.find(
    ({ ownKeyId, controlPlane }) => ownKeyId === key.id && controlPlane === key.controlPlane,
  );
  if (using !== undefined) return using.name;
  return facts.ownKeys.find(({ keyId, connection }) => keyId === key.id && connection !== own)?.connection;
}
