import { decide } from '@keywarden/core/rotation';
import { moveRotation, readRotation, type StoredRotation } from '@keywarden/db/daemon';
import type { Context } from '../context.ts';
import {
  type Listed,
  type MayGo,
  notNow,
  type Revocation,
  revokeGuarded,
  type Skip,
} from '../enforce/guarded-revocation.ts';
import { judgeScope } from '../enforce/plan.ts';
import { presentOf } from '../sync/organizations.ts';
import { factsOf } from './facts-of.ts';
import { whoUses, whyInQuestion, whyScopeHolds, whyUnwanted } from './guards.ts';
import type { Run } from './run.ts';

/** Revokes the old key of an adopted rotation, if all that allows it holds this moment. */
export async function retire(context: Context, rotation: StoredRotation, run: Run): Promise<Revocation> {
  const { key } = rotation;
  return await revokeGuarded(context, {
    key: { number: key.number, id: key.id, scope: key.factScope },
    cause: { rotation: rotation.number },
    connections: run.connections,
    refused: run.refused,
    membersReadAt: new Map(),
    repeats: false,
    judge: (listed) => judgeRetirement(context, { number: rotation.number, run }, listed),
  });
}

/** Judged again on a listing of this moment (T1), with the guards that hold for every revocation. */
async function judgeRetirement(
  context: Context,
  { number, run: { connections } }: { number: string; run: Run },
  { connection, place }: Listed,
): Promise<Skip | MayGo> {
  const { store, config } = context;
  const rotation = await readRotation(store.sql, number);
  if (rotation === undefined) return notNow('its rotation is not there');
  const { facts, policySha256 } = await judgeScope(context, connections, place);
  const step = decide(rotation, await factsOf(context, rotation, { scopes: facts.scopes, connections }));
  if (step.do === 'wait' || step.do === 'move') return notNow(step.why ?? 'it has moved on');
  if (step.do === 'mint') return notNow('it has moved on');
  const user = whoUses(facts, rotation, connections);
  const why =
    whyScopeHolds(config.policy, facts, rotation.key.factScope) ??
    whyInQuestion(facts, rotation.key.number) ??
    whyUnwanted(config.policy, facts, rotation) ??
    (user === undefined ? null : `connection ${user} itself uses this key`);
  if (why !== null) return notNow(why);
  const hasMoved = await moveRotation(store.sql, rotation, { to: 'retiring', at: presentOf(connection) });
  return hasMoved ? { policySha256, restsOnMembers: false } : notNow('another process moves it on');
}
