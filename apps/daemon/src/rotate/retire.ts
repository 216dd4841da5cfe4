import { revocationHold, unwantedRotationHold } from '@keywarden/core/policy';
import { decide } from '@keywarden/core/rotation';
import { advanceRotation, readRotation, type StoredRotation } from '@keywarden/db/daemon';
import type { Context } from '../context.ts';
import { controlPlaneNow } from '../control-plane-clock.ts';
import { revokeGuarded } from '../enforce/guarded-revocation.ts';
import { judgeScope } from '../enforce/plan.ts';
import { type Listed, type MayGo, notNow, type Revocation, type Skip } from '../enforce/revocation-task.ts';
import { factsOf } from './facts-of.ts';
import { type Run, whyStop } from './run.ts';
import { ownUsers } from './settings.ts';

/** Revokes the old key of an adopted rotation if every condition holds now. Also returns the rotation's state after that. */
export async function retire(
  context: Context,
  adopted: StoredRotation,
  run: Run,
): Promise<Revocation & { rotation: StoredRotation }> {
  const { key } = adopted;
  let rotation = adopted;
  const revocation = await revokeGuarded(context, {
    ...run,
    key: { number: key.number, id: key.id, scope: key.scopeKey },
    cause: { rotation: rotation.number },
    whyStop: () => whyStop(context, run),
    repeats: false,
    async judge(listed) {
      const judged = await judgeRetirement(context, { number: rotation.number, state: 'adopted', run }, listed);
      if ('why' in judged) return judged;
      const begun = { event: 'retirement_begun', at: controlPlaneNow(listed.connection) } as const;
      const retiring = await advanceRotation(context.store.sql, judged.rotation, begun);
      if (retiring === undefined) return notNow('another process is advancing it');
      rotation = retiring;
      return judged;
    },
    judgeAgain: (listed) => judgeRetirement(context, { number: rotation.number, state: 'retiring', run }, listed),
  });
  return { ...revocation, rotation };
}

/** Judges the retirement again on a current listing (T1), with the guards of every revocation. `state` is the one that the rotation must have now. */
async function judgeRetirement(
  context: Context,
  { number, state, run: { connections } }: { number: string; state: 'adopted' | 'retiring'; run: Run },
  { scopeReference }: Listed,
): Promise<Skip | (MayGo & { rotation: StoredRotation })> {
  const { store, config } = context;
  const rotation = await readRotation(store.db, number);
  if (rotation === undefined) return notNow('its rotation does not exist');
  const { facts, policySha256 } = await judgeScope(context, connections, scopeReference);
  if (rotation.state !== state) return notNow('it has already advanced');
  // A retirement that has begun needs what it needed to begin.
  const step = decide(
    { ...rotation, state: 'adopted' },
    await factsOf(context, rotation, { scopes: facts.scopes, connections }),
  );
  if (step.do !== 'retire') return notNow(('why' in step ? step.why : null) ?? 'it has already advanced');
  const { number: key, id, scopeKey: scope } = rotation.key;
  // R2: a connection's own key is retired only by its own rotation, once the connections that take their key from that file use the successor.
  const moved = ownUsers(rotation.sink, connections).filter(({ ownKeyId }) => ownKeyId !== id);
  const exceptOwnOf = new Set(moved.map(({ name }) => name));
  const why =
    revocationHold(config.policy, facts, { scope, number: key, id, exceptOwnOf })?.text ??
    unwantedRotationHold(config.policy, facts, rotation);
  return why === null ? { rotation, policySha256, restsOnMembers: false } : notNow(why);
}
