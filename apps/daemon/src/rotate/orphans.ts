import { whyNoOrphan } from '@keywarden/core/rotation';
import { listRotations, listSuspectedOrphans, openIncidentOfKey, type SuspectedOrphan } from '@keywarden/db/daemon';
import type { Context } from '../context.ts';
import { notNow, type Revocation, revokeGuarded, type Skip } from '../enforce/guarded-revocation.ts';
import { judgeScope } from '../enforce/plan.ts';
import type { Run } from './run.ts';
import { sinkOf } from './targets.ts';

/** A live key that we minted, or may have, and that nobody has the secret of: what became of it. */
export interface HandledOrphan extends Revocation {
  keyId: string;
  rotation: string;
  /** A person must look at it. */
  isIncident: boolean;
}

/** Revokes the orphans that surely are some (T2); of the others a person is told, once each. */
export async function handleOrphans(context: Context, run: Run): Promise<HandledOrphan[]> {
  const handled: HandledOrphan[] = [];
  for (const suspect of await listSuspectedOrphans(context.store)) {
    const why = await whyItStays(context, suspect, run);
    if (why === null)
      handled.push({ ...named(suspect), ...(await revokeOrphan(context, suspect, run)), isIncident: false });
    else {
      const detail = { rotation: suspect.rotation.id, why };
      const { key } = suspect;
      await openIncidentOfKey(context.store.sql, { kind: 'orphan', key: key.number, scope: key.scope, detail });
      handled.push({
        ...named(suspect),
        outcome: 'skipped',
        why,
        usedInFlight: false,
        isFinal: true,
        isIncident: true,
      });
    }
  }
  return handled;
}

const named = ({ key, rotation }: SuspectedOrphan) => ({ keyId: key.id, rotation: rotation.id });

/** A secret whose answer was lost reached nobody; of one that we had, the sink is asked. */
async function whyItStays(
  context: Context,
  { key, intent, rotation: { number } }: SuspectedOrphan,
  run: Run,
): Promise<string | null> {
  if (intent.keyId !== key.id) return whyNoOrphan(intent, key, 'lacks');
  const [rotation] = await listRotations(context.store.sql, { isOpen: false, numbers: [number], limit: 1 });
  if (rotation === undefined) return 'its rotation is not known';
  const sink = await sinkOf(context, rotation, run.connections);
  if ('whyNot' in sink) return sink.whyNot;
  return whyNoOrphan(intent, key, await sink.ask(key.id, context.signal));
}

async function revokeOrphan(
  context: Context,
  { key, intent, rotation }: SuspectedOrphan,
  run: Run,
): Promise<Revocation> {
  return await revokeGuarded(context, {
    key,
    cause: { rotation: rotation.number },
    connections: run.connections,
    refused: run.refused,
    judge: async ({ place }): Promise<Skip | { policySha256: string }> => {
      const suspects = await listSuspectedOrphans(context.store);
      const again = suspects.find((each) => each.key.number === key.number);
      if (again === undefined) return notNow('it is no orphan any more');
      const why = whyNoOrphan(intent, again.key, 'lacks');
      const { facts, policySha256 } = await judgeScope(context, run.connections, place);
      const [scope] = facts.scopes;
      if (why === null && (scope === undefined || scope.nowMs === null))
        return notNow('the control plane’s time is not known well enough');
      return why === null ? { policySha256 } : notNow(why);
    },
  });
}
